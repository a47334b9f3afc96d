// Package stage is what a scenario acts on: a feed behind a server, and a client that follows it. One interface, one
// implementation per lane. A stage writes down everything that happens, in one trace; it judges nothing.
package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
	"github.com/conform-dev/conform/simulator/world"
)

// Stage runs one scenario and is then closed. It is not safe for concurrent use. An error means that the harness could
// not do what it was asked, never that the subject did something wrong: that is in the trace.
type Stage interface {
	// Lane names the lane; Exact lanes have Advance and Silence.
	Lane() trace.Lane
	// Serve starts the server and fills the store. It is called once, before everything below.
	Serve(ctx context.Context, s Setup) error
	// Follow starts a client. A second one takes over server, store and rows from one that is over, as an application does
	// that was started again.
	Follow(ctx context.Context) error

	// Leave closes the client as its application would, twice: the second time nothing happens.
	Leave(ctx context.Context) error
	// Require is the application's wish for a snapshot, with the reason that it gives.
	Require(ctx context.Context, r event.Reason) error

	// Publish makes n changes at the server, one after the other, without waiting for the client.
	Publish(ctx context.Context, n int) error
	// Trim makes the server forget all but the last keep changes.
	Trim(ctx context.Context, keep int) error
	// Restart makes the server come back at head: from a backup of its history, or as another stream under the same name.
	Restart(ctx context.Context, head event.Seq, another bool) error
	// Fault adds one fault to those of the set-up.
	Fault(ctx context.Context, f simulator.Fault) error
	// Cut ends the client's connection once everything that was sent has left the server, and waits for that.
	Cut(ctx context.Context) error
	// Reach says whether anybody answers where the server is. Only for exact lanes: how often a client knocks at a closed
	// door depends on the clock.
	Reach(ctx context.Context, answers bool) error

	// Block makes the consumer stand still when it is given seq; Unblock lets it go on, and it then ignores that it was
	// cancelled meanwhile.
	Block(ctx context.Context, seq event.Seq) error
	Unblock(ctx context.Context) error
	// Stopped waits until the consumer stands still.
	Stopped(ctx context.Context) error
	// FailConsumer makes the consumer fail when it is given seq, once.
	FailConsumer(ctx context.Context, seq event.Seq) error
	// FailStore makes saving the position seq fail, once.
	FailStore(ctx context.Context, seq event.Seq) error

	// KillPlugin kills the transport's process and waits until it is gone. Only the process lane has one.
	KillPlugin(ctx context.Context) error

	// KillStore kills the process that holds the store, waits until it is gone and measures what it left on disk. The next Follow
	// starts another one. Only the process lane has one, with a file store.
	KillStore(ctx context.Context) error

	// Plane does something to the server of a wake lane; of the actions only those of a lane. Other wires have none.
	Plane(ctx context.Context, a world.Action) error

	// Advance lets d pass. Only for exact lanes.
	Advance(ctx context.Context, d time.Duration) error
	// Silence lets time pass until d after the last sign of life that reached the client. Only for exact lanes.
	Silence(ctx context.Context, d time.Duration) error
	// Until runs until the trace satisfies c. A wait that runs out is recorded as StageLate; the scenario goes on, and
	// what it then expects fails by itself.
	Until(ctx context.Context, what string, c Condition) error

	// Step and Expect write into the trace.
	Step(text string)
	Expect(e trace.Expectation, args map[string]string) error
	// Records is the trace so far.
	Records() []trace.Record
	// Close ends the client and the server, in this order, and everything that belongs to them.
	Close() error
}

// Setup is what a scenario says before it begins; it means the same in every lane.
type Setup = world.Setup

// ErrLane is wrapped by the error of a verb that a lane does not have.
var ErrLane = errors.New("this lane cannot do that")

// Condition is something that a wait is for.
type Condition func(*View) bool

// Options are what a stage needs beside the scenario.
type Options struct {
	Wire   string       // between server and client: one of world.WireNames
	Seed   uint64       // of the schedule
	Plugin host.Command // how the transport's process is started; process lane
}

// New makes the stage of a lane; nothing runs before Serve.
func New(lane trace.Lane, o Options) (Stage, error) {
	switch lane {
	case trace.Virtual:
		return newVirtual(o), nil
	case trace.Process:
		if o.Wire == fleet.Wire {
			return newLane(o), nil
		}
		return newProcess(o), nil
	}
	return nil, fmt.Errorf("no stage for the lane %q", lane)
}

// wireOf is a wire as a set-up names it: the default one is not named.
func wireOf(name string) string {
	if name == world.DefaultWire {
		return ""
	}
	return name
}

// polls says whether a wire holds no connection between two changes.
func polls(wire string) bool { return wire == simulator.OData }
