package subscription_test

import (
	"context"
	"errors"
	"runtime"
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
	"github.com/conform-dev/conform/plugins/sse"
)

// ended waits for the end and checks it.
func ended(t *testing.T, s *subscription.Subscription, cause session.Cause, reason event.Reason) *subscription.EndError {
	t.Helper()
	err := s.Wait()
	var end *subscription.EndError
	if !errors.As(err, &end) || end.Cause != cause || end.Reason != reason {
		t.Fatalf("ended with %v, want %s %s", err, cause, reason)
	}
	return end
}

// TestConsumerFails: an error, a panic and a goroutine that ends itself are all consumer-failed; the position stays, and a new
// subscription brings the event again (D-12).
func TestConsumerFails(t *testing.T) {
	wrong := errors.New("cannot use this")
	for name, fail := range map[string]func() error{
		"error":  func() error { return wrong },
		"panic":  func() error { panic("cannot use this") },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, got := newStore(t), &seen{}
				w := newWire(serve(transport.No, stay, 5, 6, 7))
				s := open(t, w, func(ctx context.Context, ev *event.Event) error {
					if ev.Pos.Seq == 6 {
						return fail()
					}
					return got.apply(ctx, ev)
				}, subscription.WithStore(st))
				end := ended(t, s, session.Failed, event.ConsumerFailed)
				if name == "error" && !errors.Is(end, wrong) {
					t.Errorf("%v hides the cause", end)
				}
				var p *subscription.PanicError
				if name == "panic" && !errors.As(end, &p) {
					t.Errorf("%v hides the panic", end)
				}
				if h, _ := s.Held(); h.Pos.Seq != 5 || s.State().Phase != gate.Failed {
					t.Errorf("held %+v, state %+v", h, s.State())
				}
				s = open(t, newWire(serve(transport.Yes, stay, 6, 7)), got.apply, subscription.WithStore(st))
				synctest.Wait()
				if got.all() != "[snapshot 5 upsert 6 upsert 7]" {
					t.Errorf("seen %s", got.all())
				}
				closeAndWait(t, s)
			})
		})
	}
}

// TestStoreFails: an error or a panic of the caller's own store ends the subscription with checkpoint-save-failed, in a save
// and in a forget (D-24, D-26).
func TestStoreFails(t *testing.T) {
	expired := transport.Signal{Kind: transport.Expired, Reason: event.CursorExpired}
	for name, c := range map[string]struct {
		st  odd
		sig transport.Signal
	}{
		"save error":   {odd{save: func(checkpoint.Checkpoint) error { return errDisk }}, stay},
		"save panic":   {odd{save: func(checkpoint.Checkpoint) error { panic(errDisk) }}, stay},
		"forget error": {odd{forget: func(context.Context) error { return errDisk }}, expired},
		"forget panic": {odd{forget: func(context.Context) error { panic(errDisk) }}, expired},
		"forget hangs": {odd{forget: func(ctx context.Context) error { time.Sleep(time.Minute); return nil }}, expired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.st.Store = newStore(t)
				s := open(t, newWire(serve(transport.No, c.sig, 5)), (&seen{}).apply, subscription.WithStore(c.st))
				end := ended(t, s, session.Failed, event.CheckpointSaveFailed)
				if end.Err == nil {
					t.Error("the cause is missing")
				}
				time.Sleep(time.Minute) // the store that hangs comes back
			})
		})
	}
}

// TestClockFails: delivery-failed, and the event that the consumer has seen was not accepted (D-24).
func TestClockFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newWire(serve(transport.No, stay, 5)), (&seen{}).apply, subscription.WithClock(func() int64 { panic("no clock") }))
		ended(t, s, session.Failed, event.DeliveryFailed)
		if _, ok := s.Held(); ok || s.State().Accepted != 0 {
			t.Errorf("state %+v", s.State())
		}
	})
}

// TestServerEnds: 204 is no error; a refusal is one and names its status (D-33, P-CON-01).
func TestServerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newWire(serve(transport.No, stop, 5)), (&seen{}).apply)
		if err := s.Wait(); err != nil {
			t.Errorf("server-stop: %v", err)
		}
		if ob := s.Observation(); ob.Ending == nil || ob.Ending.Cause != session.ServerStop {
			t.Errorf("observation %+v", ob)
		}
		s = open(t, newWire(serve(transport.No, transport.Signal{Kind: transport.Refused, Cause: transport.Unauthorized, Status: 403})), (&seen{}).apply)
		if end := ended(t, s, session.Refused, event.None); !strings.Contains(end.Error(), "refused (403)") {
			t.Errorf("%v does not name the status", end)
		}
	})
}

// TestCredentials: the source is asked before each connection, and with renew once after a 401; the second refusal ends the
// session (P-CON-14). The text of its error is not shown.
func TestCredentials(t *testing.T) {
	denied := transport.Signal{Kind: transport.Refused, Cause: transport.Unauthorized, Status: 401}
	synctest.Test(t, func(t *testing.T) {
		var renewed []bool
		source := func(_ context.Context, renew bool) (transport.Credential, string, error) {
			renewed = append(renewed, renew)
			value := map[bool]transport.Secret{false: "first", true: "second"}[renew]
			return transport.Credential{Header: "Authorization", Value: value}, "scope-a", nil
		}
		refuse := func(_ context.Context, _ transport.Attempt, to transport.Sink) error { return to.Signal(denied) }
		w := newWire(refuse, refuse)
		s := open(t, w, (&seen{}).apply, subscription.WithCredentials(source))
		ended(t, s, session.Refused, event.None)
		a := w.attempts()
		if len(a) != 2 || a[0].Credential.Value.Reveal() != "first" || a[1].Credential.Value.Reveal() != "second" || len(renewed) != 2 || !renewed[1] {
			t.Errorf("asked %d times, source %v", len(a), renewed)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("SECRET client key")
		s := open(t, newWire(), (&seen{}).apply, subscription.WithPolicy(session.Policy{Attempts: 1}),
			subscription.WithCredentials(func(context.Context, bool) (transport.Credential, string, error) {
				return transport.Credential{}, "", why
			}))
		end := ended(t, s, session.AttemptsUsedUp, event.DeliveryFailed)
		if !errors.Is(end, why) || strings.Contains(end.Error(), "SECRET") {
			t.Errorf("%v", end)
		}
	})
}

// TestScopeChanges: the new credential sees something else. The old position is not sent, and later records belong to the
// new scope (P-CON-14).
func TestScopeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		var scope atomic.Value
		scope.Store("scope-a")
		source := func(context.Context, bool) (transport.Credential, string, error) {
			return transport.Credential{Header: "Authorization", Value: "x"}, scope.Load().(string), nil
		}
		w := newWire(
			func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
				defer scope.Store("scope-b")
				return serve(transport.No, lost, 9)(ctx, a, to)
			}, serve(transport.No, stay, 4))
		got := &seen{}
		s := open(t, w, got.apply, subscription.WithStore(st), subscription.WithCredentials(source))
		time.Sleep(time.Second)
		closeAndWait(t, s)
		if a := w.attempts(); len(a) != 2 || a[1].Resume != event.NoPosition {
			t.Errorf("asked %+v", a)
		}
		if got.all() != "[snapshot 9 snapshot 4]" {
			t.Errorf("seen %s", got.all())
		}
		for fingerprint, seq := range map[string]event.Seq{"scope-a": 9, "scope-b": 4} {
			c := testContext()
			c.AuthorizationScopeFingerprint = fingerprint
			if found := st.Load(t.Context(), c); found.Found != checkpoint.Stored || found.Checkpoint.Resume.Seq != seq {
				t.Errorf("%s holds %+v, want %d", fingerprint, found, seq)
			}
		}
	})
}

// TestTransportFails: an error or a panic of the transport is a crash, four in a row end the session; returning without a
// final signal is a lost connection.
func TestTransportFails(t *testing.T) {
	broken := errors.New("broken transport")
	for name, fail := range map[string]play{
		"error": func(context.Context, transport.Attempt, transport.Sink) error { return broken },
		"panic": func(context.Context, transport.Attempt, transport.Sink) error { panic(broken) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire(fail, fail, fail, fail)
				s := open(t, w, (&seen{}).apply)
				ended(t, s, session.PluginCrashed, event.None)
				if n := len(w.attempts()); n != 4 {
					t.Errorf("%d attempts", n)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWire(func(context.Context, transport.Attempt, transport.Sink) error { return nil })
		s := open(t, w, (&seen{}).apply)
		time.Sleep(time.Second)
		if ob := s.Observation(); ob.Epoch != 2 || ob.Last.Kind != session.Lost || ob.Last.Detail != "no final signal" {
			t.Errorf("observation %+v", ob)
		}
		closeAndWait(t, s)
	})
}

// TestDeafTransport: a transport that does not hear its cancellation never gets a second connection beside the first, and
// Wait does not hang over it.
func TestDeafTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWire(func(_ context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = to.Signal(transport.Signal{Kind: transport.Open})
			<-release
			if err := to.Document(transport.Document{JSON: []byte(`{"type":"snapshot","sequence":1,"features":[]}`)}); err == nil {
				t.Error("an old connection was heard")
			}
			return nil
		})
		s := open(t, w, (&seen{}).apply)
		time.Sleep(5 * time.Minute) // idle after two, then attempts that cannot begin
		if len(w.attempts()) != 1 || w.atOnce() != 1 {
			t.Errorf("%d connections, %d at once", len(w.attempts()), w.atOnce())
		}
		s.Close()
		began := time.Now()
		if err := s.Wait(); !errors.Is(err, subscription.ErrStuck) || time.Since(began) != 10*time.Second {
			t.Errorf("Wait after %v: %v", time.Since(began), err)
		}
		close(release)
	})
}

// TestCloseFromConsumer: the consumer may close, and the end of the caller's context is an end like any other.
func TestCloseFromConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *subscription.Subscription
		ready := make(chan struct{})
		s = open(t, newWire(serve(transport.No, stay, 5, 6)), func(ctx context.Context, _ *event.Event) error {
			<-ready
			s.Close()
			return ctx.Err()
		})
		close(ready)
		if err := s.Wait(); err != nil {
			t.Errorf("Wait: %v", err)
		}
		if st := s.State(); st.Phase != gate.Shut || st.Reason != event.Closed || st.Accepted != 0 {
			t.Errorf("state %+v", st)
		}
		s.Close()
		s.RequireResnapshot(event.TransportGap, "")
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := subscription.Open(ctx, newWire(serve(transport.No, stay, 5)), (&seen{}).apply)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		if err := s.Wait(); err != nil {
			t.Errorf("Wait: %v", err)
		}
		if st := s.State(); st.Phase != gate.Shut || st.Reason != event.Cancelled {
			t.Errorf("state %+v", st)
		}
	})
}

// TestAskForSnapshot: the application may ask for everything anew; the lower snapshot is accepted (D-01).
func TestAskForSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &seen{}
		w := newWire(serve(transport.No, stay, 9), serve(transport.No, stay, 4))
		s := open(t, w, got.apply)
		synctest.Wait()
		s.RequireResnapshot(event.ResumeUnsupported, "asked")
		time.Sleep(time.Second)
		if a := w.attempts(); len(a) != 2 || a[1].Resume != event.NoPosition || got.all() != "[snapshot 9 snapshot 4]" {
			t.Errorf("asked %+v, seen %s", a, got.all())
		}
		closeAndWait(t, s)
	})
}

// TestAttemptThatCannotBeMade: an endpoint that no transport can use ends the subscription at once and says why; it is no crash, and
// nothing is tried again.
func TestAttemptThatCannotBeMade(t *testing.T) {
	s, err := subscription.Open(t.Context(), sse.New(), (&seen{}).apply, subscription.WithContext(testContext()), subscription.WithEndpoint("feed/without/host"))
	if err != nil {
		t.Fatal(err)
	}
	end := ended(t, s, session.Refused, event.None)
	if !strings.Contains(end.Error(), "endpoint") || s.Observation().Epoch != 1 {
		t.Errorf("%v, observation %+v", end, s.Observation())
	}
}
