// Package subscription follows a source for as long as its caller wants: it runs a session, its gate and a store on
// goroutines, over a transport in this process or behind a plugin host. It is what a Go program embeds.
package subscription

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// Apply is the consumer. It is called for one event at a time, in order. ctx is cancelled when the gate gave the event up;
// ev and what it points to must not be changed and counts only until Apply returns, except Payload, which may be kept. An
// error or a panic ends the subscription with consumer-failed, and the event was not accepted: the next start brings it
// again.
type Apply func(ctx context.Context, ev *event.Event) error

// Subscription follows one source. Its methods may be called at once from several goroutines.
type Subscription struct {
	cfg   *config
	t     transport.Transport
	apply Apply
	start time.Time
	base  context.Context // the caller's, without its end: that goes through the session, so that it counts as one
	rec   *drive.Recorder

	telemetry *telemetry // nil unless somebody listens

	mu    sync.Mutex
	room  *sync.Cond          // signalled when the gate may have room, or a connection ended
	ses   drive.Loop          // a session, or the loop of a transport that polls (D-45)
	scope *checkpoint.Context // with the source version and authorization scope now in force
	timer *time.Timer
	armed time.Duration // when timer fires; 0 if it does not
	open  []*connection // whose transport has not returned: one that counts, or two while one is handed over, and what is being closed
	cause error         // of the ending, if it was an error of the caller's code or the transport

	work       chan job
	workCtx    context.Context // of what runs; nil when a new one is needed
	workCancel context.CancelFunc
	forgetting chan struct{} // closed when the store has forgotten; nil if it never had to
	applying   chan struct{} // closed when the consumer has let go of the last candidate; nil without candidates

	asking    sync.Mutex    // held while the wall clock is asked: a clock of the caller's may keep a state
	contained atomic.Uint64 // panics of observer, telemetry and what reads polls

	running sync.WaitGroup
	over    chan struct{} // the session has ended
	done    chan struct{} // and everything that belonged to it
	err     error         // read after done
}

// Open follows a source through session and gate until ctx ends, Close is called or the session is over by itself; see Wait.
// It returns once the first attempt has begun. It fails, before anything is opened, for an option out of range, for one
// that the transport does not know, and with a *drive.ClaimError for a transport that cannot be followed (D-62).
func Open(ctx context.Context, t transport.Transport, apply Apply, opts ...Option) (*Subscription, error) {
	if t == nil || apply == nil {
		return nil, errors.New("subscription: transport and apply are required")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cfg, err := configure(opts)
	if err != nil {
		return nil, err
	}
	d, err := t.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("subscription: the transport does not describe itself: %w", err)
	}
	if err := d.CheckOptions(cfg.options); err != nil {
		return nil, fmt.Errorf("subscription: transport %s: %w", d.Name, err)
	}
	if err := d.Lacks(cfg.takes()...); err != nil {
		return nil, fmt.Errorf("subscription: %w", err)
	}
	policy, err := drive.Policy(d, cfg.policy, cfg.store != nil)
	if err != nil {
		return nil, fmt.Errorf("subscription: %w", err)
	}
	s := &Subscription{
		cfg: cfg, t: t, apply: apply, start: time.Now(), base: context.WithoutCancel(ctx), scope: cfg.scope,
		work: make(chan job, 1), over: make(chan struct{}), done: make(chan struct{}),
	}
	s.room = sync.NewCond(&s.mu)
	if cfg.observe != nil {
		s.rec = drive.NewRecorder(func(r trace.Record) {
			if contain(func() { cfg.observe(r) }) != nil {
				s.contained.Add(1)
			}
		})
	}
	if cfg.telemetry != nil {
		s.telemetry = &telemetry{wake: make(chan struct{}, 1)}
	}
	if err := s.prepare(ctx, d, policy); err != nil {
		return nil, err
	}
	s.launch(ctx)
	return s, nil
}

// prepare loads what is stored and builds gate and session on it.
func (s *Subscription) prepare(ctx context.Context, d transport.Descriptor, policy session.Policy) error {
	begin := checkpoint.Start{Pos: event.NoPosition}
	switch {
	case s.cfg.from != nil:
		begin = checkpoint.StartFrom(*s.scope, *s.cfg.from)
	case s.cfg.store != nil:
		found := s.load(ctx)
		if s.rec != nil {
			s.rec.Loaded(s.now(), found)
		}
		if found.Reason == event.CheckpointLoadFailed {
			return &event.ResumeError{Reason: found.Reason, Message: "the store could not be read", Cause: found.Err}
		}
		begin = checkpoint.StartAfter(*s.scope, found)
	}
	start := drive.Start(begin)
	g, err := gate.New(s.cfg.gate, start)
	if err != nil {
		return fmt.Errorf("subscription: %w", err)
	}
	if s.ses, err = drive.NewLoop(g, d, policy); err != nil {
		return fmt.Errorf("subscription: %w", err)
	}
	if s.rec != nil {
		s.rec.Started(s.now(), start, g)
	}
	return nil
}

func (s *Subscription) load(ctx context.Context) (found checkpoint.Answer) {
	if err := contain(func() { found = s.cfg.store.Load(ctx, *s.scope) }); err != nil {
		return checkpoint.LoadFailed(err)
	}
	return found
}

func (s *Subscription) launch(ctx context.Context) {
	s.timer = time.AfterFunc(time.Hour, func() {
		s.step(func(now session.Now) { s.armed = 0; s.ses.Wake(now) })
	})
	s.timer.Stop()
	s.running.Go(s.worker)
	if s.telemetry != nil {
		s.running.Go(s.tell)
	}
	s.step(func(now session.Now) { s.ses.Open(now) })
	stop := context.AfterFunc(ctx, func() {
		s.step(func(now session.Now) { s.ses.Close(now, event.Cancelled) })
	})
	go func() {
		<-s.over
		stop()
		s.reap()
	}()
}

// now reads the driver's clock. The wall clock is read only where a checkpoint is dated, see result.
func (s *Subscription) now() session.Now { return session.Now{Mono: time.Since(s.start)} }

// step gives the session one input and does what is due.
func (s *Subscription) step(input func(session.Now)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked(input)
}

func (s *Subscription) locked(input func(session.Now)) {
	now := s.now()
	input(now)
	due := s.ses.Take()
	if s.rec != nil {
		s.rec.Due(now, &due)
		s.rec.Lane(now, s.ses)
	}
	if s.telemetry != nil {
		s.telemetry.look(s, now, &due)
	}
	if due.Abort && s.workCancel != nil {
		s.workCancel()
		s.workCtx, s.workCancel = nil, nil
	}
	s.dispatch(&due)
	for _, e := range []session.Epoch{due.Hangup, due.HangupBeside} {
		if e != 0 {
			s.drop(e)
		}
	}
	if due.Forget {
		s.forget()
	}
	if due.Connect != nil {
		s.connect(*due.Connect)
	}
	if due.End != nil {
		s.drop(0)
		s.timer.Stop()
		close(s.over)
	}
	s.room.Broadcast()
	s.arm()
}

// arm sets the timer when the deadline moved earlier; a wake that comes too early is harmless, so it is left alone
// otherwise.
func (s *Subscription) arm() {
	at, ok := s.ses.Deadline()
	if !ok || s.armed != 0 && s.armed <= at {
		return
	}
	s.armed = max(at, 1)
	s.timer.Reset(at - time.Since(s.start))
}

// State is the gate's state.
func (s *Subscription) State() gate.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ses.State()
}

// Held is the accepted position; ok is false while there is none.
func (s *Subscription) Held() (gate.Held, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ses.Held()
}

// Observation is what the session shows beside the gate's state.
func (s *Subscription) Observation() session.Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ses.Observe(s.now())
}

// Lane is what a fleet-wake subscription shows now; ok is false on a wire that delivers.
func (s *Subscription) Lane() (lane drive.Lane, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return drive.LaneOf(s.ses, s.now())
}

// Contained counts panics that were caught: of the observer, of the callbacks of WithTelemetry and WithPolls, and of the clock when a
// sample or a refreshed position asked it (D-24).
func (s *Subscription) Contained() uint64 { return s.contained.Load() }

// RequireResnapshot makes the source send everything anew; see session.Require for reasons.
func (s *Subscription) RequireResnapshot(r event.Reason, detail string) {
	s.step(func(now session.Now) { s.ses.Require(now, r, detail) })
}

// Close ends the subscription and cancels what runs. It does not wait, so a consumer may call it. Closing twice is
// harmless.
func (s *Subscription) Close() {
	s.step(func(now session.Now) { s.ses.Close(now, event.Closed) })
}
