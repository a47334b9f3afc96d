package fleetserve

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
)

// socketKey is where a request's context holds its socket.
type socketKey struct{}

// conn is one request. The goroutine that net/http gave it writes what the machine hands out, in its order.
type conn struct {
	id     fleet.Conn
	server *Server
	socket net.Conn
	ready  chan struct{}
	queue  []simulator.Output // under the server's lock; the machine bounds it
}

// ServeHTTP serves the control API and the plane's tool; everything else is the machine's.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	socket, _ := r.Context().Value(socketKey{}).(net.Conn)
	_ = socket.SetWriteDeadline(time.Time{}) // an ended stream may have left one
	switch {
	case strings.HasPrefix(r.URL.Path, controlRoot+"/"):
		s.control(w, r)
	case strings.EqualFold(r.URL.Path, fleet.ToolPath):
		s.tool(w, r)
	default:
		s.serve(w, r, socket)
	}
}

// request reads r as the machine takes it; a body no further than it counts.
func (s *Server) request(w http.ResponseWriter, r *http.Request, limit int) fleet.Request {
	out := fleet.Request{Method: r.Method, Target: r.URL.RequestURI(), Host: r.Host, Header: simulator.Header(r.Header)}
	if limit == 0 {
		return out
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(s.opt.BodyTimeout))
	var err error
	out.Body, err = io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	_ = c.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		out.State = fleet.BodyBroken
	case len(out.Body) > limit:
		out.State = fleet.BodyLarge
	}
	return out
}

// serve gives a request to the machine and writes until its answer has ended or its client has left.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, socket net.Conn) {
	request := s.request(w, r, s.machine.Limit(r.Method, r.URL.RequestURI()))
	c := &conn{server: s, socket: socket, ready: make(chan struct{}, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.last++
	c.id = s.last
	s.conns[c.id] = c
	s.machine.Request(s.now(), c.id, request)
	s.drain()
	s.mu.Unlock()
	err := c.write(w, r.Context().Done())
	s.mu.Lock()
	delete(s.conns, c.id)
	if !s.closed {
		s.machine.Gone(s.now(), c.id) // means nothing if the end was ours
		s.drain()
	}
	s.mu.Unlock()
	if err != nil {
		panic(http.ErrAbortHandler) // ends the connection without a proper end of the body
	}
}

// push queues one output; called under the server's lock. An end is not held up by a client that does not read.
func (c *conn) push(o simulator.Output) {
	c.queue = append(c.queue, o)
	if o.Close != nil {
		if o.Close.Now {
			_ = c.socket.Close()
		} else {
			_ = c.socket.SetWriteDeadline(time.Now().Add(finishTimeout))
		}
	}
	c.poke()
}

func (c *conn) poke() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

func (c *conn) take() ([]simulator.Output, bool) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	q := c.queue
	c.queue = nil
	return q, c.server.closed
}

var errCut = errors.New("cut")

// write puts out what the machine hands out. A nil error is an end as the protocol says.
func (c *conn) write(w http.ResponseWriter, left <-chan struct{}) error {
	control := http.NewResponseController(w)
	begun := false
	for {
		select {
		case <-c.ready:
		case <-left:
			return errCut
		}
		q, closed := c.take()
		if closed {
			return errCut
		}
		n := 0
		for _, o := range q {
			switch {
			case o.Head != nil:
				for name, values := range o.Head.Header {
					w.Header()[name] = values
				}
				w.WriteHeader(o.Head.Status)
				begun = true
			case o.Close != nil:
				return c.finish(o.Close.Kind, begun, control)
			default:
				if _, err := w.Write(o.Bytes); err != nil {
					return err
				}
				n += len(o.Bytes)
			}
		}
		if n == 0 {
			continue
		}
		if err := control.Flush(); err != nil { // an answer that is no stream ended above, in one piece
			return err
		}
		c.written(n)
	}
}

func (c *conn) written(n int) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.machine.Written(s.now(), c.id, n)
		s.drain()
	}
}

// finish ends the answer: properly, or not at all.
func (c *conn) finish(kind simulator.CloseKind, begun bool, control *http.ResponseController) error {
	if kind == simulator.EOF {
		return nil
	}
	if begun {
		_ = control.Flush() // what was handed out before a cut is sent
	}
	if tcp, ok := c.socket.(*net.TCPConn); ok && kind == simulator.Reset {
		_ = tcp.SetLinger(0)
	}
	return errCut
}
