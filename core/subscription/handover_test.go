package subscription_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// soon is a server's notice that it will close.
func soon(to transport.Sink) error {
	return to.Signal(transport.Signal{Kind: transport.Answered, Answer: transport.Answer{Head: event.NoSeq, ClosingSoon: true}})
}

// TestHandOver: a server says that it will close. The second connection opens beside the first, both count until it goes on, then the
// first is hung up; nothing is lost and nothing is seen twice (D-36).
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, hungUp := &seen{}, make(chan struct{})
		w := newWire(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			connected(to, transport.No)
			_ = send(to, "snapshot", 5)
			time.Sleep(time.Second)
			_ = soon(to)
			time.Sleep(time.Second) // the second connection is open and says nothing yet
			_ = send(to, "upsert", 6)
			<-ctx.Done()
			close(hungUp)
			if err := send(to, "upsert", 9); err == nil {
				t.Error("the old connection was heard after it was hung up")
			}
			return nil
		}, func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
			if a.Resume != (event.Position{Seq: 5, Cursor: "c5"}) {
				t.Errorf("the second one asked for %+v", a.Resume)
			}
			_ = to.Signal(transport.Signal{Kind: transport.Open})
			time.Sleep(2 * time.Second)
			select {
			case <-hungUp:
				t.Error("the first one is hung up before the second one goes on")
			default:
			}
			connected(to, transport.Yes)
			time.Sleep(time.Millisecond)
			select {
			case <-hungUp:
			default:
				t.Error("the first one is still open")
			}
			_ = send(to, "upsert", 6) // both brought it
			_ = send(to, "upsert", 7)
			<-ctx.Done()
			return nil
		})
		s := open(t, w, got.apply)
		time.Sleep(2500 * time.Millisecond)
		if ob := s.Observation(); ob.Epoch != 1 || ob.Beside != 2 {
			t.Errorf("observation %+v", ob)
		}
		time.Sleep(10 * time.Second)
		if st := s.State(); got.all() != "[snapshot 5 upsert 6 upsert 7]" || st.Duplicates != 1 || st.Gaps != 0 {
			t.Errorf("seen %s, state %+v", got.all(), st)
		}
		if len(w.attempts()) != 2 || w.atOnce() != 2 || s.Observation().Epoch != 2 {
			t.Errorf("%d connections, %d at once, observation %+v", len(w.attempts()), w.atOnce(), s.Observation())
		}
		closeAndWait(t, s)
	})
}

// TestHandOverFails: whatever becomes of the second connection, the first one stays; a crash of it costs nothing.
func TestHandOverFails(t *testing.T) {
	for name, second := range map[string]play{
		"refused": func(_ context.Context, _ transport.Attempt, to transport.Sink) error {
			return to.Signal(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Status: 404})
		},
		"crashed": func(context.Context, transport.Attempt, transport.Sink) error { panic("broken") },
		"silent":  hold,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := &seen{}
				w := newWire(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
					connected(to, transport.No)
					_ = send(to, "snapshot", 5)
					time.Sleep(time.Second)
					_ = soon(to)
					time.Sleep(30 * time.Second)
					_ = send(to, "upsert", 6)
					<-ctx.Done()
					return nil
				}, second)
				s := open(t, w, got.apply)
				time.Sleep(time.Minute)
				if got.all() != "[snapshot 5 upsert 6]" || len(w.attempts()) != 2 || s.Observation().Epoch != 1 {
					t.Errorf("seen %s over %d connections, observation %+v", got.all(), len(w.attempts()), s.Observation())
				}
				closeAndWait(t, s)
			})
		})
	}
}

// TestHandOverEnds: the end of the subscription closes both.
func TestHandOverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
			connected(to, transport.No)
			_ = send(to, "snapshot", 5)
			time.Sleep(time.Second)
			_ = soon(to)
			<-ctx.Done()
			return nil
		})
		s := open(t, w, (&seen{}).apply)
		time.Sleep(2 * time.Second)
		if w.atOnce() != 2 {
			t.Errorf("%d connections at once", w.atOnce())
		}
		closeAndWait(t, s)
	})
}

// TestStopBehindBurst: a server that has nothing more to say closes right behind its last events. They are delivered and kept before
// the subscription ends.
func TestStopBehindBurst(t *testing.T) {
	burst := func(events ...int) play {
		return func(_ context.Context, _ transport.Attempt, to transport.Sink) error {
			connected(to, transport.No)
			for i, seq := range events {
				kind := map[bool]string{true: "snapshot", false: "upsert"}[i == 0]
				if err := send(to, kind, seq); err != nil {
					return err
				}
			}
			return to.Signal(stop)
		}
	}
	slow := func(got *seen) subscription.Apply {
		return func(ctx context.Context, ev *event.Event) error {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return ctx.Err()
			}
			return got.apply(ctx, ev)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		st, got := newStore(t), &seen{}
		s := open(t, newWire(burst(5, 6, 7, 8)), slow(got), subscription.WithStore(st))
		if err := s.Wait(); err != nil {
			t.Errorf("Wait: %v", err)
		}
		found := st.Load(t.Context(), testContext())
		if got.all() != "[snapshot 5 upsert 6 upsert 7 upsert 8]" || found.Checkpoint.Resume.Seq != 8 {
			t.Errorf("seen %s, stored %+v", got.all(), found)
		}
	})
	synctest.Test(t, func(t *testing.T) { // something in it is missing, and nobody will bring it: that is no good end
		got := &seen{}
		s := open(t, newWire(burst(5, 6, 8)), slow(got))
		if end := ended(t, s, session.ServerStop, event.SequenceGap); !strings.Contains(end.Error(), "server-stop (204): sequence-gap") {
			t.Errorf("%v", end)
		}
		if got.all() != "[snapshot 5 upsert 6]" {
			t.Errorf("seen %s", got.all())
		}
	})
	synctest.Test(t, func(t *testing.T) { // who closes does not wait for the rest
		got := &seen{}
		s := open(t, newWire(burst(5, 6, 7, 8)), slow(got))
		time.Sleep(90 * time.Second)
		closeAndWait(t, s)
		if got.all() != "[snapshot 5]" {
			t.Errorf("seen %s", got.all())
		}
	})
}
