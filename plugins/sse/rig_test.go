package sse

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// guard bounds a test that would otherwise hang when the driver is broken. Nothing waits for it when all is well.
const guard = 20 * time.Second

// log is a sink that writes down what it was told.
type log struct {
	lines  []string
	last   transport.Signal
	cursor string
	hook   func(line string) error // called for each, may be nil
}

func (l *log) note(o transport.Output) error {
	line := render(o)
	l.lines = append(l.lines, line)
	if l.hook != nil {
		return l.hook(line)
	}
	return nil
}

func (l *log) Document(d transport.Document) error {
	if d.Cursor != "" {
		l.cursor = d.Cursor
	}
	return l.note(transport.Output{Document: &d})
}

func (l *log) Signal(s transport.Signal) error {
	l.last = s
	return l.note(transport.Output{Signal: &s})
}

func (l *log) String() string { return strings.Join(l.lines, "\n") }

func attemptAt(url string) transport.Attempt {
	return transport.Attempt{Endpoint: url, Query: transport.Query{SourceID: "incidents"}, Resume: event.NoPosition}
}

// open makes one connection; the driver must return within the guard.
func open(t *testing.T, a transport.Attempt, to *log) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	return New().Open(ctx, a, to)
}

// script serves the n-th request with the n-th handler, the last one again and again.
type script struct {
	*httptest.Server
	requests atomic.Int32
	seen     []*http.Request // read it when no request is under way
}

func serve(t *testing.T, handlers ...http.HandlerFunc) *script {
	t.Helper()
	s := &script{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(s.requests.Add(1))
		s.seen = append(s.seen, r)
		handlers[min(n, len(handlers))-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// serveStream answers with an event stream that holds body and ends.
func serveStream(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, body)
	}
}

func answer(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// hold answers with a body and leaves it open until the client is gone, which it reports on gone.
func hold(contentType, body string, gone chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(guard):
		t.Fatalf("waited in vain for: %s", what)
	}
}

// raw answers the first connection with exact bytes, then does with it what then says.
func raw(t *testing.T, bytes string, then func(*net.TCPConn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		head := make([]byte, 64<<10)
		if _, err := c.Read(head); err != nil {
			return
		}
		io.WriteString(c, bytes)
		then(c.(*net.TCPConn))
	}()
	return "http://" + l.Addr().String() + "/stream"
}

// linger gives a server time to do what it will do, where nothing tells that it is done. A slow machine can only make such a
// test miss a defect, never find one that is none.
func linger(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(50 * time.Millisecond):
	case <-t.Context().Done():
	}
}
