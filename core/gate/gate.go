// Package gate decides which events may advance a position: values in, values out. Inputs decide at once, Take hands out
// what follows from them. The table that it implements is readable in testdata/table; the contract behind it is
// facts 2.1 to 2.11 as changed by D-01 to D-19, D-28 and D-29.
package gate

import "github.com/conform-dev/conform/core/event"

// Gate is one delivery gate. It starts no goroutine, reads no clock, does no I/O and is not safe for concurrent use: one
// driver owns it. After every input the driver calls Take and does what is due.
//
// Strings of an event are immutable and kept as they are; the bytes of remembered ids are copied, so that an id never
// keeps the batch alive that it was cut from. Payload is shared and must not change after Enqueue; a decided event's
// payload is let go (D-14).
type Gate struct {
	cfg   Config
	st    State // Pending is filled in by State
	held  Held
	has   bool         // held counts
	epoch bool         // requireResnapshot opened a recovery epoch that no accepted snapshot closed yet (D-01, D-29)
	kept  event.Reason // why a recovery was necessary, while the recovery waits and the state's reason is clear (D-11)

	ring    []item // MaxPending events, and the one waiting recovery (D-10)
	head, n int
	stage   stage
	own     bool // stage belongs to ring[head]; false: to a save without an event of its own
	stale   bool // what runs was superseded, its result is owed but void
	abort   bool // the driver was not told yet
	unsaved int  // accepted since the last save that succeeded

	ids  *window
	hash uint64 // of the active event's id

	last  Ticket
	out   []Delivery
	taken bool // out was handed out and may be reused
}

type item struct {
	ev       event.Event
	ticket   Ticket
	recovery bool // a replacement snapshot admitted in resnapshot-required; decided at admission
}

// stage is what the gate waits for.
type stage uint8

const (
	idle     stage = iota
	applyDue       // the consumer is to run, nobody took that yet
	applying       // the consumer runs
	saveDue        // the store is to write, nobody took that yet
	saving         // the store writes
)

// Enqueue offers one event and copies it. The ticket names its delivery, which the next Take holds if it is decided
// already. Every ticket is resolved exactly once (facts 2.3).
func (g *Gate) Enqueue(ev *event.Event) Ticket {
	g.begin()
	g.last++
	t := g.last
	switch g.st.Phase {
	case Shut:
		g.resolve(t, Dropped, g.st.Reason)
		return t
	case Failed:
		g.resolve(t, Errored, g.st.Reason)
		return t
	}
	if fault, detail, bad := malformed(ev); bad {
		if g.st.Phase != ResnapshotRequired { // there the first cause wins (D-08)
			g.refuse(fault, detail)
		}
		g.resolve(t, Resnapshot, fault)
		return t
	}
	if g.st.Phase == ResnapshotRequired || g.waiting() {
		g.recover(t, ev)
		return t
	}
	if g.n >= g.cfg.MaxPending {
		g.refuse(event.BufferOverflow, "")
		g.resolve(t, Resnapshot, event.BufferOverflow)
		return t
	}
	g.push(t, ev, false)
	return t
}

// malformed says whether ev may not enter at all: it failed capture, it is of no kind that reaches a consumer (D-07), or
// its id is longer than the window is built to remember.
func malformed(ev *event.Event) (fault event.Reason, detail string, bad bool) {
	switch {
	case ev.Kind == event.Malformed || ev.Kind > event.Delta:
		if ev.Fault == event.CheckpointConflict {
			return ev.Fault, ev.Detail, true
		}
		return event.InvalidEvent, ev.Detail, true
	case len(ev.ID) > event.MaxIDBytes:
		return event.InvalidEvent, event.DetailLongID, true
	}
	return event.None, "", false
}

// recover admits what may end a recovery and refuses everything else. It runs in resnapshot-required, and while a
// recovery waits for a superseded call to return (D-01, D-11, D-18): the held position cannot change in either.
func (g *Gate) recover(t Ticket, ev *event.Event) {
	waiting := g.waiting()
	why := g.st.Reason
	if waiting {
		why = g.kept
	}
	switch {
	case !ev.Replaces():
		g.resolve(t, Resnapshot, why)
	case !ev.Pos.Seq.Valid():
		g.resolve(t, Resnapshot, event.SequenceMissing)
	case g.has && !g.epoch && ev.Pos.Seq <= g.held.Pos.Seq:
		g.resolve(t, Resnapshot, event.ReplacementSnapshotRequired)
	case waiting:
		old := g.at(g.n - 1)
		g.resolve(old.ticket, Resnapshot, why)
		*old = item{ev: *ev, ticket: t, recovery: true}
	default:
		g.kept = why
		g.st.Phase, g.st.Reason, g.st.Detail = AwaitingSnapshot, event.None, ""
		g.push(t, ev, true)
	}
}

// waiting says whether a recovery waits behind a superseded call.
func (g *Gate) waiting() bool { return g.st.Phase == AwaitingSnapshot && g.stale }

func (g *Gate) push(t Ticket, ev *event.Event, recovery bool) {
	it := g.at(g.n)
	it.ev, it.ticket, it.recovery = *ev, t, recovery
	g.n++
	if g.stage == idle {
		g.run()
	}
}

// at is the i-th item of the queue; the active one, if it has an event, is at 0.
func (g *Gate) at(i int) *item {
	i += g.head
	if i >= len(g.ring) {
		i -= len(g.ring)
	}
	return &g.ring[i]
}

// pop frees the first slot and lets go of its payload.
func (g *Gate) pop() {
	g.ring[g.head].ev = event.Event{}
	g.n--
	if g.head++; g.head == len(g.ring) {
		g.head = 0
	}
}

// Free is how many events can be offered now without being refused for want of room. It is 0 while a recovery waits for a
// superseded call: what follows the recovery would be refused until it is being applied (D-11, D-19). Where nothing queues
// (resnapshot-required, error, closed) every event is answered at once and Free is MaxPending. It must be read again
// before each event: one event may change it.
func (g *Gate) Free() int {
	switch {
	case g.st.Phase >= ResnapshotRequired:
		return g.cfg.MaxPending
	case g.waiting():
		return 0
	}
	return g.cfg.MaxPending - g.n
}

// State is what the gate shows (facts 1.5).
func (g *Gate) State() State {
	s := g.st
	s.Pending = g.n
	return s
}

// Held is the accepted position; ok is false while there is none.
func (g *Gate) Held() (h Held, ok bool) { return g.held, g.has }

// RecentIDs copies the remembered ids, oldest first, for a caller that persists them itself (facts 2.9).
func (g *Gate) RecentIDs() []string { return g.ids.list() }

// RecentIDCount is how many ids are remembered.
func (g *Gate) RecentIDCount() int { return g.ids.n }

// Bounds are the limits in force: the configuration with its defaults filled in.
func (g *Gate) Bounds() Config { return g.cfg }
