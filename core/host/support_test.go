//go:build linux

package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// patience is how long a test waits for another process before it calls it a failure; the machine may be busy.
const patience = 20 * time.Second

// hasty are deadlines for plugins that are meant to hang.
var hasty = deadlines{start: 3 * time.Second, describe: 500 * time.Millisecond, ping: 300 * time.Millisecond, grace: 300 * time.Millisecond}

// startT starts a plugin that is closed with the test. The returned log fills with its events.
func startT(t testing.TB, c Command, dl deadlines, now func() time.Time) (*Plugin, *eventLog) {
	t.Helper()
	log := &eventLog{}
	c.OnEvent = log.add
	p, err := start(context.Background(), c, dl, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, log
}

type eventLog struct {
	mu     sync.Mutex
	events []Event
}

func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// kinds is the events in short: "started exited(signal: killed) refused".
func (l *eventLog) kinds() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var words []string
	for _, e := range l.events {
		word := e.Kind.String()
		if e.Kind == Exited {
			word += "(" + e.Status + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// recorder is a sink that remembers.
type recorder struct {
	mu   sync.Mutex
	got  []string
	docs []string
	last transport.Signal
	some chan struct{} // a token after each item, if not nil
}

func (r *recorder) note(text string) {
	r.mu.Lock()
	r.got = append(r.got, text)
	r.mu.Unlock()
	if r.some != nil {
		r.some <- struct{}{}
	}
}

func (r *recorder) Document(d transport.Document) error {
	r.mu.Lock()
	r.docs = append(r.docs, string(d.JSON))
	r.mu.Unlock()
	text := string(d.JSON)
	if len(text) > 40 {
		text = fmt.Sprintf("%d bytes", len(text))
	}
	r.note("doc " + text)
	return nil
}

func (r *recorder) Signal(s transport.Signal) error {
	r.mu.Lock()
	r.last = s
	r.mu.Unlock()
	text := s.Kind.String()
	if s.Cause != transport.CauseNone {
		text += " " + s.Cause.String()
	}
	r.note(text)
	return nil
}

func (r *recorder) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.got, ", ")
}

// eventRecorder is a recorder that takes events.
type eventRecorder struct{ recorder }

func (r *eventRecorder) Event(ev *event.Event) error {
	detail := fmt.Sprint(ev.Fault, " ", ev.Detail)
	if len(ev.Payload) > 1000 {
		detail = fmt.Sprintf("%d bytes ", len(ev.Payload))
	}
	r.note(fmt.Sprintf("%v %d %s %s: %s %v", ev.Kind, ev.Pos.Seq, ev.Pos.Cursor, ev.ID, detail, ev.Hole))
	return nil
}

// server is the other end of the script transport.
type server struct {
	t    testing.TB
	l    net.Listener
	conn net.Conn
}

func newServer(t testing.TB) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &server{t: t, l: l}
}

func (s *server) attempt(epoch uint32) transport.Attempt {
	return transport.Attempt{Epoch: epoch, Endpoint: s.l.Addr().String()}
}

// accept waits for the plugin's connection.
func (s *server) accept() {
	s.t.Helper()
	s.l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	conn, err := s.l.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	s.conn = conn
	s.t.Cleanup(func() { conn.Close() })
}

func (s *server) say(lines ...string) {
	s.t.Helper()
	if _, err := s.conn.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		s.t.Fatal(err)
	}
}

// talk is one connection: it runs Open beside the test and says lines once the plugin has connected.
func (s *server) talk(p *Plugin, a transport.Attempt, to transport.Sink, lines ...string) <-chan error {
	s.t.Helper()
	done := make(chan error, 1)
	go func() { done <- p.Open(context.Background(), a, to) }()
	s.accept()
	s.say(lines...)
	return done
}

func wait[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
		panic("unreachable")
	}
}

// eventually polls what only the kernel knows.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// state is a process's state letter from /proc, empty when there is no such process. Whoever adopted it may not reap: Z is dead, too.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	after := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return strings.Fields(after)[0]
}

func dead(pid int) bool { s := state(pid); return s == "" || s == "Z" || s == "X" }

// leakCheck fails the test if goroutines are left over at its end.
func leakCheck(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		var stacks [1 << 20]byte
		for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks[:], true)])
				return
			}
		}
	})
}

// stopProcess suspends a process, as a debugger or a full machine would.
func stopProcess(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "stopped", func() bool { return state(pid) == "T" })
}
