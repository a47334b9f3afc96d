package polling

import (
	"math"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// Loop drives one subscription over a transport that polls. It starts no goroutine, reads no clock and is not safe for
// concurrent use: a driver owns it, and uses it as it would a session.Session.
type Loop struct {
	p session.Policy
	g *gate.Gate

	link  session.Link
	epoch session.Epoch
	now   time.Duration // of the last input
	upAt  time.Duration

	try        session.Attempt
	judged     bool      // try carried no position, or the service went on from it
	fed        bool      // this connection delivered an event that was to be applied
	unanswered bool      // the transport began anew without an answer: the poll that it reports was none
	last       event.Seq // newest sequence offered on this connection, else the one it resumed from
	offered    event.Seq // newest sequence offered on any connection
	opened     bool      // the gate's recovery epoch was opened explicitly (D-01)
	renew      bool      // the next attempt asks the credential source again
	denied     bool      // the source was asked again since the last healthy connection (D-33, D-35)
	crashes    int       // since the last healthy connection
	streak     int       // recoveries in a row
	hole       hole

	version string // source version (D-41)

	alive liveness
	queue backlog
	delta bool // what the consumer has is a delta
	was   gate.State

	saving   bool
	forget   bool
	dial     bool
	hangup   session.Epoch
	end      *session.Ending
	ended    *session.Ending
	stopping *session.Ending // with LinkDraining: the ending that waits
	down     session.Down
	notes    []session.Note
	taken    bool
}

// New makes a loop around g, which from then on nobody else may feed. Of the policy it uses Horizon, ResetAfter, PendingBytes,
// Resnapshots, Resume, Vouch, Arrival, SourceVersion and Notes. There is no connect timeout: a service that cannot be reached is tried
// again by the transport, whose requests have limits of their own (D-39), and until it answers the observation is unconfirmed. It returns an error for a policy outside its limits.
func New(g *gate.Gate, p session.Policy) (*Loop, error) {
	p, err := p.Resolve()
	if err != nil {
		return nil, err
	}
	return &Loop{p: p, g: g, version: p.SourceVersion, was: g.State(), last: event.NoSeq, offered: event.NoSeq, taken: true}, nil
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
	if l.taken { // no input since the last one: its notes were handed out
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

// Forgetting says whether a Forget is owed that cannot be handed out yet, because a save runs. A driver lets a transport that announced a
// recovery go on only when the store has forgotten (D-31).
func (l *Loop) Forgetting() bool { return l.forget }

// Deadline is the one instant at which the driver must call Wake; ok is false while there is none.
func (l *Loop) Deadline() (at time.Duration, ok bool) {
	if !l.talks() {
		return 0, false
	}
	at = l.alive.due(l.p.Horizon)
	return at, at != math.MaxInt64
}

// Wake does what Deadline promised. Early calls are harmless.
func (l *Loop) Wake(now session.Now) {
	l.begin(now)
	l.look()
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
