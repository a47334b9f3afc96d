package subscription_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// TestCandidate: the consumer gets the very checkpoint that is saved after it, dated before it.
func TestCandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := odd{Store: newStore(t)}
		var offered []checkpoint.Checkpoint
		saves := 0
		st.save = func(c checkpoint.Checkpoint) error {
			saves++
			last := offered[len(offered)-1]
			if c.Context != last.Context || c.Resume != last.Resume || fmt.Sprint(c.RecentIDs) != fmt.Sprint(last.RecentIDs) {
				t.Errorf("saved %+v, offered %+v", c, last)
			}
			if c.SavedAt != last.SavedAt+1000 {
				t.Errorf("saved at %d, offered at %d: the consumer took a second", c.SavedAt, last.SavedAt)
			}
			return nil
		}
		apply := func(ctx context.Context, ev *event.Event) error {
			c, ok := subscription.Candidate(ctx)
			if !ok || c.Resume.Seq != ev.Pos.Seq || c.Context.SourceVersion != "v1" || c.SavedAt != time.Now().UnixMilli() {
				t.Errorf("event %d: %v %+v", ev.Pos.Seq, ok, c)
			}
			offered = append(offered, c)
			time.Sleep(time.Second)
			return nil
		}
		w := newWire(func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
			connected(to, transport.No)
			for _, doc := range []string{
				`{"type":"snapshot","sequence":5,"eventId":"e5","watermark":"w5","features":[]}`,
				`{"type":"upsert","sequence":6,"eventId":"e6","cursor":"c6","feature":{}}`,
				`{"type":"upsert","sequence":7,"feature":{}}`,
				`{"type":"snapshot","sequence":9,"eventId":"e9","features":[]}`,
			} {
				if err := to.Document(transport.Document{JSON: []byte(doc)}); err != nil {
					return err
				}
			}
			<-ctx.Done()
			return nil
		})
		s := open(t, w, apply, subscription.WithStore(st), subscription.WithCandidates(), subscription.WithSavedIDs())
		time.Sleep(time.Minute)
		closeAndWait(t, s)
		if saves != 4 || len(offered) != 4 {
			t.Fatalf("%d saves, %d candidates", saves, len(offered))
		}
		if p := offered[2].Resume; p.Cursor != "c6" || p.Watermark != "w5" || fmt.Sprint(offered[2].RecentIDs) != "[e5 e6]" {
			t.Errorf("a delta keeps what it does not carry (D-03): %+v", offered[2])
		}
		if p := offered[3].Resume; p.Cursor != "" || fmt.Sprint(offered[3].RecentIDs) != "[e9]" {
			t.Errorf("a snapshot carries its own positions only (D-03): %+v", offered[3])
		}
	})
}

// TestNoCandidate: without the option there is none; with it a context is needed.
func TestNoCandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		s := open(t, newWire(serve(transport.No, stay, 5)), func(ctx context.Context, _ *event.Event) error {
			calls.Add(1)
			if _, ok := subscription.Candidate(ctx); ok {
				t.Error("a candidate that nobody asked for")
			}
			return nil
		})
		synctest.Wait()
		closeAndWait(t, s)
		if calls.Load() != 1 {
			t.Errorf("%d calls", calls.Load())
		}
	})
	if _, err := subscription.Open(t.Context(), newWire(), (&seen{}).apply, subscription.WithCandidates()); err == nil {
		t.Error("candidates without a context")
	}
}

// TestCandidateClockFails: a clock that fails before the consumer is called ends the subscription as one after it does, and
// the consumer has not seen the event (D-24).
func TestCandidateClockFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &seen{}
		s := open(t, newWire(serve(transport.No, stay, 5)), got.apply, subscription.WithCandidates(),
			subscription.WithClock(func() int64 { panic("no clock") }))
		ended(t, s, session.Failed, event.DeliveryFailed)
		if _, ok := s.Held(); ok || got.all() != "[]" {
			t.Errorf("seen %s", got.all())
		}
	})
}

// TestForgetWaitsForConsumer: a position that the server calls expired while the consumer is about to keep it goes after
// that, or the dead record would be back.
func TestForgetWaitsForConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := odd{Store: newStore(t)}
		var busy, forgot atomic.Bool
		st.forget = func(context.Context) error {
			forgot.Store(true)
			if busy.Load() {
				t.Error("forgot while the consumer kept")
			}
			return nil
		}
		apply := func(context.Context, *event.Event) error { // deaf: it goes on though it was given up
			busy.Store(true)
			defer busy.Store(false)
			time.Sleep(5 * time.Second)
			return nil
		}
		w := newWire(serve(transport.No, transport.Signal{Kind: transport.Expired, Reason: event.CursorExpired}, 5), serve(transport.No, stay))
		s := open(t, w, apply, subscription.WithStore(st), subscription.WithCandidates())
		time.Sleep(time.Minute)
		if !forgot.Load() || len(w.attempts()) < 2 {
			t.Errorf("forgot %v, %d attempts", forgot.Load(), len(w.attempts()))
		}
		closeAndWait(t, s)
	})
}
