package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// newTaker is newWire for a transport that takes everything.
func newTaker(plays ...play) *wire {
	w := newWire(plays...)
	w.d.Takes = []transport.Take{transport.TakesHeaders, transport.TakesTLS, transport.TakesProxy}
	return w
}

// TestSourcesAreAskedEachTime: headers, certificates and proxy may change between connections, as credentials may.
func TestSourcesAreAskedEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, got := newTaker(serve(transport.No, lost, 5), serve(transport.Yes, stay, 6)), &seen{}
		asked := 0
		s := open(t, w, got.apply, subscription.WithEndpoint("https://events.test/stream"),
			subscription.WithHeaders(func(context.Context) ([]transport.ExtraHeader, error) {
				asked++
				return []transport.ExtraHeader{{Name: "X-Key", Value: transport.Secret(fmt.Sprintf("key %d", asked))}}, nil
			}),
			subscription.WithTLS(func(context.Context) (transport.TLS, error) {
				return transport.TLS{ServerName: fmt.Sprintf("name-%d", asked)}, nil
			}),
			subscription.WithProxy(func(_ context.Context, endpoint string) (transport.Secret, error) {
				return transport.Secret(fmt.Sprintf("http://proxy-%d for %s", asked, endpoint)), nil
			}))
		time.Sleep(10 * time.Second) // virtual: the retries have come and gone
		if got.all() != "[snapshot 5 upsert 6]" {
			t.Errorf("seen %s", got.all())
		}
		for i, a := range w.attempts() {
			if a.Headers[0].Value.Reveal() != fmt.Sprintf("key %d", i+1) || a.TLS.ServerName != fmt.Sprintf("name-%d", i+1) || a.Proxy.Reveal() != fmt.Sprintf("http://proxy-%d for https://events.test/stream", i+1) {
				t.Errorf("attempt %d: %s, %s, %s", i+1, a.Headers[0].Value.Reveal(), a.TLS.ServerName, a.Proxy.Reveal())
			}
		}
		closeAndWait(t, s)
	})
}

// TestSourceFails: no connection is made, it is tried again, and what the source says is shown nowhere.
func TestSourceFails(t *testing.T) {
	wrong := errors.New("canary")
	for name, option := range map[string]func(fail func() error) subscription.Option{
		"header": func(fail func() error) subscription.Option {
			return subscription.WithHeaders(func(context.Context) ([]transport.ExtraHeader, error) { return nil, fail() })
		},
		"tls": func(fail func() error) subscription.Option {
			return subscription.WithTLS(func(context.Context) (transport.TLS, error) { return transport.TLS{}, fail() })
		},
		"proxy": func(fail func() error) subscription.Option {
			return subscription.WithProxy(func(context.Context, string) (transport.Secret, error) { return "", fail() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, got, told := newTaker(serve(transport.No, stay, 5)), &seen{}, &strings.Builder{}
				asked := 0
				s := open(t, w, got.apply, subscription.WithObserver(func(r trace.Record) { fmt.Fprintf(told, "%+v\n", r) }), option(func() error {
					switch asked++; asked {
					case 1:
						return wrong
					case 2:
						panic("canary")
					}
					return nil
				}))
				time.Sleep(10 * time.Second)
				if got.all() != "[snapshot 5]" || len(w.attempts()) != 1 || asked != 3 {
					t.Errorf("seen %s, %d connections, asked %d times", got.all(), len(w.attempts()), asked)
				}
				closeAndWait(t, s)
				if all := told.String(); strings.Contains(all, "canary") || strings.Count(all, name+"-source") < 2 {
					t.Errorf("told:\n%s", all)
				}

				s = open(t, newTaker(), got.apply, subscription.WithPolicy(session.Policy{Attempts: 2}), option(func() error { return wrong }))
				end := ended(t, s, session.AttemptsUsedUp, event.DeliveryFailed)
				if strings.Contains(end.Error(), "canary") || !errors.Is(end, wrong) || !strings.Contains(end.Error(), "the "+name+" source failed") {
					t.Errorf("ended with %v", end)
				}
			})
		})
	}
}

// TestWhatCannotBeSent: it ends the subscription by name, before a connection is made and without the value.
func TestWhatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for detail, headers := range map[string][]transport.ExtraHeader{
			"headers: Host would send the request to another site than the endpoint names":              {{Name: "host", Value: "canary"}},
			"headers: X has a value with a byte that no header may hold, or with white space around it": {{Name: "X", Value: "canary\n"}},
			"headers: X-Token is the credential's":                                                      {{Name: "x-token", Value: "canary"}},
			"headers: Last-Event-Id names a position, and positions are the gate's alone":               {{Name: "Last-Event-ID", Value: "canary"}},
			"headers: Authorization is a credential; hand it over as one":                               {{Name: "Authorization", Value: "canary"}},
			"headers: Proxy-Authorization is for a proxy; name user and password in the proxy's URL":    {{Name: "Proxy-Authorization", Value: "canary"}},
		} {
			w := newTaker()
			s := open(t, w, (&seen{}).apply,
				subscription.WithCredentials(func(context.Context, bool) (transport.Credential, string, error) {
					return transport.Credential{Header: "X-Token", Value: "canary"}, "", nil
				}),
				subscription.WithHeaders(func(context.Context) ([]transport.ExtraHeader, error) { return headers, nil }))
			end := ended(t, s, session.Refused, event.None)
			if end.Detail != detail || strings.Contains(end.Error(), "canary") || len(w.attempts()) > 0 {
				t.Errorf("%d connections, ended with %v, want %s", len(w.attempts()), end, detail)
			}
		}
	})
}

// TestNotTaken: a transport that would ignore them is refused before anything is opened (D-62).
func TestNotTaken(t *testing.T) {
	for want, option := range map[string]subscription.Option{
		"subscription: transport fake does not take headers": subscription.WithHeaders(func(context.Context) ([]transport.ExtraHeader, error) { return nil, nil }),
		"subscription: transport fake does not take tls":     subscription.WithTLS(func(context.Context) (transport.TLS, error) { return transport.TLS{}, nil }),
		"subscription: transport fake does not take proxy":   subscription.WithProxy(func(context.Context, string) (transport.Secret, error) { return "", nil }),
	} {
		w := newWire()
		_, err := subscription.Open(context.Background(), w, (&seen{}).apply, subscription.WithContext(testContext()), option)
		if err == nil || err.Error() != want || len(w.attempts()) > 0 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
