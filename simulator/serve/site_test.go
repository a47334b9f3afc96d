package serve

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
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

func open(t *testing.T, opt simulator.Options) *site {
	t.Helper()
	return openWith(t, Options{Simulator: opt})
}

func openWith(t *testing.T, opt Options) *site {
	t.Helper()
	if opt.Simulator.Stamp == 0 {
		opt.Simulator.Stamp = 1785124800000
	}
	before := goroutines()
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	s := &site{t: t, ctx: ctx, client: &http.Client{Transport: &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	opt.Observe = func(r trace.Record) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.records = append(s.records, r)
	}
	var err error
	s.Server, err = Start(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	if opt.TLS {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(s.CA())) {
			t.Fatal("no certificate to trust")
		}
		s.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		noLeak(t, before)
	})
	return s
}

// get opens the stream; position, if any, is the Last-Event-ID.
func (s *site) get(position string) *http.Response {
	s.t.Helper()
	req, _ := http.NewRequestWithContext(s.ctx, http.MethodGet, s.URL()+"?sourceId=incidents", nil)
	if position != "" {
		req.Header.Set("Last-Event-ID", position)
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// narrow makes the client's receive buffer small; the kernel would grow it to megabytes.
func (s *site) narrow() {
	s.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return c, err
	}
}

func (s *site) wait(what string, cond func(simulator.State) bool) {
	s.t.Helper()
	if err := s.WaitFor(s.ctx, cond); err != nil {
		s.t.Fatalf("waiting for %s: %v", what, err)
	}
}

func (s *site) trace() []trace.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]trace.Record(nil), s.records...)
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// blocks reads n blocks of a stream, each without its blank line.
func blocks(t *testing.T, r *bufio.Reader, n int) []string {
	t.Helper()
	var out []string
	var b strings.Builder
	for len(out) < n {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d of %d blocks: %v", len(out), n, err)
		}
		if line == "\n" {
			out = append(out, b.String())
			b.Reset()
			continue
		}
		b.WriteString(line)
	}
	return out
}

func data(block string) []byte {
	_, d, _ := strings.Cut(block, "data: ")
	return []byte(strings.TrimSuffix(d, "\n"))
}

func goroutines() map[string]bool {
	buf := make([]byte, 1<<20)
	out := map[string]bool{}
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		id, _, _ := strings.Cut(g, " [")
		out[id] = true
	}
	return out
}

// noLeak fails if a goroutine of this package is left that was not there before. The ends of net/http's own goroutines are not
// announced, so it looks again until they are gone.
func noLeak(t *testing.T, before map[string]bool) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(longEnough); ; runtime.Gosched() {
		var left []string
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			id, _, _ := strings.Cut(g, " [")
			if !before[id] && (strings.Contains(g, "simulator/serve") || strings.Contains(g, "net/http")) && !strings.Contains(g, "noLeak") {
				left = append(left, g)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines left:\n%s", len(left), strings.Join(left, "\n\n"))
		}
	}
}
