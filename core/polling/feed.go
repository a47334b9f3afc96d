package polling

import (
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// Data: the transport brought a round. The ticket names its delivery; it is 0 if the event did not reach the gate.
func (l *Loop) Data(e session.Epoch, now session.Now, ev *event.Event) gate.Ticket {
	l.begin(now)
	switch {
	case !l.current(e):
		return 0
	case ev.Hole: // nobody can tell what it was (D-44)
		l.give(session.UndecodablePayload)
		l.blocked(session.Down{Detail: session.UndecodablePayload + ": " + ev.Detail})
		return 0
	case !l.judged && !l.judge(ev):
		return 0
	}
	l.fed = true
	if seq := ev.Pos.Seq; seq.Valid() {
		l.last = seq
		if l.offered = max(l.offered, seq); ev.Replaces() {
			l.offered = seq
		}
	}
	t := l.g.Enqueue(ev)
	l.note(session.Note{Kind: session.Enqueued, Epoch: l.epoch, Ticket: t, Event: ev})
	l.queue.add(t, len(ev.Payload))
	l.sync()
	return t
}

// judge decides by the first event of a connection that was to go on from a position and that nobody has vouched for yet whether it
// does, as a session would. It answers false if the event must not reach the gate.
func (l *Loop) judge(ev *event.Event) bool {
	seq := ev.Pos.Seq
	switch {
	case ev.Kind == event.Malformed || !seq.Valid():
		return true // the gate refuses it, which ends this connection as well
	case ev.Replaces(): // it began anew without a word: its number says nothing about ours
		l.require(event.ResumeUnsupported, "snapshot-instead-of-resume")
		l.try.Resume, l.judged = event.NoPosition, true
		return true
	case seq > l.last+1:
		l.mistrust(event.TransportGap, "resume-jump")
		return false
	case l.p.Vouch == session.VouchImplicit:
		l.vouched()
		return true
	}
	l.mistrust(event.ResumeUnsupported, "resume-not-answered")
	return false
}

// Applied reports the consumer's result for the Due.Apply taken last. A delta that was accepted ends a streak of recoveries.
func (l *Loop) Applied(now session.Now, err error) {
	l.begin(now)
	before := l.g.State().Accepted
	l.g.Applied(now.Wall, err)
	if l.delta && l.g.State().Accepted > before {
		l.streak = 0
	}
	l.note(session.Note{Kind: result(err, session.AppliedOK, session.AppliedError)})
	l.sync()
}

// Saved reports the store's result for the Due.Save taken last.
func (l *Loop) Saved(now session.Now, err error) {
	l.begin(now)
	l.saving = false
	l.g.Saved(err)
	l.note(session.Note{Kind: result(err, session.SavedOK, session.SavedError)})
	l.sync()
}

func result(err error, ok, failed session.NoteKind) session.NoteKind {
	if err != nil {
		return failed
	}
	return ok
}

// sync looks at the gate after an input of its own.
func (l *Loop) sync() {
	l.stated()
	switch st := l.g.State(); st.Phase {
	case gate.Failed:
		l.finish(session.Ending{Cause: session.Failed, Reason: st.Reason, Detail: st.Detail}, event.Closed)
	case gate.ResnapshotRequired:
		l.recover("resnapshot-required")
	case gate.Live:
		if h, ok := l.g.Held(); ok {
			l.hole.pass(h.Pos.Seq)
		}
	}
	l.drained()
}

// backlog counts the payload bytes that the gate holds.
type backlog struct {
	sizes map[gate.Ticket]int
	bytes int
}

func (b *backlog) add(t gate.Ticket, size int) {
	if b.sizes == nil {
		b.sizes = map[gate.Ticket]int{}
	}
	b.sizes[t] = size
	b.bytes += size
}

func (b *backlog) settle(done []gate.Delivery) {
	for _, d := range done {
		b.bytes -= b.sizes[d.Ticket]
		delete(b.sizes, d.Ticket)
	}
}
