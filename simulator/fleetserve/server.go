package fleetserve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator/fleet"
)

// Limits of the network side.
const (
	// MaxSockets bounds the connections of any kind; one above it is closed unread. It leaves room for the refused beside the most
	// streams that the machine takes.
	MaxSockets = fleet.MaxStreams + 1024
	// MaxHeaderBytes bounds a request's header: a credential and an id of the longest form, and what browsers add.
	MaxHeaderBytes = 32 << 10
	// DefaultHeaderTimeout bounds how long the head of a request may take to arrive.
	DefaultHeaderTimeout = 10 * time.Second
	// DefaultBodyTimeout bounds how long its body may take.
	DefaultBodyTimeout = 10 * time.Second
	// CeilingTimeout is the largest of both.
	CeilingTimeout = time.Minute
	// idleTimeout ends a kept connection that nobody uses.
	idleTimeout = time.Minute
	// finishTimeout bounds how long a stream that has ended may still take to send what it owes.
	finishTimeout = time.Second
)

// Undeclared is the SelfBase of a server that does not know where its wakes arrive: nothing can be armed.
const Undeclared = "-"

// Options says where and what is served.
type Options struct {
	Addr string // host:port; "127.0.0.1:0". Anything but a loopback address needs Fleet.Hosts
	// Fleet is the machine's. Its SelfBase is the server's own origin if it is empty, and none with Undeclared; its Seed is drawn if
	// it is zero.
	Fleet         fleet.Options
	HeaderTimeout time.Duration // DefaultHeaderTimeout, at most CeilingTimeout
	BodyTimeout   time.Duration // DefaultBodyTimeout, at most CeilingTimeout
	// Observe is called for every trace record, in order, under the server's lock: it must be quick and must not call the server. The
	// request records are the admission log.
	Observe func(trace.Record)
}

// Server serves one machine until it is closed.
type Server struct {
	opt   Options
	ln    net.Listener
	http  *http.Server
	tools http.Handler
	start time.Time
	wg    sync.WaitGroup // connections and the accept loop
	stop  func() bool    // detaches from the context

	mu      sync.Mutex
	machine *fleet.Server
	conns   map[fleet.Conn]*conn
	last    fleet.Conn
	waiters []*waiter
	timer   *time.Timer
	sockets int
	closed  bool
}

type waiter struct {
	cond func(fleet.State) bool
	done chan struct{}
}

// ErrClosed is returned by calls on a server that was closed.
var ErrClosed = errors.New("fleet server closed")

// Start listens and serves until ctx ends or Close is called. An error names the setting that is wrong, or is the network's; none
// holds a credential.
func Start(ctx context.Context, opt Options) (*Server, error) {
	if opt.Addr == "" {
		opt.Addr = "127.0.0.1:0"
	}
	for _, t := range []struct {
		name string
		p    *time.Duration
		def  time.Duration
	}{{"header timeout", &opt.HeaderTimeout, DefaultHeaderTimeout}, {"body timeout", &opt.BodyTimeout, DefaultBodyTimeout}} {
		if *t.p == 0 {
			*t.p = t.def
		}
		if *t.p < 0 || *t.p > CeilingTimeout {
			return nil, fmt.Errorf("%s: %v is not above 0 and at most %v", t.name, *t.p, CeilingTimeout)
		}
	}
	host, _, err := net.SplitHostPort(opt.Addr)
	if err != nil {
		return nil, fmt.Errorf("addr: %q is not host:port", opt.Addr)
	}
	if !loopback(host) && len(opt.Fleet.Hosts) == 0 {
		return nil, fmt.Errorf("addr: %q is no loopback address; name the hosts that requests may be for", opt.Addr)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opt.Addr)
	if err != nil {
		return nil, err
	}
	switch opt.Fleet.SelfBase {
	case "":
		opt.Fleet.SelfBase = "http://" + ln.Addr().String()
	case Undeclared:
		opt.Fleet.SelfBase = ""
	}
	if opt.Fleet.Seed == [32]byte{} {
		_, _ = rand.Read(opt.Fleet.Seed[:]) // never fails
	}
	machine, err := fleet.New(opt.Fleet)
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	s := &Server{opt: opt, ln: ln, start: time.Now(), machine: machine, conns: map[fleet.Conn]*conn{}}
	s.tools = newTools(s)
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: opt.HeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: MaxHeaderBytes,
		ConnState: s.connState, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, socketKey{}, c) }}
	s.mu.Lock()
	s.timer = time.AfterFunc(time.Hour, s.wake)
	s.drain()
	s.mu.Unlock()
	s.wg.Go(func() { _ = s.http.Serve(ln) })
	s.mu.Lock()
	s.stop = context.AfterFunc(ctx, func() { _ = s.Close() })
	s.mu.Unlock()
	return s, nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// PlaneBase is the address that a relay is given.
func (s *Server) PlaneBase() string { return "http://" + s.ln.Addr().String() }

// URL is the wake stream's.
func (s *Server) URL() string { return s.PlaneBase() + fleet.EventsPath }

// PollURL is where a poll is posted to.
func (s *Server) PollURL() string { return s.PlaneBase() + fleet.PollPath }

// ControlURL is the root of the control API.
func (s *Server) ControlURL() string { return s.PlaneBase() + controlRoot }

// connState counts sockets and closes those above MaxSockets.
func (s *Server) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.wg.Add(1)
		if s.sockets++; s.sockets > MaxSockets {
			_ = c.Close()
		}
	case http.StateClosed:
		s.sockets--
		s.wg.Done()
	}
}

// Close ends all connections and waits until everything that the server started is gone. Later calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.wg.Wait()
		return nil
	}
	s.closed = true
	s.timer.Stop()
	for _, c := range s.conns {
		c.poke()
	}
	for _, w := range s.waiters {
		close(w.done)
	}
	s.waiters = nil
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	err := s.http.Close()
	s.wg.Wait()
	return err
}

func (s *Server) now() fleet.Now {
	return fleet.Now{Mono: time.Since(s.start), Wall: time.Now().UnixMilli()}
}

// Do makes one input of the machine: f runs under the server's lock and must not keep the machine. What became due is on its way
// when Do returns.
func (s *Server) Do(f func(*fleet.Server, fleet.Now) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	err := f(s.machine, s.now())
	s.drain()
	return err
}

// Publish writes events for identity into the plane's log and sends their digest (fleet.Server.Publish).
func (s *Server) Publish(identity string, events ...fleet.Event) (out fleet.Published, err error) {
	err = s.Do(func(m *fleet.Server, now fleet.Now) error {
		out, err = m.Publish(now, identity, events)
		return err
	})
	return out, err
}

// State reads the machine.
func (s *Server) State() fleet.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.State()
}

// WaitFor returns when cond holds. It is judged now and after every change, under the server's lock; there is no polling.
func (s *Server) WaitFor(ctx context.Context, cond func(fleet.State) bool) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	if cond(s.machine.State()) {
		s.mu.Unlock()
		return nil
	}
	w := &waiter{cond, make(chan struct{})}
	s.waiters = append(s.waiters, w)
	s.mu.Unlock()
	var err error
	select {
	case <-w.done:
		err = ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters = slices.DeleteFunc(s.waiters, func(x *waiter) bool { return x == w })
	if w.cond == nil {
		return nil // it held
	}
	return err
}

func (s *Server) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.machine.Wake(s.now())
		s.drain()
	}
}

// drain hands on what is due; called under mu after every input.
func (s *Server) drain() {
	for {
		o, ok := s.machine.Take()
		if !ok {
			break
		}
		switch c := s.conns[o.Conn]; {
		case o.Record != nil:
			if s.opt.Observe != nil {
				s.opt.Observe(*o.Record)
			}
		case c != nil:
			c.push(o)
		}
	}
	if len(s.waiters) > 0 {
		state := s.machine.State()
		s.waiters = slices.DeleteFunc(s.waiters, func(w *waiter) bool {
			if !w.cond(state) {
				return false
			}
			w.cond = nil
			close(w.done)
			return true
		})
	}
	if at, ok := s.machine.Deadline(); ok {
		s.timer.Reset(max(at-time.Since(s.start), 0))
	}
}
