package fleetserve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator/fleet"
)

// longEnough bounds every wait of these tests: what is waited for takes milliseconds, and only a defect reaches it.
const longEnough = 20 * time.Second

// site is a server under test, its records, and a client of it.
type site struct {
	*Server
	t      *testing.T
	ctx    context.Context
	client *http.Client

	mu      sync.Mutex
	records []trace.Record
}

// table is two viewers: the service itself, and another one with a bearer of each class.
func table() fleet.Options {
	return fleet.Options{Service: "@viewer", Viewers: []fleet.Viewer{
		{ProviderUsername: "viewer", UserID: "u1", Provider: "github", ProviderUserID: "1", Admission: []string{"OWN-CCC"}, Plane: []string{"MCP-AAA"}, Subscription: "WAKE_SUB:relay"},
		{ProviderUsername: "other", UserID: "u2", Provider: "github", ProviderUserID: "2", Admission: []string{"OTHER-CCC"}, Plane: []string{"OTHER-MCP"}, Subscription: "WAKE_SUB:other"},
	}}
}

func open(t *testing.T, o fleet.Options) *site { return openWith(t, Options{Fleet: o}) }

func openWith(t *testing.T, o Options) *site {
	t.Helper()
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	s := &site{t: t, ctx: ctx, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	o.Observe = func(r trace.Record) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.records = append(s.records, r)
	}
	var err error
	if s.Server, err = Start(ctx, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		_ = s.Close()
		cancel()
		for range 500 { // a goroutine that has nothing left to do needs a moment to end
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
	})
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) wait(cond func(fleet.State) bool) {
	s.t.Helper()
	if err := s.WaitFor(s.ctx, cond); err != nil {
		s.t.Fatalf("%v: %+v", err, s.State())
	}
}

// ask makes one request and answers status, headers and body.
func (s *site) ask(method, path, body string, h ...string) (string, http.Header) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, method, s.PlaneBase()+path, strings.NewReader(body))
	s.must(err)
	for i := 0; i+1 < len(h); i += 2 {
		if h[i] == "Host" {
			req.Host = h[i+1]
		}
		req.Header.Set(h[i], h[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		return "no answer", nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	s.must(err)
	return fmt.Sprintf("%d %s", res.StatusCode, text), res.Header
}

// line is a connection whose bytes are read as they come.
type line struct {
	*bufio.Reader
	net.Conn
	s *site
}

// dial sends raw bytes.
func (s *site) dial(request string) *line {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.PlaneBase(), "http://"))
	s.must(err)
	s.must(c.SetDeadline(time.Now().Add(longEnough)))
	s.t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, request)
	s.must(err)
	return &line{bufio.NewReader(c), c, s}
}

func (l *line) Read(p []byte) (int, error) { return l.Reader.Read(p) }

// stream opens a wake stream and answers it behind its head.
func (s *site) stream(token string, h ...string) (*line, *http.Response) {
	s.t.Helper()
	head := "GET /fleet/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n"
	for i := 0; i+1 < len(h); i += 2 {
		head += h[i] + ": " + h[i+1] + "\r\n"
	}
	l := s.dial(head + "\r\n")
	res, err := http.ReadResponse(l.Reader, nil)
	s.must(err)
	return l, res
}

// until reads b up to and with the text end.
func (s *site) until(b io.Reader, end string) string {
	s.t.Helper()
	var got strings.Builder
	one := make([]byte, 1)
	for !strings.HasSuffix(got.String(), end) {
		if _, err := b.Read(one); err != nil {
			s.t.Fatalf("%v behind %q", err, got.String())
		}
		got.Write(one)
	}
	return got.String()
}
