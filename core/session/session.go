package session

import (
	"math"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// Session keeps one subscription connected. It starts no goroutine, reads no clock and is not safe for concurrent use: a
// driver owns it. After every input the driver calls Take and does what is due; it calls Wake when Deadline is reached.
//
// An input of a connection that is over is dropped inside, so a driver needs no fence of its own (D-36).
type Session struct {
	p Policy
	g *gate.Gate

	link      Link
	epoch     Epoch // of the connection or attempt that counts
	made      Epoch // last one given
	retries   int   // since the last reset (D-35)
	crashes   int   // in a row
	hint      time.Duration
	retryAt   time.Duration
	notBefore time.Duration // a server's wish that no attempt has met yet
	connectBy time.Duration
	upAt      time.Duration
	now       time.Duration // of the last input

	try     Attempt
	judged  bool      // try's position is vouched for, or it carried none
	fed     bool      // this connection delivered an event
	last    event.Seq // newest sequence offered on this connection, else the one it resumed from
	offered event.Seq // newest sequence offered on any connection
	opened  bool      // the gate's recovery epoch was opened explicitly (D-01)
	renew   bool      // the next attempt asks the credential source again
	denied  bool      // the credential source was asked again since the last accepted connection (D-33)
	hole    hole
	flaw    hole // where the wire's grammar was broken
	large   hole // where a message was too large for the other side

	next    next           // the other connection of a hand-over
	noticed bool           // this connection was handed over, or tried to be
	handed  bool           // this connection came of a hand-over
	spent   event.Position // a hand-over found that it is dead (D-31)

	cleared bool   // the server took its position back (D-43)
	mark    string // position named without an event (D-43)
	version string // source version (D-41)

	sign     time.Duration // last sign of life; moved on by the time in which nobody read
	signed   bool
	paused   bool // since pausedAt the gate has no room
	pausedAt time.Duration
	shown    Status

	lane WakeObservation // without what ObserveWake adds

	saving bool // a save was handed out
	queue  backlog
	was    gate.State

	forget bool
	dial   bool
	hangup Epoch
	// hangupBeside is the other connection of a hand-over
	hangupBeside Epoch
	end          *Ending
	ended        *Ending
	stopping     *Ending // with LinkDraining: the ending that waits
	down         Down
	notes        []Note
	taken        bool
}

// hole is a place in the stream that could not be passed (D-32, D-44).
type hole struct {
	set bool
	at  event.Seq
}

// pass lets go of the hole once the stream is past it.
func (h *hole) pass(held event.Seq) {
	if h.set && held > h.at {
		*h = hole{}
	}
}

// again marks the hole at a place and says whether it was there already.
func (h *hole) again(at event.Seq) bool {
	if h.set && h.at == at {
		return true
	}
	*h = hole{set: true, at: at}
	return false
}

// New makes a session around g, which from then on nobody else may feed. It returns an error for a policy outside its
// limits.
func New(g *gate.Gate, p Policy) (*Session, error) {
	p, err := p.resolve()
	if err != nil {
		return nil, err
	}
	return &Session{p: p, g: g, version: p.SourceVersion, was: g.State(), last: event.NoSeq, offered: event.NoSeq, spent: event.NoPosition, lane: WakeObservation{LastDisconnect: NotStarted}, taken: true}, nil
}

// Open starts the first attempt. A second Open is ignored.
func (s *Session) Open(now Now) {
	s.begin(now)
	if s.link == LinkIdle {
		s.connect()
	}
}

// begin starts an input. Time never steps back here: an older now counts as the last one.
func (s *Session) begin(now Now) {
	s.now = max(s.now, now.Mono)
	if s.taken {
		clear(s.notes) // let go of events
		s.notes, s.taken = s.notes[:0], false
	}
}

// Take returns what is due since the last Take, and hands out each thing once.
func (s *Session) Take() Due {
	if s.taken { // no input since the last one: its notes were handed out
		s.notes = s.notes[:0]
	}
	d := Due{Due: s.g.Take(), Hangup: s.hangup, HangupBeside: s.hangupBeside, End: s.end}
	s.hangup, s.hangupBeside, s.end = 0, 0, nil
	s.queue.settle(d.Resolved)
	if d.Save != nil {
		s.saving = true
		d.Withhold = s.cleared
	}
	if s.forget && !s.saving {
		s.forget, d.Forget = false, true
		s.note(Note{Kind: Forgot})
	}
	if s.dial && !s.forget {
		s.dial, d.Connect = false, &s.try
		s.note(Note{Kind: Connecting, Epoch: s.epoch, Pos: s.try.Resume})
	}
	if s.next.dial && !s.forget {
		s.next.dial, d.Connect = false, &s.next.try
		s.note(Note{Kind: Connecting, Epoch: s.next.try.Epoch, Pos: s.next.try.Resume, Detail: "beside"})
	}
	s.look()
	d.Notes, s.taken = s.notes, true
	return d
}

// Deadline is the one instant at which the driver must call Wake; ok is false while there is none. It may move with every
// input; a wake that comes too early is harmless.
func (s *Session) Deadline() (at time.Duration, ok bool) {
	at = math.MaxInt64
	switch s.link {
	case LinkWaiting:
		at = s.retryAt
	case LinkDialing:
		at = s.connectBy
	case LinkUp:
		if !s.paused {
			at = s.sign + s.p.Idle
		}
		if s.next.on {
			at = min(at, s.next.try.By)
		}
	default:
		return 0, false
	}
	switch {
	case s.paused && s.shown != PausedByConsumer:
		at = min(at, s.pausedAt+PauseShown)
	case !s.paused && s.shown == Fresh:
		at = min(at, s.unconfirmedAt())
	}
	return at, at != math.MaxInt64
}

// Wake does what Deadline promised. Early calls are harmless.
func (s *Session) Wake(now Now) {
	s.begin(now)
	s.look()
	if s.next.on && s.now >= s.next.try.By {
		s.forgo("not-vouched-in-time")
	}
	switch {
	case s.link == LinkWaiting && s.now >= s.retryAt:
		s.connect()
	case s.link == LinkDialing && s.now >= s.connectBy:
		s.give("connect-timeout")
		s.retry(0)
	}
	for s.link == LinkUp && !s.paused && s.now >= s.sign+s.p.Idle { // of a hand-over both may have fallen silent
		s.give("idle")
		s.again(0)
		s.look()
	}
}

// Room is how many events the transport may still send: the driver reads from it only while this is above 0 (D-19). It
// must be read again before each event.
func (s *Session) Room() int {
	switch {
	case s.p.Arrival:
		return math.MaxInt32
	case s.queue.bytes >= s.p.PendingBytes:
		return 0
	}
	return s.g.Free()
}

// State is the gate's.
func (s *Session) State() gate.State { return s.g.State() }

// Held is the accepted position; ok is false while there is none.
func (s *Session) Held() (gate.Held, bool) { return s.g.Held() }

// Candidate is gate.Candidate; ok is false as well while the server has taken its position back (D-43, see Due.Withhold).
func (s *Session) Candidate() (pos event.Position, ok bool) {
	if s.cleared {
		return event.NoPosition, false
	}
	return s.g.Candidate()
}

// RecentIDs copies the gate's event ids, oldest first.
func (s *Session) RecentIDs() []string { return s.g.RecentIDs() }

// RecentIDCount is how many event ids the gate remembers.
func (s *Session) RecentIDCount() int { return s.g.RecentIDCount() }

// SourceVersion is the source version that positions accepted from now on belong to (D-41). A driver reads it together
// with Due.Save.
func (s *Session) SourceVersion() string { return s.version }
