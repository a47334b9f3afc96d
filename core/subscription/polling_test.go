package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// newPoller is a wire whose transport polls: it keeps its own loop and names its position by a delta token.
func newPoller(plays ...play) *wire {
	w := newWire(plays...)
	w.d.Freshness, w.d.Resume, w.d.Vouch = transport.Poll, []transport.Mode{transport.ByDeltaToken}, transport.VouchImplicit
	return w
}

// round offers what one cycle brought, and reports it.
func round(to transport.Sink, kind string, seq int) error {
	err := to.Document(transport.Document{JSON: fmt.Appendf(nil, `{"type":%q,"sequence":%d,"features":[],"deltaToken":"t%d"}`, kind, seq, seq)})
	if err != nil {
		return err
	}
	return polled(to, seq, true)
}

func polled(to transport.Sink, seq int, changed bool) error {
	report := transport.PollReport{Interval: time.Minute, Next: time.Minute, Seq: event.Seq(seq), Changed: changed}
	if changed {
		report.Upserts = 1
	}
	return to.Signal(transport.Signal{Kind: transport.Polled, Poll: &report})
}

// refreshed is a poll without changes behind which the source is named anew.
func refreshed(to transport.Sink, seq int, token string) error {
	if err := to.Signal(transport.Signal{Kind: transport.Refreshed, Position: event.Position{Seq: event.Seq(seq), DeltaToken: token}}); err != nil {
		return err
	}
	return polled(to, seq, false)
}

// rest waits d, or for the end of ctx.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// TestPolls: a source that is polled for an hour is opened once. Its rounds reach consumer and store, an unchanged poll refreshes what
// is stored without a word to the consumer and whatever SaveEvery says (D-28), every poll is handed out, and every stored position has its sample.
func TestPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, got, shown := newCapture(newStore(t)), &seen{}, &told{}
		w := newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = to.Signal(transport.Signal{Kind: transport.Open})
			_ = round(to, "snapshot", 5)
			_ = rest(ctx, 10*time.Minute)
			_ = polled(to, 5, false)
			_ = rest(ctx, 10*time.Minute)
			_ = refreshed(to, 5, "t5b")
			_ = rest(ctx, 10*time.Minute)
			_ = round(to, "delta", 6)
			<-ctx.Done()
			return nil
		})
		var reports []string
		s := open(t, w, got.apply, subscription.WithStore(st), subscription.WithSaveEvery(3), subscription.WithTelemetry(shown.take), subscription.WithPolls(func(p transport.PollReport) {
			reports = append(reports, fmt.Sprintf("%d %v %v %d", p.Seq, p.Next, p.Changed, p.Upserts))
		}))
		began := time.Now()
		time.Sleep(time.Hour)
		closeAndWait(t, s)
		if got.all() != "[snapshot 5 delta 6]" || len(w.attempts()) != 1 || w.atOnce() != 1 {
			t.Errorf("seen %s over %d connections", got.all(), len(w.attempts()))
		}
		if want := "[5 1m0s true 1 5 1m0s false 0 5 1m0s false 0 6 1m0s true 1]"; fmt.Sprint(reports) != want {
			t.Errorf("polls %v, want %s", reports, want)
		}
		var saved []string
		for _, c := range st.all() {
			saved = append(saved, fmt.Sprintf("%d/%s after %v", c.Resume.Seq, c.Resume.DeltaToken, time.UnixMilli(c.SavedAt).Sub(began).Round(time.Minute)))
			if tied(shown.all(), &c) == 0 {
				t.Errorf("no sample is tied to %+v", c)
			}
		}
		if want := "[5/t5 after 0s 5/t5b after 20m0s 6/t6 after 30m0s]"; fmt.Sprint(saved) != want {
			t.Errorf("saved %v, want %s", saved, want)
		}
		if s := s.State(); s.Accepted != 2 || s.Duplicates != 0 || s.Gaps != 0 {
			t.Errorf("state %+v", s)
		}
	})
}

// TestPollResumes: a new start goes on from the refreshed token, however long the source has been quiet.
func TestPollResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		w := newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = round(to, "snapshot", 5)
			for i := range 60 { // the store keeps a record for a day and drops an older one
				_ = rest(ctx, time.Hour)
				_ = refreshed(to, 5, fmt.Sprintf("t5-%d", i))
			}
			<-ctx.Done()
			return nil
		})
		s := open(t, w, (&seen{}).apply, subscription.WithStore(st))
		time.Sleep(60*time.Hour + time.Minute)
		closeAndWait(t, s)
		again := newPoller()
		s = open(t, again, (&seen{}).apply, subscription.WithStore(st))
		synctest.Wait()
		if a := again.attempts(); a[0].Resume != (event.Position{Seq: 5, DeltaToken: "t5-59"}) {
			t.Errorf("asked for %+v", a[0].Resume)
		}
		closeAndWait(t, s)
	})
}

// TestPollUnreachable: a transport that is still trying to reach its service is not cut short by the 15 s that a connection has (D-39), nor
// by the horizon; meanwhile nothing is confirmed.
func TestPollUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			if err := rest(ctx, 2*time.Minute); err != nil {
				return err
			}
			_ = round(to, "snapshot", 5)
			<-ctx.Done()
			return nil
		})
		s := open(t, w, (&seen{}).apply)
		time.Sleep(119 * time.Second)
		if ob := s.Observation(); ob.Status != session.Unconfirmed || ob.Ending != nil {
			t.Errorf("before the first answer: %+v", ob)
		}
		time.Sleep(2 * time.Second)
		if h, ok := s.Held(); !ok || h.Pos.Seq != 5 || s.Observation().Status != session.Fresh || len(w.attempts()) != 1 {
			t.Errorf("held %+v %v, %+v, %d attempts", h, ok, s.Observation(), len(w.attempts()))
		}
		closeAndWait(t, s)
	})
}

// TestPollExpires: the transport begins anew by itself, in the same Open, and is held until the dead position has left the store, also
// while a save of it runs (D-31).
func TestPollExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, got := newStore(t), &seen{}
		slow := odd{Store: st, save: func(c checkpoint.Checkpoint) error {
			time.Sleep(3 * time.Second)
			return st.Save(context.Background(), c)
		}}
		w := newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = round(to, "snapshot", 9)
			_ = rest(ctx, time.Second) // its save runs
			began := time.Now()
			_ = to.Signal(transport.Signal{Kind: transport.Recovering, Reason: event.CursorExpired, Detail: "410"})
			if n := st.Len(); n != 0 || time.Since(began) != 2*time.Second {
				t.Errorf("%d records when the snapshot is asked for, after %v", n, time.Since(began))
			}
			_ = round(to, "snapshot", 4)
			<-ctx.Done()
			return nil
		})
		s := open(t, w, got.apply, subscription.WithStore(slow))
		time.Sleep(time.Minute)
		if got.all() != "[snapshot 9 snapshot 4]" || len(w.attempts()) != 1 || st.Len() != 1 {
			t.Errorf("seen %s over %d connections, %d records", got.all(), len(w.attempts()), st.Len())
		}
		if h, _ := s.Held(); h.Pos.Seq != 4 || !s.State().Persisted {
			t.Errorf("held %+v", h)
		}
		closeAndWait(t, s)
	})
}

// TestPollClosedWhileForgetting: a transport that waits for the store lets go when it is hung up.
func TestPollClosedWhileForgetting(t *testing.T) {
	for name, wait := range map[string]func(stuck chan struct{}) odd{
		"a save": func(stuck chan struct{}) odd {
			return odd{save: func(checkpoint.Checkpoint) error { <-stuck; return nil }}
		},
		"a forget": func(stuck chan struct{}) odd {
			return odd{forget: func(ctx context.Context) error { <-stuck; return nil }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck, returned := make(chan struct{}), atomic.Bool{}
				st := wait(stuck)
				st.Store = newStore(t)
				w := newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
					_ = round(to, "snapshot", 9)
					_ = rest(ctx, time.Second)
					_ = to.Signal(transport.Signal{Kind: transport.Recovering, Reason: event.CursorExpired})
					returned.Store(true)
					return to.Document(transport.Document{JSON: []byte(`{"type":"snapshot","sequence":1,"features":[]}`)})
				})
				s := open(t, w, (&seen{}).apply, subscription.WithStore(st))
				time.Sleep(2 * time.Second)
				if returned.Load() {
					t.Error("the snapshot was asked for before the store had forgotten")
				}
				s.Close()
				synctest.Wait()
				if !returned.Load() {
					t.Error("the transport is held after the end")
				}
				close(stuck)
				if err := s.Wait(); err != nil {
					t.Errorf("Wait: %v", err)
				}
			})
		})
	}
}

// TestPollGap: the gate finds a gap that the transport does not see. The transport is opened anew without a position, one at a time,
// and not for ever.
func TestPollGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gapped := func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = round(to, "snapshot", 5)
			_ = round(to, "delta", 7)
			<-ctx.Done()
			return nil
		}
		got := &seen{}
		w := newPoller(gapped, gapped, gapped, gapped, gapped)
		s := open(t, w, got.apply)
		end := ended(t, s, session.AttemptsUsedUp, event.DeliveryFailed)
		if !strings.Contains(end.Error(), "3 snapshots in a row did not help: sequence-gap") {
			t.Errorf("%v", end)
		}
		if a := w.attempts(); len(a) != 4 || a[3].Resume != event.NoPosition || w.atOnce() != 1 || got.all() != "[snapshot 5 snapshot 5 snapshot 5 snapshot 5]" {
			t.Errorf("%d connections, %d at once, seen %s", len(a), w.atOnce(), got.all())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		got := &seen{}
		w := newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = round(to, "snapshot", 5)
			_ = round(to, "delta", 7)
			<-ctx.Done()
			return nil
		}, func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = round(to, "snapshot", 3)
			_ = round(to, "delta", 4)
			<-ctx.Done()
			return nil
		})
		s := open(t, w, got.apply)
		time.Sleep(time.Second)
		if got.all() != "[snapshot 5 snapshot 3 delta 4]" || s.State().Phase != gate.Live {
			t.Errorf("seen %s, state %+v", got.all(), s.State())
		}
		closeAndWait(t, s)
	})
}

// TestPollEnds: what the transport gives up is over, by its cause, and what it had brought before is delivered first: the snapshot of a
// source whose changes cannot be followed counts (D-39).
func TestPollEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, got := newStore(t), &seen{}
		w := newPoller(func(_ context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = round(to, "snapshot", 5)
			return to.Signal(transport.Signal{Kind: transport.Refused, Cause: transport.ProtocolError, Detail: "no-delta-link: nothing follows"})
		})
		s := open(t, w, func(ctx context.Context, ev *event.Event) error {
			time.Sleep(time.Minute)
			return got.apply(ctx, ev)
		}, subscription.WithStore(st))
		time.Sleep(time.Second)
		if ob := s.Observation(); ob.Link != session.LinkDraining {
			t.Errorf("observation %+v", ob)
		}
		end := ended(t, s, session.ProtocolError, event.None)
		if got.all() != "[snapshot 5]" || st.Len() != 1 || !strings.Contains(end.Error(), "no-delta-link") {
			t.Errorf("seen %s, %d records, %v", got.all(), st.Len(), end)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newPoller(func(_ context.Context, _ transport.Attempt, to transport.Sink) error { return to.Signal(lost) })
		s := open(t, w, (&seen{}).apply)
		ended(t, s, session.AttemptsUsedUp, event.DeliveryFailed)
		if len(w.attempts()) != 1 {
			t.Errorf("%d connections", len(w.attempts()))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken transport")
		fail := func(context.Context, transport.Attempt, transport.Sink) error { return broken }
		w := newPoller(fail, fail, fail, fail, fail)
		s := open(t, w, (&seen{}).apply)
		if end := ended(t, s, session.PluginCrashed, event.None); !errors.Is(end, broken) || len(w.attempts()) != 4 {
			t.Errorf("%v after %d connections", end, len(w.attempts()))
		}
	})
}

// TestPollReader: who reads polls may look at the subscription and close it; a panic of his is contained and counted, and the polling
// goes on (D-24).
func TestPollReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			for seq := 5; ctx.Err() == nil; seq++ {
				kind := map[bool]string{true: "snapshot", false: "delta"}[seq == 5]
				if err := round(to, kind, seq); err != nil {
					return err
				}
				_ = rest(ctx, time.Minute)
			}
			return nil
		})
		var s *subscription.Subscription
		ready, polls := make(chan struct{}), 0
		s = open(t, w, (&seen{}).apply, subscription.WithPolls(func(p transport.PollReport) {
			<-ready
			if polls++; polls == 3 {
				s.Close()
			}
			if s.Observation().Epoch != 1 {
				t.Errorf("observation %+v", s.Observation())
			}
			panic("no use for it")
		}))
		close(ready)
		if err := s.Wait(); err != nil || polls != 3 || s.Contained() != 3 {
			t.Errorf("%v, %d polls, %d contained", err, polls, s.Contained())
		}
	})
}

// TestRefreshWithoutClock: what cannot be dated is not kept, and the source is alive all the same (D-24).
func TestRefreshWithoutClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		w := newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = round(to, "snapshot", 5)
			_ = rest(ctx, 2*time.Minute)
			broken.Store(true)
			_ = refreshed(to, 5, "t5b")
			broken.Store(false)
			_ = refreshed(to, 5, "t5c")
			<-ctx.Done()
			return nil
		})
		st := newCapture(newStore(t))
		s := open(t, w, (&seen{}).apply, subscription.WithStore(st), subscription.WithClock(func() int64 {
			if broken.Load() {
				panic("no clock")
			}
			return time.Now().UnixMilli()
		}))
		time.Sleep(2*time.Minute + time.Second)
		if ob := s.Observation(); ob.Status != session.Fresh || s.Contained() != 1 || s.State().Phase != gate.Live {
			t.Errorf("observation %+v, %d contained", ob, s.Contained())
		}
		closeAndWait(t, s)
		if all := st.all(); len(all) != 2 || all[1].Resume.DeltaToken != "t5c" {
			t.Errorf("saved %+v", all)
		}
	})
}
