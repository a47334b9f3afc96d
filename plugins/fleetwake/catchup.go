package fleetwake

import (
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// Poll is the catch-up poll that a connection owes: one, as soon as its subscription is known (D-52).
type Poll struct {
	Epoch          uint32 // the connection's
	SubscriptionID string
	// Since is the mark that was held before anything of this connection moved it (D-53); 0 at a cold start.
	Since event.Seq
	// By is when it must be answered, in the time that Wake tells.
	By time.Duration
}

// PollResult is how a poll went: an answer's bytes, or why there is none.
type PollResult struct {
	Answer []byte
	Failed string // in a fixed word; empty if there is an answer
}

// The reasons of a catch-up that brought nothing, beside those that a driver and DecodePollAnswer give.
const (
	NoSeam   = "no way to poll was set up"
	PollTime = "no answer in time"
)

type pollStage uint8

const (
	pollNotDue pollStage = iota
	pollDue
	pollAsked
	pollOver
)

// PollDue hands out the poll that is due, once. Whoever performs it gives the result to Polled; until then the stream goes on.
func (m *Machine) PollDue() (p Poll, due bool) {
	if m.stage != streaming || m.polling != pollDue {
		return p, false
	}
	m.polling = pollAsked
	return m.poll, true
}

// Polled takes the result of p. One that comes too late, a second one, and one of another connection change nothing (D-51).
func (m *Machine) Polled(p Poll, r PollResult) {
	if m.stage != streaming || m.polling != pollAsked || p != m.poll {
		return
	}
	if r.Failed != "" {
		m.caughtUp(transport.CatchUpFailed, -1, r.Failed)
		return
	}
	a, why := DecodePollAnswer(r.Answer, p.SubscriptionID)
	if why != "" {
		m.caughtUp(transport.CatchUpFailed, -1, why)
		return
	}
	m.raise(a.Watermark)
	m.caughtUp(transport.CatchUpDone, a.Pending, "")
}

// known: this connection has a subscription. The first time makes the poll due.
func (m *Machine) known(id string) {
	m.id = id
	if m.polling != pollNotDue || m.plan.set.poll == PollNone {
		return
	}
	m.polling = pollDue
	m.poll = Poll{Epoch: m.epoch, SubscriptionID: id, Since: max(m.plan.mark, 0), By: m.now + m.plan.set.pollTimeout}
}

// raise moves the mark, upwards only.
func (m *Machine) raise(mark event.Seq) {
	if mark.Valid() {
		m.mark = max(m.mark, mark)
	}
}

func (m *Machine) caughtUp(state transport.CatchUpState, pending int64, reason string) {
	m.polling = pollOver
	m.say(transport.Signal{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: state, Pending: pending, Watermark: m.mark, Reason: reason}})
}

// Wake implements transport.Clocked: a poll that was not answered in time has failed.
func (m *Machine) Wake(now time.Duration) {
	m.now = max(m.now, now)
	if at, waiting := m.Deadline(); waiting && m.now >= at {
		m.caughtUp(transport.CatchUpFailed, -1, PollTime)
	}
}

// Deadline implements transport.Clocked.
func (m *Machine) Deadline() (at time.Duration, ok bool) {
	return m.poll.By, m.stage == streaming && (m.polling == pollDue || m.polling == pollAsked)
}

// PollTimeout is how long a poll of this connection may take.
func (m *Machine) PollTimeout() time.Duration { return m.plan.set.pollTimeout }
