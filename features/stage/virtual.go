package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/world"
)

// VirtualPatience bounds one wait of the virtual lane in virtual time: more than the ten minutes for which a server's wish
// to be left alone is honoured (D-34). It costs some milliseconds.
const VirtualPatience = 15 * time.Minute

// virtual is the stage of the virtual lane.
type virtual struct {
	wire  string
	seed  uint64
	world *world.World
	view  *View
	early []trace.Record // steps before Serve
}

func newVirtual(o Options) *virtual { return &virtual{wire: o.Wire, seed: o.Seed, view: NewView()} }

func (v *virtual) Lane() trace.Lane { return trace.Virtual }

func (v *virtual) Serve(_ context.Context, s Setup) (err error) {
	if s.Broken || s.File || s.Stored != nil && s.Stored.Age != 0 {
		return fmt.Errorf("store: %w: the shipped store runs in the process lane", ErrLane)
	}
	if len(s.Lane.Leaves) > 0 {
		return fmt.Errorf("leaf: %w: secrets in files are of the process lane", ErrLane)
	}
	s.Wire = wireOf(v.wire)
	v.world, err = world.New(s, world.Draw(v.seed), v.view.Add)
	if err != nil {
		return err
	}
	for _, r := range v.early {
		v.world.Record(r)
	}
	v.early = nil
	return nil
}

func (v *virtual) do(verb world.Verb, n int64) error {
	return v.world.Do(world.Action{Verb: verb, N: n})
}

// Follow starts a client, when the one before it is over; one that does not end is late, and left behind.
func (v *virtual) Follow(ctx context.Context) error {
	if err := v.until(ctx, "the client to end", func() bool { return !v.world.Running() }); err != nil {
		return err
	}
	if v.world.Running() {
		if err := v.do(world.Leave, 0); err != nil {
			return err
		}
	}
	return v.do(world.Follow, 0)
}

func (v *virtual) Leave(context.Context) error {
	if err := v.do(world.Leave, 0); err != nil {
		return err
	}
	return v.do(world.Leave, 0)
}

func (v *virtual) Require(_ context.Context, r event.Reason) error {
	return v.world.Do(world.Action{Verb: world.Require, Reason: r.String()})
}

func (v *virtual) Publish(_ context.Context, n int) error { return v.do(world.Publish, int64(n)) }
func (v *virtual) Trim(_ context.Context, keep int) error { return v.do(world.Trim, int64(keep)) }

func (v *virtual) Restart(_ context.Context, head event.Seq, another bool) error {
	verb := world.Restart
	if another {
		verb = world.RestartNew
	}
	return v.do(verb, int64(head))
}

func (v *virtual) Fault(_ context.Context, f simulator.Fault) error {
	return v.world.Do(world.Action{Verb: world.Strike, Faults: world.FaultList{f}})
}

func (v *virtual) Cut(ctx context.Context) error {
	if polls(v.wire) {
		return nil // there is nothing to break between two polls
	}
	cuts := v.view.Cuts
	if err := v.Fault(ctx, simulator.Fault{Name: "cut"}); err != nil {
		return err
	}
	return v.Until(ctx, "the server to end the connection", func(v *View) bool { return v.Cuts > cuts })
}

func (v *virtual) Reach(_ context.Context, answers bool) error {
	if answers {
		return v.do(world.Return, 0)
	}
	return v.do(world.Vanish, 0)
}

func (v *virtual) Block(_ context.Context, seq event.Seq) error { return v.do(world.Block, int64(seq)) }
func (v *virtual) FailStore(_ context.Context, seq event.Seq) error {
	return v.do(world.FailStore, int64(seq))
}
func (v *virtual) FailConsumer(_ context.Context, seq event.Seq) error {
	return v.do(world.FailConsumer, int64(seq))
}

// Unblock waits until the consumer stands still: it may not have got there yet.
func (v *virtual) Unblock(ctx context.Context) error {
	if err := v.until(ctx, "the consumer to stand still", v.world.Blocked); err != nil || !v.world.Blocked() {
		return err
	}
	return v.do(world.Unblock, 0)
}

func (v *virtual) Stopped(ctx context.Context) error {
	return v.until(ctx, "the consumer to stand still", v.world.Blocked)
}

func (v *virtual) KillPlugin(context.Context) error {
	return fmt.Errorf("kill the plugin: %w: the transport runs in the world itself", ErrLane)
}

func (v *virtual) KillStore(context.Context) error {
	return fmt.Errorf("kill the store: %w: it lives in the world itself", ErrLane)
}

func (v *virtual) Plane(_ context.Context, a world.Action) error { return v.world.Do(a) }

func (v *virtual) Advance(_ context.Context, d time.Duration) error {
	return v.world.Advance(v.world.Now() + d)
}

func (v *virtual) Silence(_ context.Context, d time.Duration) error {
	return v.world.Advance(v.world.LastSign() + d)
}

func (v *virtual) Until(ctx context.Context, what string, c Condition) error {
	return v.until(ctx, what, func() bool { return c(v.view) })
}

// ctxEvery is how many conditions are looked at between two looks at the context.
const ctxEvery = 1024

func (v *virtual) until(ctx context.Context, what string, c func() bool) error {
	n := 0
	held, err := v.world.Until(v.world.Now()+VirtualPatience, func() bool {
		n++
		return c() || n%ctxEvery == 0 && ctx.Err() != nil
	})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !held {
		r := trace.New(trace.Stage, trace.StageLate)
		r.Detail, r.Ms = what, VirtualPatience.Milliseconds()
		v.world.Record(r)
	}
	return nil
}

func (v *virtual) Step(text string) {
	r := trace.New(trace.Stage, trace.StageStep)
	r.Detail = text
	if v.world == nil {
		v.early = append(v.early, r)
		return
	}
	v.world.Record(r)
}

func (v *virtual) Expect(e trace.Expectation, args map[string]string) error {
	r, err := trace.Expect(e, args)
	if err == nil && v.world == nil {
		return errors.New("nothing has happened yet")
	}
	if err == nil {
		v.world.Record(r)
	}
	return err
}

func (v *virtual) Records() []trace.Record {
	if v.world == nil {
		return nil
	}
	return v.world.Records()
}

// Close lets the client finish what it has begun; that takes no more than the consumer's and the store's own time.
func (v *virtual) Close() error {
	if v.world == nil {
		return nil
	}
	if err := v.do(world.Leave, 0); err != nil {
		return err
	}
	return v.world.Advance(v.world.Now() + time.Second)
}

// Schedule is the scenario as data, up to here; nil before Serve.
func (v *virtual) Schedule() *world.Schedule {
	if v.world == nil {
		return nil
	}
	s := v.world.Schedule(v.seed)
	return &s
}
