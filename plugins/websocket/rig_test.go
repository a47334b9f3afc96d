package websocket

import (
	"bufio"
	"context"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coder "github.com/coder/websocket"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// guard bounds a test that would otherwise hang when the driver is broken. Nothing waits for it when all is well.
const guard = 20 * time.Second

func discardLog() *stdlog.Logger { return stdlog.New(io.Discard, "", 0) }

// log is a sink that writes down what it was told.
type log struct {
	lines []string
	last  transport.Signal
	hook  func(line string) error // called for each, may be nil
}

func (l *log) note(o transport.Output) error {
	line := render(o)
	l.lines = append(l.lines, line)
	if l.hook != nil {
		return l.hook(line)
	}
	return nil
}

func (l *log) Document(d transport.Document) error { return l.note(transport.Output{Document: &d}) }

func (l *log) Signal(s transport.Signal) error {
	l.last = s
	return l.note(transport.Output{Signal: &s})
}

// String leaves signs of life out: how many of them come depends on the reads.
func (l *log) String() string {
	var told []string
	for _, line := range l.lines {
		if line != "heartbeat" {
			told = append(told, line)
		}
	}
	return strings.Join(told, "\n")
}

func attemptAt(url string, options ...string) transport.Attempt {
	a := transport.Attempt{Endpoint: url, Query: transport.Query{SourceID: "incidents"}, Resume: event.NoPosition, Options: map[string]string{}}
	for i := 0; i+1 < len(options); i += 2 {
		a.Options[options[i]] = options[i+1]
	}
	return a
}

// open makes one connection; the driver must return within the guard.
func open(t *testing.T, a transport.Attempt, to *log) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	return New().Open(ctx, a, to)
}

// script serves the n-th request with the n-th handler, the last one again and again. It ends only when all have returned, and no
// goroutine of the driver may be left then.
type script struct {
	*httptest.Server
	requests atomic.Int32
}

func serve(t *testing.T, handlers ...http.HandlerFunc) *script {
	t.Helper()
	s := &script{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(s.requests.Add(1))
		handlers[min(n, len(handlers))-1](w, r)
	}))
	t.Cleanup(func() {
		s.Close()
		noneLeft(t)
	})
	return s
}

// noneLeft fails if a goroutine still runs code of the driver's.
func noneLeft(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "websocket.pumpReads") || strings.Contains(stack, "websocket.(*connection)") {
			t.Errorf("left over:\n%s", stack)
		}
	}
}

// accept upgrades with coder/websocket and hands the connection to do.
func accept(t *testing.T, options *coder.AcceptOptions, do func(ctx context.Context, c *coder.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := coder.Accept(w, r, options)
		if err != nil {
			t.Errorf("accept: %v", err)
			return
		}
		defer c.CloseNow()
		ctx, cancel := context.WithTimeout(context.Background(), guard)
		defer cancel()
		do(ctx, c)
	}
}

// hijack upgrades by hand and hands the socket to do, which is to send exact bytes.
func hijack(t *testing.T, do func(c net.Conn, in *bufio.Reader)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, in, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+acceptFor(r.Header.Get("Sec-Websocket-Key"))+"\r\n\r\n")
		c.SetDeadline(time.Now().Add(guard))
		do(c, in.Reader)
	}
}

// nextFrame reads one of our frames, as clientFrame writes it; its error if there is none. Frames of the tests are short.
func nextFrame(in *bufio.Reader) string {
	head := make([]byte, 6)
	if _, err := io.ReadFull(in, head); err != nil {
		return err.Error()
	}
	all := append(head, make([]byte, head[1]&0x7F)...)
	if _, err := io.ReadFull(in, all[6:]); err != nil {
		return err.Error()
	}
	return clientFrame(all)
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(guard):
		t.Fatalf("waited in vain for: %s", what)
	}
}
