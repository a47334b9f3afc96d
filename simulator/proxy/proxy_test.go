package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// rig is a server that answers what it is sent with letters, behind a proxy.
type rig struct {
	t      *testing.T
	proxy  *Proxy
	mu     sync.Mutex
	events []string
	got    chan string // what the server read, whole, of each connection
}

// newRig starts a server that sends answer and then reads to the end, and a proxy with the schedule.
func newRig(t *testing.T, schedule, answer string) *rig {
	t.Helper()
	s, err := Parse("x", []byte(schedule))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, got: make(chan string, 8)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_, _ = io.WriteString(c, answer)
				text, _ := io.ReadAll(c)
				r.got <- string(text)
			})
		}
	})
	r.proxy, err = Start(t.Context(), "127.0.0.1:0", ln.Addr().String(), *s, func(e Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e.String())
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.proxy.Close(); err != nil {
			t.Error(err)
		}
		ln.Close()
		wg.Wait()
	})
	return r
}

// dial makes a connection through the proxy.
func (r *rig) dial() *net.TCPConn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.proxy.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// first is how a connection ends before its first byte: while it is made, or when it is read.
func first(p *Proxy) error {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	return err
}

// told says whether the proxy told of an event.
func (r *rig) told(event string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e == event {
			return true
		}
	}
	return false
}

// TestUntouched: without a fault every byte comes as it was, both ways, and an end is an end.
func TestUntouched(t *testing.T) {
	long := strings.Repeat("0123456789", 100_000)
	r := newRig(t, "", long)
	c := r.dial()
	if _, err := io.WriteString(c, long); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if err != nil || string(text) != long {
		t.Errorf("%d of %d bytes, %v", len(text), len(long), err)
	}
	if got := <-r.got; got != long {
		t.Errorf("the server got %d of %d bytes", len(got), len(long))
	}
}

// TestCut: exactly so many bytes come, then a proper end, on both sides; the next connection is whole.
func TestCut(t *testing.T) {
	for _, at := range []int{0, 1, 5, 9} {
		r := newRig(t, "connections: [{faults: [{fault: cut, from: server, at: "+string(rune('0'+at))+"}]}]", "0123456789")
		text, err := io.ReadAll(r.dial())
		if string(text) != "0123456789"[:at] || err != nil {
			t.Errorf("cut at %d: %q %v", at, text, err)
		}
		<-r.got // the server's side is over as well
		if !r.told("1 cut from server at " + string(rune('0'+at))) {
			t.Errorf("cut at %d: told %q", at, r.events)
		}
		second := r.dial()
		if err := second.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(second); string(text) != "0123456789" || err != nil {
			t.Errorf("the next one: %q %v", text, err)
		}
	}
}

// TestCutOfTheClient: the other direction has its own count.
func TestCutOfTheClient(t *testing.T) {
	r := newRig(t, "rest: [{fault: cut, from: client, at: 3}]", "")
	c := r.dial()
	_, _ = io.WriteString(c, "abcdef")
	if got := <-r.got; got != "abc" {
		t.Errorf("the server got %q", got)
	}
}

// TestReset: the end is a reset, not a proper one.
func TestReset(t *testing.T) {
	r := newRig(t, "rest: [{fault: reset, from: client, at: 2}]", "")
	c := r.dial()
	_, _ = io.WriteString(c, "ab")
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("ended with %v", err)
	}
}

// TestRefuse: the server never hears of it.
func TestRefuse(t *testing.T) {
	r := newRig(t, "connections: [{faults: [{fault: refuse}]}]", "hello")
	if err := first(r.proxy); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("ended with %v, told %q", err, r.events)
	}
	if len(r.got) > 0 {
		t.Error("the server heard of it")
	}
	second := r.dial()
	b := make([]byte, 5)
	if _, err := io.ReadFull(second, b); err != nil || string(b) != "hello" {
		t.Errorf("the next one: %q %v", b, err)
	}
}

// TestStall: the bytes before the place come at once, those behind it after the time; the other direction goes on.
func TestStall(t *testing.T) {
	r := newRig(t, "rest: [{fault: stall, from: server, at: 4, for: 300ms}]", "0123456789")
	c := r.dial()
	b := make([]byte, 4)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "0123" {
		t.Fatalf("%q %v", b, err)
	}
	began := time.Now()
	b = make([]byte, 6)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "456789" {
		t.Fatalf("%q %v", b, err)
	}
	if d := time.Since(began); d < 250*time.Millisecond {
		t.Errorf("came after %v", d)
	}
}

// TestStallForGood: nothing comes any more, the connection stays, and it goes when the client goes.
func TestStallForGood(t *testing.T) {
	r := newRig(t, "rest: [{fault: stall, from: server, at: 0}]", "0123456789")
	c := r.dial()
	if _, err := io.WriteString(c, "abc"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var late net.Error
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("read %d bytes, %v", n, err)
	}
	c.Close()
	if got := <-r.got; got != "abc" {
		t.Errorf("the server got %q", got)
	}
}

// TestHalfOpen: the server's bytes and its end are thrown away, and the client is told nothing.
func TestHalfOpen(t *testing.T) {
	r := newRig(t, "rest: [{fault: half-open, from: server, at: 4}]", "0123456789")
	c := r.dial()
	b := make([]byte, 4)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "0123" {
		t.Fatalf("%q %v", b, err)
	}
	if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var late net.Error
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("read %d bytes, %v", n, err)
	}
	c.Close()
	<-r.got
}

// TestDelayAndDrip: both are late, whole and in order.
func TestDelayAndDrip(t *testing.T) {
	for name, fault := range map[string]string{"delay": "{fault: delay, from: server, by: 200ms}", "drip": "{fault: drip, from: server, bytes: 3, every: 70ms}"} {
		r := newRig(t, "rest: ["+fault+"]", "0123456789")
		began := time.Now()
		c := r.dial()
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(c)
		if d := time.Since(began); string(text) != "0123456789" || err != nil || d < 190*time.Millisecond {
			t.Errorf("%s: %q %v after %v", name, text, err, d)
		}
	}
}

// TestSet: a new schedule counts for what comes, from its first connection.
func TestSet(t *testing.T) {
	r := newRig(t, "", "hello")
	first := r.dial()
	if _, err := io.ReadFull(first, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if err := r.proxy.Set(Schedule{Rest: []Fault{{Kind: "explode", From: Server}}}); err == nil {
		t.Error("a fault that is none was taken")
	}
	if err := r.proxy.Set(Schedule{Connections: [][]Fault{{{Kind: Cut, From: Server, At: 2}}}}); err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(r.dial()); string(text) != "he" {
		t.Errorf("%q", text)
	}
	if _, err := io.WriteString(first, "still here"); err != nil {
		t.Error(err)
	}
}

// TestUnreachable: a server that is not there is told of, and the client's connection ends.
func TestUnreachable(t *testing.T) {
	var events []string
	var mu sync.Mutex
	p, err := Start(t.Context(), "127.0.0.1:0", "127.0.0.1:1", Schedule{}, func(e Event) { mu.Lock(); defer mu.Unlock(); events = append(events, e.String()) })
	if err != nil {
		t.Fatal(err)
	}
	if err := first(p); err == nil {
		t.Error("somebody answered")
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if strings.Join(events, ",") != "1 unreachable" {
		t.Errorf("%q", events)
	}
}

// TestClose ends what is open, and so does the end of its context.
func TestClose(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p, err := Start(ctx, "127.0.0.1:0", ln.Addr().String(), Schedule{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	cancel()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("still open")
	}
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Error("it still listens")
	}
}

// TestFull: a connection above the bound is closed and told of; the bound counts what is open, not what was made.
func TestFull(t *testing.T) {
	r := newRig(t, "", "hello")
	r.proxy.mu.Lock()
	if r.proxy.limit != MaxOpen {
		t.Errorf("the bound is %d", r.proxy.limit)
	}
	r.proxy.limit = 1
	r.proxy.mu.Unlock()
	c := r.dial()
	if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if err := first(r.proxy); err == nil {
		t.Error("a second one was served")
	}
	if !r.told("2 full") || r.told("1 full") {
		t.Errorf("told %q", r.events)
	}
	if _, err := io.WriteString(c, "still here"); err != nil {
		t.Error(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := <-r.got; got != "still here" {
		t.Errorf("the server got %q", got)
	}
}
