package subscription_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// told collects samples.
type told struct {
	mu   sync.Mutex
	list []subscription.Sample
}

func (l *told) take(s subscription.Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, s)
}

func (l *told) all() []subscription.Sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]subscription.Sample(nil), l.list...)
}

// story is what the samples follow, with the sequence that each shows.
func (l *told) story() string {
	var out []string
	for _, s := range l.all() {
		at := "-"
		if s.Checkpoint != nil {
			at = fmt.Sprint(s.Checkpoint.Resume.Seq)
		}
		out = append(out, string(s.After)+" "+at)
	}
	return strings.Join(out, ", ")
}

func (l *told) last(t *testing.T) subscription.Sample {
	t.Helper()
	all := l.all()
	if len(all) == 0 {
		t.Fatal("no sample")
	}
	return all[len(all)-1]
}

// TestTelemetryStory: a sample follows each attempt, result, heartbeat, scheduled reconnect and the end, in the order of
// what happened (facts 5.6), and a new start shows at once what was stored.
func TestTelemetryStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, got := newStore(t), &told{}
		beat := func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
			connected(to, transport.Yes)
			_ = to.Signal(transport.Signal{Kind: transport.Heartbeat})
			time.Sleep(time.Millisecond)
			_ = send(to, "upsert", 6) // again
			time.Sleep(time.Millisecond)
			_ = send(to, "upsert", 9)
			<-ctx.Done()
			return nil
		}
		w := newWire(serve(transport.No, lost, 5, 6), beat, serve(transport.No, stay, 20))
		s := open(t, w, (&seen{}).apply, subscription.WithStore(st), subscription.WithTelemetry(got.take))
		time.Sleep(10 * time.Second)
		closeAndWait(t, s)
		want := "subscribe -, result 5, result 6, reconnect 6, subscribe 6, heartbeat 6, result 6, result 6, reconnect 6, " +
			"subscribe 6, result 20, stop 20"
		if got.story() != want {
			t.Fatalf("told:\n%s\nwant:\n%s", got.story(), want)
		}
		all := got.all()
		for i, c := range map[int]subscription.Sample{
			0:  {Phase: gate.AwaitingSnapshot},
			2:  {Phase: gate.Live, Observation: session.Fresh, Accepted: 2, Persisted: true},
			3:  {Phase: gate.Live, Observation: session.Fresh, Accepted: 2, Persisted: true, ReconnectAttempt: 1},
			6:  {Phase: gate.Live, Observation: session.Fresh, Accepted: 2, Persisted: true, ReconnectAttempt: 1, Duplicates: 1},
			8:  {Phase: gate.ResnapshotRequired, Reason: event.SequenceGap, Observation: session.Fresh, Accepted: 2, Persisted: true, ReconnectAttempt: 2, Duplicates: 1, Gaps: 1},
			11: {Phase: gate.Shut, Reason: event.Closed, Ending: session.ByCaller, Observation: session.Fresh, Accepted: 3, Persisted: true, ReconnectAttempt: 2, Duplicates: 1, Gaps: 1},
		} {
			have := all[i]
			have.After, have.Authority, have.Checkpoint = "", checkpoint.Authority{}, nil
			if !reflect.DeepEqual(have, c) {
				t.Errorf("sample %d:\n%+v\nwant:\n%+v", i, have, c)
			}
		}

		again := &told{}
		s = open(t, newWire(), (&seen{}).apply, subscription.WithStore(st), subscription.WithTelemetry(again.take))
		synctest.Wait()
		if first := again.last(t); again.story() != "subscribe 20" || first.Authority.State != checkpoint.Replaying || !first.Persisted {
			t.Errorf("a new start told %s: %+v", again.story(), first)
		}
		closeAndWait(t, s)
	})
}

// TestTelemetryEnd: the last sample says how it ended, is there when Wait returns, and nothing follows it, also not when a
// consumer that was given up returns.
func TestTelemetryEnd(t *testing.T) {
	refused := transport.Signal{Kind: transport.Refused, Cause: transport.Unauthorized, Status: 403}
	for name, c := range map[string]struct {
		wire   *wire
		apply  subscription.Apply
		after  drive.After
		ending session.Cause
		phase  gate.Phase
		held   bool
	}{
		"caller":   {newWire(serve(transport.No, stay, 5)), nil, drive.AfterStop, session.ByCaller, gate.Shut, true},
		"server":   {newWire(serve(transport.No, stop, 5)), nil, drive.AfterStop, session.ServerStop, gate.Shut, true},
		"refused":  {newWire(serve(transport.No, refused)), nil, drive.AfterFailure, session.Refused, gate.Shut, false},
		"consumer": {newWire(serve(transport.No, stay, 5)), func(context.Context, *event.Event) error { return errDisk }, drive.AfterFailure, session.Failed, gate.Failed, false},
		"slow": {newWire(serve(transport.No, stay, 5)), func(ctx context.Context, _ *event.Event) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil
		}, drive.AfterStop, session.ByCaller, gate.Shut, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.apply == nil {
					c.apply = (&seen{}).apply
				}
				got := &told{}
				s := open(t, c.wire, c.apply, subscription.WithTelemetry(got.take))
				time.Sleep(time.Second)
				s.Close()
				_ = s.Wait()
				end := got.last(t)
				if end.After != c.after || end.Ending != c.ending || end.Phase != c.phase || (end.Checkpoint != nil) != c.held {
					t.Errorf("%+v", end)
				}
				if end.Authority.State != checkpoint.Terminal || end.Authority.Authoritative != c.held {
					t.Errorf("authority %+v", end.Authority)
				}
				for _, before := range got.all()[:len(got.all())-1] {
					if before.Ending != session.NotEnded || before.After == drive.AfterStop || before.After == drive.AfterFailure {
						t.Errorf("%+v is not the last one", before)
					}
				}
			})
		})
	}
}

// TestTelemetryAuthority: a live subscription's authority turns stale with the age of what it holds, by the clock of the
// moment that a sample is of, however late it is made (facts 3.3).
func TestTelemetryAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, hold := &told{}, make(chan struct{})
		beats := func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
			connected(to, transport.No)
			_ = send(to, "snapshot", 5)
			for _, after := range []time.Duration{60_000, 1, 10_000} { // ms
				time.Sleep(after * time.Millisecond)
				_ = to.Signal(transport.Signal{Kind: transport.Heartbeat})
				synctest.Wait()
			}
			<-ctx.Done()
			return nil
		}
		s := open(t, newWire(beats), (&seen{}).apply, subscription.WithStaleAfter(time.Minute),
			subscription.WithTelemetry(func(m subscription.Sample) {
				got.take(m)
				if m.Authority.State == checkpoint.Stale {
					<-hold
				}
			}))
		time.Sleep(time.Hour) // the reader stands still from the second heartbeat on
		close(hold)
		synctest.Wait()
		var ages []string
		for _, m := range got.all() {
			if m.After == drive.AfterHeartbeat {
				ages = append(ages, fmt.Sprint(m.Authority.State, m.Authority.AgeMs))
			}
		}
		if want := "[live60000 stale60001 stale70001]"; fmt.Sprint(ages) != want {
			t.Errorf("ages %v, want %v", ages, want)
		}
		closeAndWait(t, s)
	})
}

// TestTelemetryContained: a callback that panics or ends its goroutine costs nothing but that sample, and is counted
// (D-24). So is a clock that fails when a sample asks it: the age is then unknown.
func TestTelemetryContained(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("telemetry") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, events := &told{}, &seen{}
				s := open(t, newWire(serve(transport.No, stay, 5, 6)), events.apply, subscription.WithTelemetry(func(m subscription.Sample) {
					got.take(m)
					fail()
				}))
				time.Sleep(time.Second)
				closeAndWait(t, s)
				if want := "subscribe -, result 5, result 6, stop 6"; got.story() != want || s.Contained() != 4 {
					t.Errorf("told %s, contained %d", got.story(), s.Contained())
				}
				if events.all() != "[snapshot 5 upsert 6]" {
					t.Errorf("seen %s", events.all())
				}
			})
		})
	}
	t.Run("clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			got, asked := &told{}, 0
			later := func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
				time.Sleep(time.Second)
				return serve(transport.No, stay, 5)(ctx, a, to)
			}
			s := open(t, newWire(later), (&seen{}).apply, subscription.WithTelemetry(got.take),
				subscription.WithClock(func() int64 {
					if asked++; asked != 2 { // the second one dates the event
						panic("no clock")
					}
					return 1000
				}))
			time.Sleep(2 * time.Second)
			if m := got.last(t); m.Checkpoint == nil || m.Checkpoint.SavedAt != 1000 || m.Authority.AgeKnown || m.Authority.State != checkpoint.LiveState {
				t.Errorf("%+v", m)
			}
			closeAndWait(t, s)
			if s.Contained() != 3 {
				t.Errorf("contained %d", s.Contained())
			}
		})
	})
}

// TestTelemetryReaderStandsStill: delivery goes on, at most MaxSamples wait, the oldest are dropped and counted, heartbeats
// in a row count as one, and the end arrives.
func TestTelemetryReaderStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events, beats = subscription.MaxSamples + 50, 10_000
		got, hold := &told{}, make(chan struct{})
		w := newWire(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			connected(to, transport.No)
			_ = send(to, "snapshot", 1)
			for seq := 2; seq <= events; seq++ {
				_ = send(to, "upsert", seq)
			}
			synctest.Wait()
			for range beats {
				_ = to.Signal(transport.Signal{Kind: transport.Heartbeat})
			}
			<-ctx.Done()
			return nil
		})
		s := open(t, w, (&seen{}).apply, subscription.WithStore(newStore(t)), subscription.WithTelemetry(func(m subscription.Sample) {
			if m.After == drive.AfterSubscribe {
				<-hold
			}
			got.take(m)
		}))
		time.Sleep(time.Second)
		if st := s.State(); st.Accepted != events {
			t.Fatalf("%d events were accepted while the reader stood still, want %d", st.Accepted, events)
		}
		s.Close()
		close(hold)
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
		all := got.all()
		if len(all) != 1+subscription.MaxSamples {
			t.Fatalf("%d samples", len(all))
		}
		const dropped = events + 2 - subscription.MaxSamples // the heartbeats and the end took a place
		if first := all[1]; first.Missed != dropped || first.Accepted != dropped+1 {
			t.Errorf("after the wait: %+v", first)
		}
		if end, beat := all[len(all)-1], all[len(all)-2]; end.After != drive.AfterStop || end.Missed != dropped || beat.After != drive.AfterHeartbeat {
			t.Errorf("at the end: %+v, before it %+v", end, beat)
		}
	})
}

// TestTelemetryMayCall: the callback holds no lock, so it may ask the subscription and end it. One that never returns does
// not hang Wait.
func TestTelemetryMayCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *subscription.Subscription
		ready := make(chan struct{})
		hold := make(chan struct{})
		s = open(t, newWire(serve(transport.No, stay, 5)), (&seen{}).apply, subscription.WithTelemetry(func(m subscription.Sample) {
			<-ready
			if h, ok := s.Held(); m.After == drive.AfterResult && (!ok || h.Pos.Seq != 5 || s.State().Accepted != 1) {
				t.Errorf("held %+v", h)
			}
			s.Close()
			<-hold
		}))
		synctest.Wait()
		close(ready)
		if err := s.Wait(); !errors.Is(err, subscription.ErrStuck) {
			t.Errorf("Wait: %v", err)
		}
		close(hold)
	})
}

// TestTelemetryOptions: what cannot work is refused before anything is opened (D-13).
func TestTelemetryOptions(t *testing.T) {
	listen := subscription.WithTelemetry(func(subscription.Sample) {})
	scope := subscription.WithContext(testContext())
	for want, opts := range map[string][]subscription.Option{
		"telemetry needs a context":                               {listen},
		"StaleAfter is 24h0m0.001s, above its ceiling of 24h0m0s": {scope, subscription.WithStaleAfter(subscription.CeilingStaleAfter + time.Millisecond)},
		"StaleAfter is 0s, not":                                   {scope, subscription.WithStaleAfter(0)},
		"StaleAfter is -1s, not":                                  {scope, subscription.WithStaleAfter(-time.Second)},
		"StaleAfter is 1.5ms, not":                                {scope, subscription.WithStaleAfter(1500 * time.Microsecond)},
	} {
		w := newWire()
		if _, err := subscription.Open(t.Context(), w, (&seen{}).apply, opts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if len(w.attempts()) != 0 {
			t.Error("a connection was opened")
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newWire(), (&seen{}).apply, listen, subscription.WithStaleAfter(subscription.CeilingStaleAfter))
		closeAndWait(t, s)
	})
}

// line is the JSON form of a sample.
func line(t *testing.T, s subscription.Sample) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
