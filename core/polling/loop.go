package polling

import (
	"fmt"
	"math"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// MaxResnapshots is how many times in a row the gate may need a snapshot that the transport did not see coming, without one
// accepted delta or refresh in between, before the subscription ends: as many as the transport allows itself (D-39).
const MaxResnapshots = 3

// Loop drives one subscription over a transport that polls. It starts no goroutine, reads no clock and is not safe for
// concurrent use: a driver owns it, and uses it as it would a session.Session.
type Loop struct {
	p session.Policy
	g *gate.Gate

	link  session.Link
	epoch session.Epoch
	now   time.Duration // of the last input

	try     session.Attempt
	judged  bool // try carried no position, or the server went on from it
	fed     bool // this connection delivered an event
	opened  bool // the gate's recovery epoch was opened explicitly (D-01)
	renew   bool // the next attempt asks the credential source again
	denied  bool // the source was asked again since the last answer (D-33)
	crashes int  // in a row
	streak  int  // recoveries in a row

	offered event.Seq // newest sequence offered
	version string    // source version (D-41)

	alive liveness
	queue backlog
	delta bool // what the consumer has is a delta
	was   gate.State

	saving bool
	forget bool
	dial   bool
	hangup session.Epoch
	end    *session.Ending
	ended  *session.Ending
	down   session.Down
	notes  []session.Note
	taken  bool
}

// New makes a loop around g, which from then on nobody else may feed. Of the policy it uses Horizon, ConnectTimeout, PendingBytes,
// Resume, Arrival, SourceVersion and Notes. It returns an error for a policy outside its limits.
func New(g *gate.Gate, p session.Policy) (*Loop, error) {
	p, err := p.Resolve()
	if err != nil {
		return nil, err
	}
	return &Loop{p: p, g: g, version: p.SourceVersion, was: g.State(), offered: event.NoSeq, taken: true}, nil
}

// Open opens the transport. A second Open is ignored.
func (l *Loop) Open(now session.Now) {
	l.begin(now)
	if l.link == session.LinkIdle {
		l.connect()
	}
}

// begin starts an input. Time never steps back here: an older now counts as the last one.
func (l *Loop) begin(now session.Now) {
	l.now = max(l.now, now.Mono)
	if l.taken {
		clear(l.notes) // let go of events
		l.notes, l.taken = l.notes[:0], false
	}
}

func (l *Loop) note(n session.Note) {
	if l.p.Notes {
		l.notes = append(l.notes, n)
	}
}

// stated notes the gate's state if it changed, and notices that a recovery epoch of ours is over.
func (l *Loop) stated() {
	st := l.g.State()
	if st.Phase != gate.ResnapshotRequired {
		l.opened = false
	}
	if l.p.Notes && st != l.was {
		l.was = st
		l.notes = append(l.notes, session.Note{Kind: session.StateIs, State: st})
	}
}

// Take returns what is due since the last Take, and hands out each thing once.
func (l *Loop) Take() session.Due {
	if l.taken {
		l.notes = l.notes[:0]
	}
	d := session.Due{Due: l.g.Take(), Hangup: l.hangup, End: l.end}
	l.hangup, l.end = 0, nil
	l.queue.settle(d.Resolved)
	if d.Apply != nil {
		l.delta = !d.Apply.Replaces()
	}
	l.saving = l.saving || d.Save != nil
	if l.forget && !l.saving {
		l.forget, d.Forget = false, true
		l.note(session.Note{Kind: session.Forgot})
	}
	if l.dial && !l.forget {
		l.dial, d.Connect = false, &l.try
		l.note(session.Note{Kind: session.Connecting, Epoch: l.epoch, Pos: l.try.Resume})
	}
	l.look()
	d.Notes, l.taken = l.notes, true
	return d
}

// Deadline is the one instant at which the driver must call Wake; ok is false while there is none.
func (l *Loop) Deadline() (at time.Duration, ok bool) {
	at = math.MaxInt64
	switch l.link {
	case session.LinkDialing:
		at = l.try.By
	case session.LinkUp:
	default:
		return 0, false
	}
	at = min(at, l.alive.due(l.p.Horizon))
	return at, at != math.MaxInt64
}

// Wake does what Deadline promised. Early calls are harmless.
func (l *Loop) Wake(now session.Now) {
	l.begin(now)
	l.look()
	if l.link == session.LinkDialing && l.now >= l.try.By {
		l.give("connect-timeout")
		l.finish(session.Ending{Cause: session.AttemptsUsedUp, Reason: event.DeliveryFailed, Detail: "connect-timeout"}, event.Closed)
	}
}

// Room is how many events the transport may still send (D-19). It must be read again before each event.
func (l *Loop) Room() int {
	switch {
	case l.p.Arrival:
		return math.MaxInt32
	case l.queue.bytes >= l.p.PendingBytes:
		return 0
	}
	return l.g.Free()
}

// State is the gate's.
func (l *Loop) State() gate.State { return l.g.State() }

// Held is the accepted position; ok is false while there is none.
func (l *Loop) Held() (gate.Held, bool) { return l.g.Held() }

// Candidate is gate.Candidate.
func (l *Loop) Candidate() (event.Position, bool) { return l.g.Candidate() }

// RecentIDs copies the gate's event ids, oldest first.
func (l *Loop) RecentIDs() []string { return l.g.RecentIDs() }

// RecentIDCount is how many event ids the gate remembers.
func (l *Loop) RecentIDCount() int { return l.g.RecentIDCount() }

// SourceVersion is the source version that positions accepted from now on belong to (D-41).
func (l *Loop) SourceVersion() string { return l.version }

// connect opens the transport. A gate that needs a snapshot is told first that it may take any (D-01); one that holds a position that
// the transport can name goes on from it.
func (l *Loop) connect() {
	l.epoch++
	l.link = session.LinkDialing
	l.try = session.Attempt{Epoch: l.epoch, Resume: event.NoPosition, By: l.now + l.p.ConnectTimeout, Renew: l.renew}
	l.renew, l.fed, l.dial = false, false, true
	switch l.g.State().Phase {
	case gate.ResnapshotRequired:
		if l.epoch > 1 {
			l.require(event.TransportGap, "reconnect-to-recover")
		}
	case gate.Live, gate.Resuming:
		if pos, ok := l.resume(); ok {
			l.try.Resume = pos
		} else {
			l.require(event.ResumeUnsupported, "position-not-nameable")
		}
	}
	l.judged = !l.try.Resume.Seq.Valid()
}

// resume is the held position, reduced to what the transport can name.
func (l *Loop) resume() (pos event.Position, ok bool) {
	h, _ := l.g.Held()
	pos = h.Pos
	ok = l.p.Resume&session.BySequence != 0
	for _, part := range []struct {
		mode session.Modes
		text *string
	}{{session.ByCursor, &pos.Cursor}, {session.ByWatermark, &pos.Watermark}, {session.ByTimestamp, &pos.Timestamp}, {session.ByDeltaToken, &pos.DeltaToken}} {
		if l.p.Resume&part.mode == 0 {
			*part.text = ""
		}
		ok = ok || *part.text != ""
	}
	return pos, ok
}

// require tells the gate that only a replacement snapshot counts from here, of any sequence.
func (l *Loop) require(r event.Reason, detail string) {
	if !gate.Recoverable(r) {
		r = event.TransportGap
	}
	if l.opened && l.g.State().Phase == gate.ResnapshotRequired {
		return
	}
	l.g.RequireResnapshot(r, detail)
	l.note(session.Note{Kind: session.Resnapshotted, Reason: r, Detail: detail})
	l.opened = l.g.State().Phase == gate.ResnapshotRequired
	l.stated()
}

// give lets go of the transport.
func (l *Loop) give(why string) {
	l.link, l.down = session.LinkWaiting, session.Down{Detail: why}
	l.alive.resume(l.now)
	if l.dial { // the driver never heard of it
		l.dial = false
		return
	}
	l.hangup = l.epoch
	l.note(session.Note{Kind: session.HungUp, Epoch: l.epoch, Detail: why})
}

// recover opens the transport anew for a snapshot that it does not know is needed: the gate found something wrong, or the server is
// not the one that the position is of. A connection that is about to bring a snapshot anyway is kept.
func (l *Loop) recover(why string) {
	if l.link != session.LinkDialing && l.link != session.LinkUp {
		return
	}
	if !l.fed && !l.try.Resume.Seq.Valid() {
		l.require(event.TransportGap, "reconnect-to-recover")
		return
	}
	l.give(why)
	if l.streak++; l.streak > MaxResnapshots {
		st := l.g.State()
		l.finish(session.Ending{Cause: session.AttemptsUsedUp, Reason: event.DeliveryFailed,
			Detail: fmt.Sprintf("%d snapshots in a row did not help: %s", MaxResnapshots, st.Reason)}, event.Closed)
		return
	}
	l.connect()
}

// finish ends the subscription. A gate in phase error keeps it, so that its reason stays readable; any other is closed.
func (l *Loop) finish(e session.Ending, r event.Reason) {
	if l.link == session.LinkOver {
		return
	}
	if l.link == session.LinkDialing || l.link == session.LinkUp {
		l.give("session-over")
	}
	l.link = session.LinkOver
	if l.g.State().Phase != gate.Failed {
		l.g.Close(r)
		l.note(session.Note{Kind: session.GateClosed, Reason: r})
		l.stated()
	}
	l.end, l.ended = &e, &e
	l.note(session.Note{Kind: session.Ended, Reason: e.Reason, Detail: e.Detail, Status: e.Status, Cause: e.Cause})
}
