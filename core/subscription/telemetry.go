package subscription

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/session"
)

// Sample is what WithTelemetry hands out.
type Sample = drive.Sample

// MaxSamples is how many samples may wait for their reader. Delivery never waits for it: when more would, the oldest are
// dropped and counted in Sample.Missed, so that the newest counts and the end always arrive. It is enough for a reader
// that stands still over a burst of four full gates; a sample that waits takes about 300 bytes.
const MaxSamples = 256

// CeilingStaleAfter is the largest WithStaleAfter: no shipped store keeps a position that is older (facts 4.2).
const CeilingStaleAfter = 24 * time.Hour

// WithTelemetry hands f a redacted sample after each attempt to connect, decided event, heartbeat, scheduled reconnect, and
// after the end; see Sample, and docs/telemetry.md for its JSON form. It needs a context.
//
// f is called for one sample at a time, in the order of what happened, on a goroutine of its own and with no lock held: it
// may call the subscription, but for Wait. It holds up nothing but the return of Wait; while it is slow at most MaxSamples
// samples wait for it, and heartbeats in a row count as one. A panic in it is contained and counted (D-24, Contained). A
// sample's checkpoint is that of the moment, so every position that the store is given has a sample that Tie confirms,
// unless samples were missed.
func WithTelemetry(f func(Sample)) Option { return func(c *config) { c.telemetry = f } }

// WithStaleAfter makes a live sample's authority stale when its last accepted event is older than d by the clock of
// WithClock: 1 ms to 24 h, whole milliseconds; without it, nothing is ever stale (facts 3.3). It changes samples only.
func WithStaleAfter(d time.Duration) Option { return func(c *config) { c.staleAfter = &d } }

func (c *config) checkTelemetry() error {
	if c.telemetry != nil && c.scope == nil {
		return errors.New("subscription: telemetry needs a context (WithContext)")
	}
	if c.staleAfter == nil {
		return nil
	}
	switch d := *c.staleAfter; {
	case d < time.Millisecond || d%time.Millisecond != 0:
		return fmt.Errorf("subscription: StaleAfter is %v, not a whole number of milliseconds above 0", d)
	case d > CeilingStaleAfter:
		return fmt.Errorf("subscription: StaleAfter is %v, above its ceiling of %v", d, CeilingStaleAfter)
	}
	return nil
}

// telemetry takes moments under the subscription's lock and makes samples of them outside of it.
type telemetry struct {
	sampler drive.Sampler // guarded by Subscription.mu, as is heard
	heard   drive.Input   // what the next input is

	mu      sync.Mutex
	ring    [MaxSamples]drive.Moment
	head, n int
	missed  uint64
	over    bool          // the last moment was taken
	wake    chan struct{} // full while somebody should look into the ring
}

// hear says what the input is that the session is about to get. Without telemetry it does nothing.
func (t *telemetry) hear(in drive.Input) {
	if t != nil {
		t.heard = in
	}
}

// look takes what the session shows after an input. The subscription's lock is held.
func (t *telemetry) look(s *Subscription, now session.Now, due *session.Due) {
	moments := t.sampler.After(s.ses, s.scope, now, due, t.heard)
	t.heard = drive.AnyInput
	if len(moments) == 0 {
		return
	}
	t.mu.Lock()
	for i := range moments {
		t.push(&moments[i])
	}
	t.over = due.End != nil
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *telemetry) push(m *drive.Moment) {
	if t.n > 0 && m.After == drive.AfterHeartbeat {
		if last := &t.ring[(t.head+t.n-1)%MaxSamples]; last.After == drive.AfterHeartbeat {
			*last = *m // a flood of heartbeats must not push out what matters
			return
		}
	}
	if t.n == MaxSamples {
		t.head, t.n = (t.head+1)%MaxSamples, t.n-1
		t.missed++
	}
	t.ring[(t.head+t.n)%MaxSamples] = *m
	t.n++
}

// next waits for the oldest moment; ok is false when there will be none.
func (t *telemetry) next() (m drive.Moment, missed uint64, ok bool) {
	for {
		t.mu.Lock()
		missed, over := t.missed, t.over
		if t.n > 0 {
			m, t.ring[t.head] = t.ring[t.head], drive.Moment{}
			t.head, t.n = (t.head+1)%MaxSamples, t.n-1
			t.mu.Unlock()
			return m, missed, true
		}
		t.mu.Unlock()
		if over {
			return m, missed, false
		}
		<-t.wake
	}
}

// tell hands out samples until the last one. A callback that panics or ends its goroutine costs this one only.
func (s *Subscription) tell() {
	through := false
	defer func() {
		if !through {
			_ = recover()
			s.contained.Add(1)
			s.running.Go(s.tell)
		}
	}()
	for {
		m, missed, ok := s.telemetry.next()
		if !ok {
			through = true
			return
		}
		sample := m.Sample(s.clock(m.Mono))
		sample.Missed = missed
		s.cfg.telemetry(sample)
	}
}

// clock is the wall clock at mono. The clock may be the caller's, so it is read here, where no lock is held and nobody
// waits; one that panics knows no time.
func (s *Subscription) clock(mono time.Duration) (at checkpoint.Clock) {
	if d := s.cfg.staleAfter; d != nil {
		at.Bounded, at.StaleAfter = true, d.Milliseconds()
	}
	wall, err := s.wall()
	if err != nil {
		s.contained.Add(1)
		return at
	}
	if at.NowKnown = checkpoint.ValidTime(wall); at.NowKnown {
		at.Now = wall - (time.Since(s.start) - mono).Milliseconds()
	}
	return at
}
