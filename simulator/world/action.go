package world

import (
	"errors"
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/simulator"
)

// Verb is something that is done to a world from outside.
type Verb string

// The verbs. N is said per verb; those without one ignore it.
const (
	Follow       Verb = "follow"        // start a client; the one before is over
	Leave        Verb = "leave"         // close the client
	Publish      Verb = "publish"       // N changes
	Trim         Verb = "trim"          // keep the last N changes
	Restart      Verb = "restart"       // at N in the same stream epoch
	RestartNew   Verb = "restart-new"   // at N in a new one
	Strike       Verb = "fault"         // add Fault
	Vanish       Verb = "vanish"        // nobody answers any more
	Return       Verb = "return"        // the server answers again
	Require      Verb = "require"       // the application wants a snapshot, for Reason
	Block        Verb = "block"         // the consumer stands still at N
	Unblock      Verb = "unblock"       // and goes on
	FailConsumer Verb = "fail-consumer" // at N, once
	FailStore    Verb = "fail-store"    // at N, once
)

// Action is a verb at its place in a run: when Steps jobs have run and the time is Micros.
type Action struct {
	Steps  uint64    `json:"steps"`
	Micros int64     `json:"micros"`
	Verb   Verb      `json:"do"`
	N      int64     `json:"n,omitempty"`
	Faults FaultList `json:"faults,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Text   string    `json:"text,omitempty"`
}

// ErrPlace is wrapped by the error of an action that cannot be done where it stands, for example a restart at a sequence
// that the history does not hold. The world is unchanged.
var ErrPlace = errors.New("this cannot be done here")

// Do does a now and remembers it for Schedule.
func (w *World) Do(a Action) error {
	a.Steps, a.Micros = w.steps, w.now.Microseconds()
	if err := w.act(a); err != nil {
		return fmt.Errorf("%s %d: %w: %w", a.Verb, a.N, ErrPlace, err)
	}
	w.done = append(w.done, a)
	w.serve()
	return nil
}

func (w *World) act(a Action) error {
	now := w.simClock()
	if a.feeds() && w.sim == nil {
		return errNoLane
	}
	switch a.Verb {
	case Follow:
		return w.open()
	case Leave:
		if w.client != nil {
			w.client.close()
		}
	case Require:
		r, ok := event.ParseReason(a.Reason)
		if !ok || w.client == nil {
			return errors.New("no reason, or no client")
		}
		w.client.s.Require(w.clock(), r, "asked-by-the-application")
		w.client.drain()
		w.client.read()
	case Publish:
		return w.setup.Publish(w.sim, now, int(a.N))
	case Trim:
		return w.sim.Trim(now, int(a.N))
	case Restart, RestartNew:
		return w.sim.Restart(now, simulator.Restart{Head: event.Seq(a.N), Epoch: a.Verb == RestartNew})
	case Strike:
		for _, f := range a.Faults {
			if err := w.sim.Add(now, f); err != nil {
				return err
			}
		}
	case Vanish, Return:
		w.down = a.Verb == Vanish
	case Block:
		w.consumer.blocks[event.Seq(a.N)] = true
	case Unblock:
		resume := w.consumer.held
		if resume == nil {
			return errors.New("the consumer does not stand still")
		}
		w.consumer.held = nil
		resume()
	case FailConsumer:
		w.consumer.fails[event.Seq(a.N)] = true
	case FailStore:
		w.store.fails[event.Seq(a.N)] = true
	case HoldPolls:
		w.pollsHeld = true
	default:
		if w.lane == nil {
			return fmt.Errorf("unknown verb %q", a.Verb)
		}
		return a.OnPlane(w.lane, now)
	}
	return nil
}

// feeds says whether the verb is about a feed.
func (a Action) feeds() bool {
	switch a.Verb {
	case Publish, Trim, Restart, RestartNew, Strike:
		return true
	}
	return false
}

// Running says whether there is a client that is not over.
func (w *World) Running() bool { return w.client != nil && !w.client.over }

// Blocked says whether the consumer stands still.
func (w *World) Blocked() bool { return w.consumer.held != nil }

// replay runs jobs until a is due, and then does it.
func (w *World) replay(a Action) error {
	if err := w.reach(a.Steps, a.Micros); err != nil {
		return err
	}
	return w.Do(a)
}

// reach runs jobs until so many were run and none is left before the given time, and then it is that time. A run that has
// nothing left to do before it got so far is not the one that was recorded.
func (w *World) reach(steps uint64, micros int64) error {
	at := time.Duration(micros) * time.Microsecond
	for {
		next, ok := w.jobs.head()
		if w.steps >= steps && (!ok || next >= at) {
			w.now = max(w.now, at)
			return nil
		}
		if !ok {
			return fmt.Errorf("the run came to rest after %d steps of %d", w.steps, steps)
		}
		if err := w.step(); err != nil {
			return err
		}
	}
}
