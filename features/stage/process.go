package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/odata"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/serve"
	"github.com/conform-dev/conform/simulator/world"
)

// Scaled limits of the process lane, in milliseconds. They stand in the set-up record of every trace; exact numbers are the
// virtual lane's business.
const (
	// ScaledBase and ScaledCap make a reconnect a matter of milliseconds, so that the whole lane takes seconds; and still leave a consumer
	// on a loaded machine time to be done with what came before the break, so that scenarios may say from where it goes on.
	ScaledBase = 20
	ScaledCap  = 80
	// ScaledPoll is the time between two polls, for the same reason.
	ScaledPoll = 5
)

// process is the stage of the process lane: the transport's real process, real loopback sockets, the driver that
// applications embed.
type process struct {
	opt   Options
	draws world.Draws
	start time.Time
	book  *book

	setup     Setup
	server    *serve.Server
	plugin    *host.Plugin
	store     *store
	consumer  *consumer
	renewals  atomic.Int32 // of the client's credential
	missing   bool         // the transport's program was refused, as it should be
	elsewhere *elsewhere   // nil unless a redirect leads there
	client    *subscription.Subscription
}

func newProcess(o Options) *process {
	p := &process{opt: o, draws: world.Draw(o.Seed), start: time.Now()}
	p.book = newBook(func() int64 { return time.Since(p.start).Milliseconds() })
	return p
}

func (p *process) Lane() trace.Lane { return trace.Process }

func (p *process) Serve(ctx context.Context, s Setup) (err error) {
	scale(&s.Client.Base, ScaledBase)
	scale(&s.Client.Cap, max(ScaledCap, s.Client.Base))
	s.Wire = wireOf(p.opt.Wire)
	if err := s.Check(); err != nil {
		return err
	}
	scaled := fmt.Sprintf("base wait %d ms, wait cap %d ms", s.Client.Base, s.Client.Cap)
	if ms, ok := scalePoll(&s); ok {
		scaled += fmt.Sprintf(", poll interval %s ms", ms)
	}
	p.setup = s
	if err := p.launch(ctx); err != nil {
		return err
	}
	d := transport.Descriptor{Name: p.opt.Plugin.Name} // of a program that was refused nothing else is known
	if !p.missing {
		if d, err = p.transport().Describe(ctx); err != nil {
			return err
		}
	}
	r := trace.New(trace.Stage, trace.StageSetup)
	r.Args = s.Args(d)
	r.Args["scaled"] = scaled
	p.book.add(r)
	if p.consumer, err = newConsumer(p.book, &s); err != nil {
		return err
	}
	p.store, err = newStore(ctx, &s, p.book)
	if err != nil {
		return err
	}
	sim := s.Simulator()
	if leadsElsewhere(s.Faults) {
		if p.elsewhere, err = newElsewhere(p.book); err != nil {
			return err
		}
		sim.Schedule.Faults = p.elsewhere.aim(s.Faults)
	}
	// The server outlives the step: only Close ends it.
	p.server, err = serve.Start(context.WithoutCancel(ctx), serve.Options{Simulator: sim, Observe: p.book.add})
	return err
}

func scale(value *int, to int) {
	if *value == 0 {
		*value = to
	}
}

// scalePoll sets the poll interval of a transport that polls, unless the scenario does; ok is false for one that does not poll.
func scalePoll(s *Setup) (ms string, ok bool) {
	if s.Wire != simulator.OData {
		return "", false
	}
	if ms, ok = s.Client.Options[odata.OptionPollIntervalMs]; !ok {
		ms = strconv.Itoa(ScaledPoll)
		s.Client.Options = maps.Clone(s.Client.Options)
		if s.Client.Options == nil {
			s.Client.Options = map[string]string{}
		}
		s.Client.Options[odata.OptionPollIntervalMs] = ms
	}
	return ms, true
}

// Follow starts a client, when the one before it is over.
func (p *process) Follow(ctx context.Context) (err error) {
	if p.client != nil {
		if err := p.over(ctx); err != nil {
			return err
		}
	}
	if p.missing {
		return nil // there is nothing that could be opened
	}
	if p.store.file != nil {
		if err := p.store.file.proc.Start(); err != nil {
			return err
		}
	}
	p.client, err = subscription.Open(context.WithoutCancel(ctx), p.transport(), p.consumer.apply, p.options()...)
	if r, ok := world.Refusal(err); ok {
		p.book.add(r)
		return nil
	}
	return err
}

// transport is the plugin as the client is told it.
func (p *process) transport() transport.Transport {
	if p.setup.Client.Claims == "" {
		return p.plugin
	}
	return claimed{p.plugin, &p.setup.Client}
}

func (p *process) options() []subscription.Option {
	c := &p.setup.Client
	o := []subscription.Option{
		subscription.WithEndpoint(p.server.URLs()[cmp.Or(p.setup.Wire, world.DefaultWire)]),
		subscription.WithQuery(c.Query()),
		subscription.WithTransportOptions(c.Options),
		subscription.WithContext(p.setup.Context()),
		subscription.WithPolicy(c.Policy(p.jitter)),
		subscription.WithCredentials(p.credentials),
		subscription.WithObserver(p.book.add),
	}
	if !p.setup.NoStore {
		o = append(o, subscription.WithStore(p.store))
	}
	if g := p.setup.Gate(); g.MaxPending+g.MaxIDs+g.SaveEvery > 0 {
		o = append(o, subscription.WithMaxPending(g.MaxPending), subscription.WithMaxIDs(g.MaxIDs), subscription.WithSaveEvery(g.SaveEvery))
	}
	return o
}

// credentials gives the credential of the scenario, and the next one when the last was refused. It is asked by one
// connection at a time.
func (p *process) credentials(_ context.Context, renew bool) (transport.Credential, string, error) {
	n := p.renewals.Load()
	if renew {
		n = p.renewals.Add(1)
	}
	scope := ""
	if n > 0 {
		scope = p.setup.Client.Renewed
	}
	return world.CredentialAfter(int(n)), scope, nil
}

// jitter is that of the schedule: the waits of a scenario are the same ones in every run.
func (p *process) jitter(n int) int { return p.draws.Jitter[n%len(p.draws.Jitter)] }

// over waits until the client has ended, with all that belongs to it.
func (p *process) over(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		_ = p.client.Wait() // how it ended is in the trace
		close(done)
	}()
	patience := p.book.patience()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		p.book.ranOut("the client and its transport to end", patience)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle waits until the server has seen all connections go but those that the client may have: one while it runs. It hears
// of the others a little later than the client let go of them, and would go on sending into them.
func (p *process) settle(ctx context.Context) error {
	open := 1
	if over, _ := p.book.look(func(v *View) bool { return v.Ended }); over || p.client == nil {
		open = 0
	}
	patience := p.book.patience()
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := p.server.WaitFor(wait, func(s simulator.State) bool { return len(s.Connections) <= open })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		p.book.ranOut("the transport to close its connection", patience)
		return nil
	}
	return err
}

// Leave waits until the client has ended.
func (p *process) Leave(ctx context.Context) error {
	if p.client == nil {
		return nil
	}
	p.client.Close()
	p.client.Close()
	return p.over(ctx)
}

func (p *process) Require(_ context.Context, r event.Reason) error {
	p.client.RequireResnapshot(r, "asked-by-the-application")
	return nil
}

func (p *process) Publish(ctx context.Context, n int) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	return p.server.Do(func(sim *simulator.Simulator, now simulator.Now) error { return p.setup.Publish(sim, now, n) })
}

func (p *process) Trim(_ context.Context, keep int) error {
	return p.server.Do(func(s *simulator.Simulator, now simulator.Now) error { return s.Trim(now, keep) })
}

// Restart waits until the connections that it ends have ended at the server.
func (p *process) Restart(ctx context.Context, head event.Seq, another bool) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	cuts := p.count(func(v *View) int { return v.Cuts }) + len(p.server.State().Connections)
	err := p.server.Do(func(s *simulator.Simulator, now simulator.Now) error {
		return s.Restart(now, simulator.Restart{Head: head, Epoch: another})
	})
	if err != nil {
		return err
	}
	return p.Until(ctx, "the server to end its connections", func(v *View) bool { return v.Cuts >= cuts })
}

// count reads a number of the trace so far.
func (p *process) count(of func(*View) int) (n int) {
	p.book.look(func(v *View) bool { n = of(v); return true })
	return n
}

func (p *process) Fault(ctx context.Context, f simulator.Fault) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	return p.server.Add(f)
}

func (p *process) Cut(ctx context.Context) error {
	if polls(p.setup.Wire) {
		return nil // there is nothing to break between two polls
	}
	cuts := p.count(func(v *View) int { return v.Cuts })
	if err := p.Fault(ctx, simulator.Fault{Name: "cut"}); err != nil {
		return err
	}
	return p.Until(ctx, "the server to end the connection", func(v *View) bool { return v.Cuts > cuts })
}

func (p *process) Reach(context.Context, bool) error {
	return fmt.Errorf("reach: %w: how often a client knocks depends on the clock", ErrLane)
}

func (p *process) Block(_ context.Context, seq event.Seq) error { p.consumer.block(seq); return nil }

func (p *process) Unblock(ctx context.Context) error { return p.consumer.unblock(ctx, p.book) }

func (p *process) Stopped(ctx context.Context) error { return p.consumer.stopped(ctx, p.book) }

func (p *process) FailConsumer(_ context.Context, seq event.Seq) error {
	p.consumer.fail(seq)
	return nil
}

func (p *process) FailStore(_ context.Context, seq event.Seq) error { p.store.fail(seq); return nil }

func (p *process) Plane(context.Context, world.Action) error {
	return fmt.Errorf("plane: %w: this wire is no wake lane", ErrLane)
}

func (p *process) Advance(context.Context, time.Duration) error {
	return fmt.Errorf("advance: %w: its time is real", ErrLane)
}

func (p *process) Silence(context.Context, time.Duration) error {
	return fmt.Errorf("silence: %w: its time is real", ErrLane)
}

func (p *process) Until(ctx context.Context, what string, c Condition) error {
	return p.book.wait(ctx, what, c)
}

func (p *process) Step(text string) { p.book.step(text) }

// Expect looks into the store itself before it writes down what is expected of it.
func (p *process) Expect(e trace.Expectation, args map[string]string) error {
	if e == trace.ExpectStored && p.store != nil {
		p.book.add(p.store.held(context.Background()))
	}
	return p.book.expect(e, args)
}

func (p *process) Records() []trace.Record { return p.book.records() }

// Close ends the client and waits until the server has seen the last of its connections go; the trace ends there. Then the
// processes end.
func (p *process) Close() error {
	var errs []error
	if p.consumer != nil {
		p.consumer.release()
	}
	if p.client != nil {
		p.client.Close()
		errs = append(errs, p.over(context.Background()))
	}
	if p.server != nil {
		errs = append(errs, p.settle(context.Background()))
	}
	p.book.seal()
	if p.plugin != nil {
		errs = append(errs, p.plugin.Close())
	}
	if p.server != nil {
		errs = append(errs, p.server.Close())
	}
	if p.elsewhere != nil {
		errs = append(errs, p.elsewhere.Close())
	}
	if p.store != nil {
		errs = append(errs, p.store.Close())
	}
	return errors.Join(errs...)
}
