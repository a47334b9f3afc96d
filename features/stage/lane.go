package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
	"github.com/conform-dev/conform/simulator/fleetserve"
	"github.com/conform-dev/conform/simulator/world"
)

// lane is the stage of the wake lane in the process lane: the relay's real process, a fleet server on a socket, and the driver that
// applications embed. It has no feed, so the verbs of one are refused.
type lane struct {
	noFeed
	opt   Options
	draws world.Draws
	start time.Time
	book  *book

	setup    Setup
	server   *fleetserve.Server
	plugin   *host.Plugin
	client   *subscription.Subscription
	renewals int // asked for by one connection at a time
	leaves   leaves
}

func newLane(o Options) *lane {
	l := &lane{opt: o, draws: world.Draw(o.Seed), start: time.Now()}
	l.book = newBook(func() int64 { return time.Since(l.start).Milliseconds() })
	return l
}

func (l *lane) Lane() trace.Lane { return trace.Process }

// Serve scales the waits: of the contract's 5 s nothing would be seen but the clock.
func (l *lane) Serve(ctx context.Context, s Setup) (err error) {
	scale(&s.Client.Base, ScaledBase)
	scale(&s.Client.Cap, max(ScaledCap, s.Client.Base))
	scale(&s.RetryHint, ScaledBase)
	s.Wire, s.NoStore = fleet.Wire, true
	if err := s.Check(); err != nil {
		return err
	}
	l.setup = s
	if len(s.Lane.Leaves) > 0 {
		if l.leaves, err = declare(&s); err != nil {
			return err
		}
	}
	command := l.opt.Plugin
	command.OnEvent = func(e host.Event) { heard(l.book, e) }
	if l.plugin, err = host.Start(ctx, command); err != nil {
		return err
	}
	d, err := l.plugin.Describe(ctx)
	if err != nil {
		return err
	}
	o := s.Plane()
	o.SelfBase = "" // the server's own address
	l.server, err = fleetserve.Start(context.WithoutCancel(ctx), fleetserve.Options{Fleet: o, Observe: l.book.add})
	if err != nil {
		return err
	}
	r := trace.New(trace.Stage, trace.StageSetup)
	r.Args = s.Args(d)
	r.Args["scaled"] = fmt.Sprintf("base wait %d ms, wait cap %d ms, retry hint %d ms", s.Client.Base, s.Client.Cap, s.RetryHint)
	l.book.add(r)
	return nil
}

// Follow starts a relay, when the one before it is over.
func (l *lane) Follow(ctx context.Context) (err error) {
	if l.client != nil {
		if err := l.over(ctx); err != nil {
			return err
		}
	}
	credentials := l.credentials
	headers := func(context.Context) ([]transport.ExtraHeader, error) { return l.setup.Headers(), nil }
	if l.leaves.dir != "" {
		relay, started := l.leaves.boot(l.book)
		if !started {
			return nil
		}
		credentials, headers = relay.CredentialSource(), relay.HeaderSource()
	}
	apply := func(context.Context, *event.Event) error { return errors.New("a wake lane delivers nothing") }
	l.client, err = subscription.Open(context.WithoutCancel(ctx), l.plugin, apply,
		subscription.WithEndpoint(l.server.PlaneBase()),
		subscription.WithQuery(l.setup.Client.Query()),
		subscription.WithTransportOptions(l.setup.Options(l.server.PollURL())),
		subscription.WithPolicy(l.setup.Client.Policy(func(n int) int { return l.draws.Jitter[n%len(l.draws.Jitter)] })),
		subscription.WithCredentials(credentials),
		subscription.WithHeaders(headers),
		subscription.WithObserver(l.book.add))
	if r, ok := world.Refusal(err); ok {
		l.book.add(r)
		return nil
	}
	return err
}

func (l *lane) credentials(_ context.Context, renew bool) (transport.Credential, string, error) {
	if renew {
		l.renewals++
	}
	return l.setup.Credential(l.renewals), "", nil
}

// over waits until the relay has ended, with all that belongs to it.
func (l *lane) over(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		_ = l.client.Wait() // how it ended is in the trace
		close(done)
	}()
	patience := l.book.patience()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		l.book.ranOut("the relay and its transport to end", patience)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave waits until the relay has ended. Closing twice is harmless.
func (l *lane) Leave(ctx context.Context) error {
	if l.client == nil {
		return nil
	}
	l.client.Close()
	l.client.Close()
	return l.over(ctx)
}

func (l *lane) Plane(_ context.Context, a world.Action) error {
	if a.Verb == world.HoldPolls {
		return fmt.Errorf("%s: %w: its time is real", a.Verb, ErrLane)
	}
	return l.server.Do(func(m *fleet.Server, now fleet.Now) error { return a.OnPlane(m, simulator.Now(now)) })
}

func (l *lane) KillPlugin(ctx context.Context) error { return killPlugin(ctx, l.plugin, l.book) }

func (l *lane) Until(ctx context.Context, what string, c Condition) error {
	return l.book.wait(ctx, what, c)
}

func (l *lane) Step(text string) { l.book.step(text) }

func (l *lane) Expect(e trace.Expectation, args map[string]string) error {
	return l.book.expect(e, args)
}

func (l *lane) Records() []trace.Record { return l.book.records() }

// Close ends the relay, waits until the server has seen its stream go, and ends the processes.
func (l *lane) Close() error {
	var errs []error
	if l.client != nil {
		l.client.Close()
		errs = append(errs, l.over(context.Background()))
	}
	if l.server != nil {
		wait, cancel := context.WithTimeout(context.Background(), l.book.patience())
		if err := l.server.WaitFor(wait, func(s fleet.State) bool { return s.Streams == 0 }); errors.Is(err, context.DeadlineExceeded) {
			l.book.ranOut("the relay to close its stream", l.book.patience())
		}
		cancel()
	}
	l.book.seal()
	if l.plugin != nil {
		errs = append(errs, l.plugin.Close())
	}
	if l.server != nil {
		errs = append(errs, l.server.Close())
	}
	return errors.Join(append(errs, l.leaves.remove())...)
}

// noFeed refuses what only a server with a feed can do, and what needs exact time.
type noFeed struct{}

var errNoFeed = fmt.Errorf("%w: a wake lane has no feed, no store and no exact time", ErrLane)

func (noFeed) Require(context.Context, event.Reason) error    { return errNoFeed }
func (noFeed) Publish(context.Context, int) error             { return errNoFeed }
func (noFeed) Trim(context.Context, int) error                { return errNoFeed }
func (noFeed) Restart(context.Context, event.Seq, bool) error { return errNoFeed }
func (noFeed) Fault(context.Context, simulator.Fault) error   { return errNoFeed }
func (noFeed) Cut(context.Context) error                      { return errNoFeed }
func (noFeed) Reach(context.Context, bool) error              { return errNoFeed }
func (noFeed) Block(context.Context, event.Seq) error         { return errNoFeed }
func (noFeed) Unblock(context.Context) error                  { return errNoFeed }
func (noFeed) Stopped(context.Context) error                  { return errNoFeed }
func (noFeed) FailConsumer(context.Context, event.Seq) error  { return errNoFeed }
func (noFeed) FailStore(context.Context, event.Seq) error     { return errNoFeed }
func (noFeed) KillStore(context.Context) error                { return errNoFeed }
func (noFeed) Advance(context.Context, time.Duration) error   { return errNoFeed }
func (noFeed) Silence(context.Context, time.Duration) error   { return errNoFeed }
