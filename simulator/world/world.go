// Package world is the virtual lane: one subscription against one simulated server in simulated time. It is an event loop
// over a heap of jobs; everything that it moves is a plain machine. There is no goroutine, no channel and no clock in it,
// and all chance was drawn before it began (laws 1 and 2).
package world

import (
	"errors"
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
)

// MaxSteps bounds a run: a world that is asked to wait runs its jobs until then. A scenario takes some thousands; a client
// that reconnects for ever without waiting would take all there are.
const MaxSteps = 2_000_000

// World is one run. It is not safe for concurrent use.
type World struct {
	setup Setup
	draws Draws
	log   *trace.Log
	heard func(*trace.Record)

	now   time.Duration
	jobs  queue
	steps uint64
	done  []Action

	peer    peer                 // the server: one of the next two
	sim     *simulator.Simulator // of the feed, nil on a lane
	lane    *fleet.Server        // of the lane, nil on a feed
	asks    map[simulator.Conn]*ask
	simWake time.Duration // the earliest wake planned for it, 0 if none
	links   []*link       // open ones, oldest first
	conns   simulator.Conn
	down    bool // nobody answers

	pollsHeld bool // polls get no answer

	dials, delays, reads, applies, saves reel
	jitter                               []int

	client   *client
	consumer consumer
	store    store
	lastSign time.Duration // the last time bytes reached the client
	renewals int           // of the client's credential
	away     int           // requests to another origin
}

// New makes a world. heard, if not nil, is told of every record when it was written.
func New(setup Setup, draws Draws, heard func(*trace.Record)) (*World, error) {
	if err := errors.Join(setup.Check(), draws.check()); err != nil {
		return nil, err
	}
	if setup.Wire == fleet.Wire {
		setup.NoStore = true // the mark of a lane is its client's alone
	}
	sim, lane, err := setup.serves()
	if err != nil {
		return nil, err
	}
	log, err := trace.NewLog(0)
	if err != nil {
		return nil, err
	}
	w := &World{setup: setup, draws: draws, log: log, heard: heard, sim: sim, lane: lane, asks: map[simulator.Conn]*ask{},
		dials: reel{list: draws.Dials}, delays: reel{list: draws.Links}, reads: reel{list: draws.Reads},
		applies: reel{list: draws.Applies}, saves: reel{list: draws.Saves}, jitter: draws.Jitter}
	if w.peer = sim; lane != nil {
		w.peer = plane{lane}
	}
	if err := w.consumer.init(&w.setup); err != nil {
		return nil, err
	}
	w.store.init(&w.setup)
	wire, err := WireOf(setup.Wire)
	if err != nil {
		return nil, err
	}
	r := trace.New(trace.Stage, trace.StageSetup)
	r.Args = setup.Args(setup.Client.Claimed(wire.Describe()))
	w.record(r)
	if setup.LeadsAway() {
		w.record(CrossedRecord(0))
	}
	w.serve()
	return w, nil
}

// Now is the virtual time since the start.
func (w *World) Now() time.Duration { return w.now }

// Records is the trace so far.
func (w *World) Records() []trace.Record { return w.log.Records() }

// Record writes a record of the caller's: a step, an expectation.
func (w *World) Record(r trace.Record) { w.record(r) }

func (w *World) record(r trace.Record) {
	r.T = w.now.Milliseconds()
	w.log.Append(r)
	if w.heard != nil {
		w.heard(&r)
	}
}

// Until runs jobs until c holds, but no further than to the time limit; it answers whether c holds. Time does not move
// past the last job that ran.
func (w *World) Until(limit time.Duration, c func() bool) (bool, error) {
	for !c() {
		at, ok := w.jobs.head()
		if !ok || at > limit {
			return false, nil
		}
		if err := w.step(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Advance runs every job up to the time to, and then it is that time.
func (w *World) Advance(to time.Duration) error {
	if _, err := w.Until(to, func() bool { return false }); err != nil {
		return err
	}
	w.now = max(w.now, to)
	return nil
}

// LastSign is when bytes last reached the client.
func (w *World) LastSign() time.Duration { return w.lastSign }

// step runs the earliest job.
func (w *World) step() error {
	if w.steps++; w.steps > MaxSteps {
		return fmt.Errorf("more than %d steps: the run does not come to rest", MaxSteps)
	}
	j := w.jobs.pop()
	w.now = j.at
	j.run()
	return nil
}

// in plans a job.
func (w *World) in(d time.Duration, run func()) { w.jobs.push(w.now+max(d, 0), run) }

func micros(n int) time.Duration { return time.Duration(n) * time.Microsecond }

func (w *World) clock() session.Now {
	return session.Now{Mono: w.now, Wall: Epoch + w.now.Milliseconds()}
}

func (w *World) simClock() simulator.Now {
	return simulator.Now{Mono: w.now, Wall: Epoch + w.now.Milliseconds()}
}

// serve does what the server owes and plans its next wake.
func (w *World) serve() {
	for {
		out, ok := w.peer.Take()
		if !ok {
			break
		}
		switch {
		case out.Record != nil:
			w.record(*out.Record)
		default:
			if l := w.linkOf(out.Conn); l != nil {
				l.send(out)
			} else if a := w.asks[out.Conn]; a != nil {
				a.take(out)
			}
		}
	}
	at, ok := w.peer.Deadline()
	if !ok || w.simWake != 0 && w.simWake <= at && w.simWake > w.now {
		return
	}
	at = max(at, w.now+1)
	w.simWake = at
	w.in(at-w.now, func() {
		if w.simWake == w.now {
			w.simWake = 0
		}
		w.peer.Wake(w.simClock())
		w.serve()
	})
}

func (w *World) linkOf(c simulator.Conn) *link {
	for _, l := range w.links {
		if l.conn == c {
			return l
		}
	}
	return nil
}
