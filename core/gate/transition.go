package gate

import (
	"fmt"

	"github.com/conform-dev/conform/core/event"
)

// Recoverable says whether r may be given to RequireResnapshot: what a transport or session can see and a gate cannot
// (facts 1.5, D-33, D-41).
func Recoverable(r event.Reason) bool {
	switch r {
	case event.CursorExpired, event.ResumeUnsupported, event.TransportGap, event.SourceVersionChanged, event.AuthorizationScopeChanged:
		return true
	}
	return false
}

// RequireResnapshot opens a recovery epoch: queued work is answered, what runs is superseded, and only a replacement
// snapshot is accepted next, of any sequence (D-01, D-04). In resnapshot-required it opens the epoch only: the first
// reason, its detail and all counters stay (D-29). In error and closed it is ignored.
// It panics for a reason that is not Recoverable: the caller would tell the application something untrue. A caller that
// has the reason from outside asks Recoverable first.
func (g *Gate) RequireResnapshot(r event.Reason, detail string) {
	if !Recoverable(r) {
		panic(fmt.Sprintf("gate: RequireResnapshot(%q): not a reason that a transport can give", r))
	}
	g.begin()
	switch g.st.Phase {
	case Failed, Shut:
	case ResnapshotRequired:
		g.epoch = true
	default:
		g.epoch = true
		g.refuse(r, detail)
	}
}

// Fail ends the gate for a reason outside it, for example a clock that cannot be read (delivery-failed). In error and
// closed it is ignored. It panics for None and Compatible, which are no failures.
func (g *Gate) Fail(r event.Reason) {
	if r == event.None || r == event.Compatible || r > event.Closed {
		panic(fmt.Sprintf("gate: Fail(%q): not a failure", r))
	}
	g.begin()
	if g.st.Phase != Failed && g.st.Phase != Shut {
		g.drain(Errored, r)
		g.st.Phase, g.st.Reason, g.st.Detail = Failed, r, ""
	}
}

// Close cancels what is queued; a running apply or save is superseded and still owes its result. r is event.Closed, or
// event.Cancelled when the application's own context ended; another one panics. A second Close keeps the first reason.
func (g *Gate) Close(r event.Reason) {
	if r != event.Closed && r != event.Cancelled {
		panic(fmt.Sprintf("gate: Close(%q): neither closed nor cancelled", r))
	}
	g.begin()
	if g.st.Phase != Shut {
		g.drain(Dropped, r)
		g.st.Phase, g.st.Reason, g.st.Detail = Shut, r, ""
	}
}

// refuse stops delivery until a replacement snapshot arrives (primitive X of facts 2.6).
func (g *Gate) refuse(r event.Reason, detail string) {
	g.drain(Resnapshot, r)
	g.st.Phase, g.st.Reason, g.st.Detail = ResnapshotRequired, r, detail
	switch r {
	case event.SequenceGap, event.TransportGap:
		g.st.Gaps++
	case event.BufferOverflow:
		g.st.Overflows++
	}
}

// fail ends the gate over the result of what ran (primitive E of facts 2.6): the queue is answered first, then the event
// that failed.
func (g *Gate) fail(r event.Reason) {
	t, own := g.at(0).ticket, g.own
	if own {
		g.pop()
	}
	g.stage = idle
	g.drain(Errored, r)
	g.st.Phase, g.st.Reason, g.st.Detail = Failed, r, ""
	if own {
		g.resolve(t, Errored, r)
	}
}

// drain answers everything that waits. What runs keeps its slot and is superseded; what was due but never taken is
// withdrawn: an apply is answered like any queued event, the event of a save was consumed already and is cancelled.
func (g *Gate) drain(status Status, r event.Reason) {
	switch g.stage {
	case applyDue:
		g.stage = idle
	case saveDue:
		g.stage = idle
		if g.own {
			t := g.at(0).ticket
			g.pop()
			g.resolve(t, Dropped, event.Cancelled)
		}
	case applying, saving:
		if !g.stale {
			g.stale, g.abort = true, true
		}
	}
	first := 0
	if g.stage != idle && g.own {
		first = 1
	}
	for i := first; i < g.n; i++ {
		it := g.at(i)
		g.resolve(it.ticket, status, r)
		it.ev = event.Event{}
	}
	g.n = first
}

func (g *Gate) resolve(t Ticket, status Status, why event.Reason) {
	seq := event.NoSeq
	if g.has {
		seq = g.held.Pos.Seq
	}
	g.out = append(g.out, Delivery{Ticket: t, Status: status, Reason: why, Seq: seq})
}

// begin starts an input: the deliveries handed out before may be reused now.
func (g *Gate) begin() {
	if g.taken {
		g.out, g.taken = g.out[:0], false
	}
}

// Take returns what is due since the last Take, and hands out each thing once.
func (g *Gate) Take() Due {
	due := Due{Abort: g.abort}
	if !g.taken {
		due.Resolved = g.out
	}
	g.taken, g.abort = true, false
	switch g.stage {
	case applyDue:
		g.stage = applying
		due.Apply = &g.at(0).ev
	case saveDue:
		g.stage = saving
		due.Save = &g.held
	}
	return due
}
