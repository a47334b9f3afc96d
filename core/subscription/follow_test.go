package subscription_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

func open(t *testing.T, w *wire, apply subscription.Apply, opts ...subscription.Option) *subscription.Subscription {
	t.Helper()
	opts = append([]subscription.Option{
		subscription.WithContext(testContext()), subscription.WithEndpoint("http://feed.example/stream"),
		subscription.WithJitter(func(int) int { return 0 }),
	}, opts...)
	s, err := subscription.Open(t.Context(), w, apply, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// closeAndWait ends s and expects that nothing was wrong with it. In a synctest bubble a goroutine that is left over fails the
// test by itself.
func closeAndWait(t *testing.T, s *subscription.Subscription) {
	t.Helper()
	s.Close()
	if err := s.Wait(); err != nil {
		t.Errorf("Wait: %v", err)
	}
}

// TestShortBreak: a lost connection is resumed from the accepted position; every event is seen once and the store holds
// the last one (D-30). A second subscription goes on from there.
func TestShortBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, got := newStore(t), &seen{}
		w := newWire(serve(transport.No, lost, 5, 6), serve(transport.Yes, stay, 7, 8))
		s := open(t, w, got.apply, subscription.WithStore(st))
		time.Sleep(time.Second)
		closeAndWait(t, s)
		if want := "[snapshot 5 upsert 6 upsert 7 upsert 8]"; got.all() != want {
			t.Errorf("seen %s, want %s", got.all(), want)
		}
		asked := w.attempts()
		if len(asked) != 2 || asked[0].Resume != event.NoPosition || asked[1].Resume != (event.Position{Seq: 6, Cursor: "c6"}) {
			t.Errorf("asked %+v", asked)
		}
		if asked[0].Query.SourceID != "incidents" || asked[0].Endpoint != "http://feed.example/stream" {
			t.Errorf("asked %+v", asked[0])
		}

		again := newWire(serve(transport.Yes, stay, 9))
		s = open(t, again, got.apply, subscription.WithStore(st))
		time.Sleep(time.Second)
		if h, ok := s.Held(); !ok || h.Pos.Cursor != "c9" || !s.State().Persisted {
			t.Errorf("held %+v, state %+v", h, s.State())
		}
		closeAndWait(t, s)
		if a := again.attempts(); a[0].Resume != (event.Position{Seq: 8, Cursor: "c8"}) {
			t.Errorf("a new start asked for %+v", a[0].Resume)
		}
	})
}

// TestInitialCheckpoint: a checkpoint that the caller hands in wins over the store and is not persisted before a save (D-09).
func TestInitialCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		from := checkpoint.Checkpoint{Context: testContext(), Resume: event.Position{Seq: 3, Cursor: "c3"}}
		st := odd{Store: newStore(t), load: func() checkpoint.Answer { t.Error("the store was asked"); return checkpoint.Answer{} }}
		s := open(t, w, (&seen{}).apply, subscription.WithStore(st), subscription.WithCheckpoint(from))
		synctest.Wait()
		if w.attempts()[0].Resume.Seq != 3 || s.State().Persisted {
			t.Errorf("asked %+v, state %+v", w.attempts(), s.State())
		}
		closeAndWait(t, s)
	})
}

// TestConsumerStandsStill: the gate fills to its bound, the transport's next call blocks, and ten minutes of that are not
// silence (D-10, D-19). Then everything arrives, once and in order.
func TestConsumerStandsStill(t *testing.T) {
	for name, c := range map[string]struct {
		opt  subscription.Option
		held int64 // events the transport could hand over while nothing was consumed
	}{
		"64 events": {subscription.WithMaxPending(64), 64},
		"3 events":  {subscription.WithMaxPending(3), 3},
		"bytes":     {subscription.WithPolicy(session.Policy{PendingBytes: 100}), 2}, // of about 60 bytes
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var handed atomic.Int64
				w := newWire(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
					connected(to, transport.No)
					for i := range 200 {
						kind := "upsert"
						if i == 0 {
							kind = "snapshot"
						}
						if err := send(to, kind, i); err != nil {
							return err
						}
						handed.Add(1)
					}
					<-ctx.Done()
					return nil
				})
				gateOpen, got := make(chan struct{}), &seen{}
				s := open(t, w, func(ctx context.Context, ev *event.Event) error {
					<-gateOpen
					return got.apply(ctx, ev)
				}, c.opt)
				time.Sleep(10 * time.Minute)
				if n := handed.Load(); n != c.held {
					t.Errorf("%d events were handed over, want %d", n, c.held)
				}
				if ob := s.Observation(); ob.Status != session.PausedByConsumer || ob.Epoch != 1 {
					t.Errorf("observation %+v", ob)
				}
				close(gateOpen)
				time.Sleep(time.Second)
				if st := s.State(); st.Accepted != 200 || st.Gaps != 0 || st.Overflows != 0 || st.Duplicates != 0 {
					t.Errorf("state %+v", st)
				}
				closeAndWait(t, s)
			})
		})
	}
}

// TestArrival: without pacing a slow consumer overflows the gate, and the session recovers by a snapshot.
func TestArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block, got := make(chan struct{}), &seen{}
		w := newWire(serve(transport.No, stay, 1, 2, 3, 4), serve(transport.No, stay, 4))
		s := open(t, w, func(ctx context.Context, ev *event.Event) error {
			if ev.Pos.Seq == 1 {
				<-block
				return ctx.Err()
			}
			return got.apply(ctx, ev)
		}, subscription.WithMaxPending(3), subscription.WithArrival())
		time.Sleep(time.Second)
		if st := s.State(); st.Overflows != 1 {
			t.Errorf("state %+v", st)
		}
		close(block)
		synctest.Wait()
		if st := s.State(); st.Phase != gate.Live || got.all() != "[snapshot 4]" {
			t.Errorf("seen %s, state %+v", got.all(), st)
		}
		closeAndWait(t, s)
	})
}

// TestGivenUpEvent: apply's context ends when the gate gave the event up, its result no longer counts, and the snapshot
// waits until it has returned.
func TestGivenUpEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gap := transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: "gap-notice"}
		w := newWire(serve(transport.No, gap, 5), serve(transport.No, stay, 7))
		var cancelled atomic.Int64
		got := &seen{}
		s := open(t, w, func(ctx context.Context, ev *event.Event) error {
			if ev.Pos.Seq == 5 {
				<-ctx.Done()
				cancelled.Add(1)
				return errors.New("too late to count")
			}
			return got.apply(ctx, ev)
		})
		time.Sleep(time.Second)
		if cancelled.Load() != 1 || got.all() != "[snapshot 7]" {
			t.Errorf("cancelled %d, seen %s", cancelled.Load(), got.all())
		}
		closeAndWait(t, s)
	})
}

// TestExpired: the record is gone when the snapshot is asked for, also if a save was running (D-31, P-GATE-06).
func TestExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		expired := transport.Signal{Kind: transport.Expired, Reason: event.CursorExpired}
		var records atomic.Int64
		w := newWire(serve(transport.No, expired, 5), func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
			records.Store(int64(st.Len()))
			if a.Resume != event.NoPosition {
				t.Errorf("the dead position was sent: %+v", a.Resume)
			}
			return hold(ctx, a, to)
		})
		slow := odd{Store: st, save: func(c checkpoint.Checkpoint) error {
			time.Sleep(3 * time.Second) // longer than the back-off
			return st.Save(context.Background(), c)
		}}
		records.Store(-1)
		s := open(t, w, (&seen{}).apply, subscription.WithStore(slow))
		time.Sleep(2 * time.Second)
		if records.Load() != -1 {
			t.Error("connected before the running save was through")
		}
		time.Sleep(2 * time.Second)
		if records.Load() != 0 {
			t.Errorf("%d records when the snapshot was asked for", records.Load())
		}
		closeAndWait(t, s)
	})
}

// TestNewSourceVersion: records carry the version that the server named (D-41).
func TestNewSourceVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saved atomic.Value
		st := odd{Store: newStore(t), save: func(c checkpoint.Checkpoint) error { saved.Store(c.Context); return nil }}
		w := newWire(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = to.Signal(transport.Signal{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: "v2", Head: 1}})
			_ = send(to, "snapshot", 1)
			<-ctx.Done()
			return nil
		})
		s := open(t, w, (&seen{}).apply, subscription.WithStore(st))
		synctest.Wait()
		if c, _ := saved.Load().(checkpoint.Context); c.SourceVersion != "v2" || s.Observation().SourceVersion != "v2" {
			t.Errorf("saved under %+v", c)
		}
		closeAndWait(t, s)
	})
}

// TestRefusedBeforeOpening: what the transport does not claim, or an option does not allow, is refused and nothing is opened
// (D-13, D-62).
func TestRefusedBeforeOpening(t *testing.T) {
	st := newStore(t)
	ctx := subscription.WithContext(testContext())
	for name, c := range map[string]struct {
		change func(*transport.Descriptor)
		opts   []subscription.Option
		want   string
	}{
		"no order":            {func(d *transport.Descriptor) { d.Order = transport.NoOrder }, nil, `order is "none"`},
		"store, no resume":    {func(d *transport.Descriptor) { d.Resume = nil }, []subscription.Option{ctx, subscription.WithStore(st)}, "never be resumed"},
		"store, no context":   {nil, []subscription.Option{subscription.WithStore(st)}, "needs a context"},
		"empty context":       {nil, []subscription.Option{subscription.WithContext(checkpoint.Context{})}, "sourceId is empty"},
		"pending":             {nil, []subscription.Option{subscription.WithMaxPending(65_537)}, "MaxPending is 65537, above its ceiling of 65536"},
		"ids":                 {nil, []subscription.Option{subscription.WithMaxIDs(4097)}, "MaxIDs is 4097, above its ceiling of 4096"},
		"save every":          {nil, []subscription.Option{subscription.WithSaveEvery(65_537)}, "SaveEvery is 65537, above its ceiling of 65536"},
		"policy":              {nil, []subscription.Option{subscription.WithPolicy(session.Policy{Horizon: 2 * time.Hour})}, "Horizon is 2h0m0s, above its ceiling of 1h0m0s"},
		"unknown option":      {nil, []subscription.Option{subscription.WithTransportOptions(map[string]string{"speed": "9"})}, "speed"},
		"store cannot load":   {nil, []subscription.Option{ctx, subscription.WithStore(odd{load: func() checkpoint.Answer { return checkpoint.LoadFailed(errDisk) }})}, "disk full"},
		"store panics":        {nil, []subscription.Option{ctx, subscription.WithStore(odd{load: func() checkpoint.Answer { panic("no disk") }})}, "no disk"},
		"no vouch, no resume": {func(d *transport.Descriptor) { d.Vouch = "maybe" }, nil, "vouch"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire()
			if c.change != nil {
				c.change(&w.d)
			}
			_, err := subscription.Open(t.Context(), w, (&seen{}).apply, c.opts...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			var claim *drive.ClaimError
			if (name == "no order" || name == "store, no resume") && !errors.As(err, &claim) {
				t.Errorf("%v is no ClaimError", err)
			}
			if len(w.attempts()) != 0 {
				t.Error("a connection was opened")
			}
		})
	}
	if _, err := subscription.Open(t.Context(), nil, (&seen{}).apply); err == nil {
		t.Error("no transport was taken")
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := subscription.Open(done, newWire(), (&seen{}).apply); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over: %v", err)
	}
}

// TestObserver: records come in order, tell the story, and a panic in the observer is contained (D-24).
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kinds []string
		var records uint64
		w := newWire(serve(transport.No, lost, 5), serve(transport.Yes, stay, 6))
		s := open(t, w, (&seen{}).apply, subscription.WithStore(newStore(t)), subscription.WithObserver(func(r trace.Record) {
			if r.Kind != trace.GateState {
				kinds = append(kinds, string(r.Actor)+" "+string(r.Kind))
			}
			records++
			panic("observer")
		}))
		time.Sleep(time.Second)
		closeAndWait(t, s)
		if s.Contained() != records {
			t.Errorf("%d panics were counted, %d happened", s.Contained(), records)
		}
		story := strings.Join(kinds, ", ")
		rest := story
		for _, want := range []string{
			"store load", "gate start", "session connect", "session signal", "gate enqueue", "gate apply", "gate applied", "gate save", "store write",
			"gate saved", "gate delivery", "session wait", "session connect", "session vouched", "gate enqueue", "gate close", "session end",
		} {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Fatalf("%q is not in its place: %s", want, story)
			}
			rest = after
		}
	})
}
