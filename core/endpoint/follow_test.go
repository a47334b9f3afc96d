package endpoint_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/internal/testcert"
	"github.com/conform-dev/conform/plugins/sse"
)

// gateway is a server as companies have them: over TLS, for clients with a certificate, a key and a tenant. It sends a snapshot,
// breaks off, resumes and ends for good.
type gateway struct {
	*httptest.Server
	mu    sync.Mutex
	heard []string
}

func newGateway(t *testing.T, ca *testcert.Authority) *gateway {
	t.Helper()
	g := &gateway{}
	g.Server = httptest.NewUnstartedServer(g)
	g.EnableHTTP2 = true
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	certificate := ca.Issue(t, "events.test")
	g.TLS = &tls.Config{Certificates: []tls.Certificate{certificate.TLS(t)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()}
	g.StartTLS()
	t.Cleanup(g.Close)
	return g
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resume := r.Header.Get("Last-Event-ID")
	g.mu.Lock()
	g.heard = append(g.heard, fmt.Sprintf("%s key=%s tenant=%s auth=%s resume=%s", r.Proto, r.Header.Get("X-Api-Key"), r.Header.Get("X-Tenant"), r.Header.Get("Authorization"), resume))
	g.mu.Unlock()
	if resume == "c2" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"type\":\"status\",\"status\":\"connected\",\"resumed\":%t}\n\n", resume != "")
	if resume == "" {
		io.WriteString(w, "id: c1\ndata: {\"type\":\"snapshot\",\"sequence\":1,\"features\":[]}\n\n")
		return
	}
	io.WriteString(w, "id: c2\ndata: {\"type\":\"upsert\",\"sequence\":2,\"feature\":{}}\n\n")
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEndpointsPeopleHave follows a gateway through a proxy that the environment names, with a CA file, a client certificate,
// headers and a credential by reference, in this process and in a plugin's. Nothing secret is in a trace, in an error, in
// what the plugin prints, nor in its arguments or its environment.
func TestEndpointsPeopleHave(t *testing.T) {
	ca := testcert.New(t, "ca")
	client := ca.Issue(t, "client")
	g := newGateway(t, ca)
	tunnel.mu.Lock()
	tunnel.to = g.Listener.Addr().String()
	tunnel.mu.Unlock()
	t.Setenv("CONFORM_TEST_API_KEY", "canary-of-the-environment")
	headers, err := endpoint.Headers("X-Api-Key=env:CONFORM_TEST_API_KEY", "X-Tenant=file:"+file(t, "canary-of-a-file\n"))
	if err != nil {
		t.Fatal(err)
	}
	credential, err := endpoint.Credential("Authorization=file:" + file(t, "Bearer canary-of-the-token\n"))
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := endpoint.Files{CA: file(t, ca.PEM), Certificate: file(t, client.Certificate), Key: file(t, client.Key)}.Source()
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"canary", strings.Split(client.Key, "\n")[1]}
	command, err := host.Self("sse")
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Start(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, through := range map[string]transport.Transport{"in this process": sse.New(), "in a plugin's": p} {
		t.Run(name, func(t *testing.T) {
			g.heard, tunnel.asked = nil, nil
			var mu sync.Mutex // the consumer and the observer are told on goroutines of their own
			var told strings.Builder
			seen := ""
			s, err := subscription.Open(t.Context(), through, func(_ context.Context, ev *event.Event) error {
				seen += fmt.Sprint(ev.Kind, " ", ev.Pos.Seq, ", ")
				if name == "in a plugin's" && runtime.GOOS == "linux" {
					view := kernelsView(t, p.PID())
					mu.Lock()
					told.WriteString(view)
					mu.Unlock()
				}
				return nil
			},
				subscription.WithEndpoint("https://events.test/stream"), subscription.WithQuery(transport.Query{SourceID: "incidents"}),
				subscription.WithHeaders(headers), subscription.WithCredentials(credential), subscription.WithTLS(certificates),
				subscription.WithProxy(endpoint.ProxyFromEnvironment), subscription.WithPolicy(session.Policy{Attempts: 5}),
				subscription.WithObserver(func(r trace.Record) {
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintf(&told, "%+v\n", r)
				}))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(); err != nil {
				t.Error(err)
			}
			if seen != "snapshot 1, upsert 2, " {
				t.Errorf("seen %s", seen)
			}
			for i, resume := range []string{"", "c1", "c2"} {
				if want := "HTTP/2.0 key=canary-of-the-environment tenant=canary-of-a-file auth=Bearer canary-of-the-token resume=" + resume; i >= len(g.heard) || g.heard[i] != want {
					t.Errorf("request %d: heard %q, want %q", i+1, g.heard[min(i, len(g.heard)-1)], want)
				}
			}
			if all := strings.Join(tunnel.asked, "\n"); len(tunnel.asked) != 3 || !strings.HasPrefix(all, "CONNECT events.test:443 ") || strings.Contains(all, "canary") {
				t.Errorf("the proxy saw\n%s", all)
			}
			told.WriteString(strings.Join(p.LastLines(), "\n"))
			for _, secret := range secrets {
				if at := strings.Index(told.String(), secret); at >= 0 {
					t.Errorf("told: ...%.200s", told.String()[max(0, at-100):])
				}
			}
		})
	}
}

// kernelsView is the arguments and the environment of a process, where everybody of the same user can read them.
func kernelsView(t *testing.T, pid int) string {
	t.Helper()
	out := ""
	for _, name := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		out += string(text)
	}
	return out
}

// TestOneClearEnding: a certificate that is not trusted, and a client without one, end the subscription at once and by name, here
// and behind a plugin's process alike (D-33).
func TestOneClearEnding(t *testing.T) {
	ca, other := testcert.New(t, "ca"), testcert.New(t, "other")
	g := newGateway(t, ca)
	tunnel.mu.Lock()
	tunnel.to = g.Listener.Addr().String()
	tunnel.mu.Unlock()
	command, err := host.Self("sse")
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Start(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, through := range []transport.Transport{sse.New(), p} {
		for want, f := range map[string]endpoint.Files{
			"certificate-not-trusted: unknown authority":      {CA: file(t, other.PEM)},
			"client-certificate-required: none is set":        {CA: file(t, ca.PEM)},
			"certificate-not-trusted: it is for another name": {CA: file(t, ca.PEM), ServerName: "other.test"},
		} {
			certificates, err := f.Source()
			if err != nil {
				t.Fatal(err)
			}
			s, err := subscription.Open(t.Context(), through, func(context.Context, *event.Event) error { return nil },
				subscription.WithEndpoint("https://events.test/stream"), subscription.WithQuery(transport.Query{SourceID: "incidents"}),
				subscription.WithTLS(certificates), subscription.WithProxy(endpoint.ProxyFromEnvironment))
			if err != nil {
				t.Fatal(err)
			}
			var end *subscription.EndError
			if err := s.Wait(); !errors.As(err, &end) || end.Cause != session.Refused || end.Detail != want {
				t.Errorf("ended with %v, want %s", err, want)
			}
		}
	}
	if len(g.heard) > 0 {
		t.Errorf("requests got through: %q", g.heard)
	}
}
