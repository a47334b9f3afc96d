// Package serve puts a simulator on a real socket: HTTP/1.1 with nothing between the machine's bytes and the network, so
// that a cut happens at the byte it was planned for, and a reset is a reset; or with TLS between them, where both still do. It
// also serves the control API.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// Limits of the network side.
const (
	// MaxSockets bounds the connections of any kind, streams and control; one above it is closed unread. It leaves room for
	// the control API beside the most streams that a simulator takes.
	MaxSockets = simulator.MaxConnections + 256
	// MaxHeaderBytes bounds a request's header: eight times the longest position.
	MaxHeaderBytes = 32 << 10
	// MaxStray bounds what a client may send behind its request; a stream reads nothing more from it.
	MaxStray = 64 << 10
	// DefaultHeaderTimeout bounds how long the head of a request may take to arrive.
	DefaultHeaderTimeout = 10 * time.Second
	// CeilingHeaderTimeout is the largest HeaderTimeout.
	CeilingHeaderTimeout = time.Minute
	// DefaultBodyTimeout bounds how long the body of a control request may take to arrive: people send a few lines.
	DefaultBodyTimeout = 10 * time.Second
	// CeilingBodyTimeout is the largest BodyTimeout: MaxBody over the slowest line that is still one.
	CeilingBodyTimeout = time.Minute
	// idleTimeout ends a control connection that nobody uses.
	idleTimeout = time.Minute
	// lingerTimeout bounds how long a WebSocket that both sides closed is kept until the client has ended its side of the connection.
	lingerTimeout = time.Second
	// drainTimeout bounds the wait for the peer's kernel to take what was written before a reset: over loopback it takes
	// microseconds, and a client that does not read may never take it.
	drainTimeout = 5 * time.Second
)

// Options says where and what is served.
type Options struct {
	Addr      string   // host:port; "127.0.0.1:0". Anything but a loopback address needs Hosts
	Hosts     []string // names under which requests may come in beside loopback ones (DNS rebinding)
	Simulator simulator.Options
	// BodyTimeout is how long the body of a control request may take: DefaultBodyTimeout, at most CeilingBodyTimeout.
	BodyTimeout time.Duration
	// HeaderTimeout is how long the head of a request may take: DefaultHeaderTimeout, at most CeilingHeaderTimeout.
	HeaderTimeout time.Duration
	// TLS serves over TLS, HTTP/1.1 still, with a certificate made for this server: for loopback and Hosts, good for a week.
	TLS bool
	// CAFile is where the certificate to trust goes, in PEM; empty writes none, see CA. With TLS only. It replaces nothing but
	// the file of an earlier simulator.
	CAFile string
	// CORS names the origins whose pages may use the server, or is "*": the pages of all may read the stream, and none may use
	// the control API. At most MaxOrigins; none by default.
	CORS []string
	// Observe is called for every trace record, in order, under the server's lock: it must be quick and must not call the
	// server.
	Observe func(trace.Record)
}

// Server serves one simulator until it is closed.
type Server struct {
	opt   Options
	ln    net.Listener
	http  *http.Server
	start time.Time
	hosts map[string]bool
	id    identity       // with TLS
	wg    sync.WaitGroup // connections of both kinds, and the accept loop
	stop  func() bool    // detaches from the context

	mu      sync.Mutex
	sim     *simulator.Simulator
	conns   map[simulator.Conn]*conn
	last    simulator.Conn
	waiters []*waiter
	timer   *time.Timer
	sockets int
	closed  bool
}

type waiter struct {
	cond func(simulator.State) bool
	done chan struct{}
}

// ErrClosed is returned by WaitFor when the server was closed.
var ErrClosed = errors.New("simulator: server closed")

// Start listens and serves until ctx ends or Close is called. An error names the setting that is wrong, or is the network's.
func Start(ctx context.Context, opt Options) (*Server, error) {
	if opt.Addr == "" {
		opt.Addr = "127.0.0.1:0"
	}
	if opt.BodyTimeout == 0 {
		opt.BodyTimeout = DefaultBodyTimeout
	}
	if opt.HeaderTimeout == 0 {
		opt.HeaderTimeout = DefaultHeaderTimeout
	}
	if opt.HeaderTimeout < 0 || opt.HeaderTimeout > CeilingHeaderTimeout {
		return nil, fmt.Errorf("header timeout: %v is not above 0 and at most %v", opt.HeaderTimeout, CeilingHeaderTimeout)
	}
	if opt.BodyTimeout < 0 || opt.BodyTimeout > CeilingBodyTimeout {
		return nil, fmt.Errorf("body timeout: %v is not above 0 and at most %v", opt.BodyTimeout, CeilingBodyTimeout)
	}
	host, _, err := net.SplitHostPort(opt.Addr)
	if err != nil {
		return nil, fmt.Errorf("addr: %q is not host:port", opt.Addr)
	}
	if !loopback(host) && len(opt.Hosts) == 0 {
		return nil, fmt.Errorf("addr: %q is no loopback address; name the hosts that requests may be for", opt.Addr)
	}
	if opt.CAFile != "" && !opt.TLS {
		return nil, errors.New("ca-out: there is no certificate to write without TLS")
	}
	if err := checkOrigins(opt.CORS); err != nil {
		return nil, err
	}
	sim, err := simulator.New(opt.Simulator)
	if err != nil {
		return nil, err
	}
	for _, wire := range simulator.WireNames() {
		if path := sim.Path(wire); strings.HasPrefix(path, "/control/") {
			return nil, fmt.Errorf("path: %q is taken by the control API", path)
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opt.Addr)
	if err != nil {
		return nil, err
	}
	var id identity
	if opt.TLS {
		if id, err = newIdentity(append([]string{host}, opt.Hosts...), time.Now()); err == nil && opt.CAFile != "" {
			if err = id.save(opt.CAFile); err != nil {
				err = fmt.Errorf("ca-out: %w", err)
			}
		}
		if err != nil {
			_ = ln.Close()
			return nil, err
		}
	}
	s := &Server{id: id, opt: opt, ln: ln, start: time.Now(), hosts: map[string]bool{}, sim: sim, conns: map[simulator.Conn]*conn{}}
	for _, h := range opt.Hosts {
		s.hosts[strings.ToLower(h)] = true
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: opt.HeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: MaxHeaderBytes,
		ConnState: s.connState, ErrorLog: log.New(io.Discard, "", 0)}
	s.mu.Lock()
	s.timer = time.AfterFunc(time.Hour, s.wake)
	s.drain() // the baseline
	s.mu.Unlock()
	if opt.TLS {
		ln = tls.NewListener(ln, id.config)
	}
	s.wg.Go(func() { _ = s.http.Serve(ln) })
	s.mu.Lock()
	s.stop = context.AfterFunc(ctx, func() { _ = s.Close() })
	s.mu.Unlock()
	return s, nil
}

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
	case http.StateClosed, http.StateHijacked: // a hijacked one is counted by the simulator
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
		c.abort()
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

func (s *Server) now() simulator.Now {
	return simulator.Now{Mono: time.Since(s.start), Wall: time.Now().UnixMilli()}
}

// Do makes one input of the simulator: f runs under the server's lock and must not keep the simulator. What became due is on
// its way when Do returns.
func (s *Server) Do(f func(*simulator.Simulator, simulator.Now) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	err := f(s.sim, s.now())
	s.drain()
	return err
}

// Publish makes n made-up changes of the given kind (simulator.AutoUpsert and so on).
func (s *Server) Publish(kind string, n int) error {
	return s.Do(func(sim *simulator.Simulator, now simulator.Now) error {
		_, err := sim.PublishAuto(now, kind, n)
		return err
	})
}

// Add puts a fault into the schedule.
func (s *Server) Add(f simulator.Fault) error {
	return s.Do(func(sim *simulator.Simulator, now simulator.Now) error { return sim.Add(now, f) })
}

// State reads the simulator.
func (s *Server) State() simulator.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sim.State()
}

// WaitFor returns when cond holds. It is judged now and after every change of the simulator, under the server's lock; there
// is no polling.
func (s *Server) WaitFor(ctx context.Context, cond func(simulator.State) bool) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	if cond(s.sim.State()) {
		s.mu.Unlock()
		return nil
	}
	w := &waiter{cond, make(chan struct{})}
	s.waiters = append(s.waiters, w)
	s.mu.Unlock()
	select {
	case <-w.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.cond == nil {
			return nil
		}
		return ErrClosed
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, x := range s.waiters {
			if x == w {
				s.waiters = append(s.waiters[:i], s.waiters[i+1:]...)
				break
			}
		}
		if w.cond == nil {
			return nil // it held while we were leaving
		}
		return ctx.Err()
	}
}

func (s *Server) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.sim.Wake(s.now())
		s.drain()
	}
}

// drain hands on what is due; called under mu after every input.
func (s *Server) drain() {
	for {
		o, ok := s.sim.Take()
		if !ok {
			break
		}
		switch {
		case o.Record != nil:
			if s.opt.Observe != nil {
				s.opt.Observe(*o.Record)
			}
		case s.conns[o.Conn] == nil:
		case o.Close != nil && o.Close.Now:
			s.conns[o.Conn].abort()
			delete(s.conns, o.Conn)
		default:
			s.conns[o.Conn].push(o)
		}
	}
	if len(s.waiters) > 0 {
		state := s.sim.State()
		keep := s.waiters[:0]
		for _, w := range s.waiters {
			if w.cond(state) {
				w.cond = nil
				close(w.done)
			} else {
				keep = append(keep, w)
			}
		}
		clear(s.waiters[len(keep):])
		s.waiters = keep
	}
	if at, ok := s.sim.Deadline(); ok {
		s.timer.Reset(max(at-time.Since(s.start), 0))
	}
}
