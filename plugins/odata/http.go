package odata

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"time"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// Limits of the driver.
const (
	readBytes = 32 << 10
	// windowBytes is what a server may send over HTTP/2 before it was read; net/http alone would take 4 MiB.
	windowBytes = 1 << 20
	// idleFor is how long a connection is kept for the next poll: about as long as servers do.
	idleFor = 60 * time.Second
)

type driver struct{}

// New is the transport over net/http. Every Open has a client of its own, makes one request at a time, keeps at most one connection between
// requests, and closes it before it returns: no cookies, no compression, no proxy but the attempt's. The bodies of pages are read as
// they come and never held whole.
func New() transport.Transport { return driver{} }

// Describe implements transport.Transport.
func (driver) Describe(context.Context) (transport.Descriptor, error) { return Describe(), nil }

// Open implements transport.Transport: it polls until a final signal. An attempt that Check refuses, certificates and a proxy that cannot be used
// are Refused without a request. It returns the sink's error when that failed, and ctx's error when ctx ended first.
func (driver) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	if err := Check(a); err != nil {
		return to.Signal(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
	}
	client, err := endpoint.NewClient(a)
	if err != nil {
		return to.Signal(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
	}
	defer client.CloseIdleConnections()
	client.ForceAttemptHTTP2 = true
	client.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: windowBytes}
	client.DisableKeepAlives = false // the pages of a cycle come over one connection
	client.MaxIdleConnsPerHost = 1
	client.IdleConnTimeout = idleFor
	if _, err := rand.Read(a.Draw[:]); err != nil {
		return err
	}
	c := &connection{ctx: ctx, client: client, sink: to, machine: NewMachine(), from: time.Now()}
	defer c.drop()
	c.tell()
	c.machine.Start(a)
	return c.run()
}

// connection runs one machine over one request after the other.
type connection struct {
	ctx     context.Context
	client  *endpoint.Client
	sink    transport.Sink
	machine *Machine
	from    time.Time
	under   *request // way; nil between requests
	over    bool
}

func (c *connection) tell() { c.machine.Wake(time.Since(c.from)) }

func (c *connection) run() error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if err := c.drain(); err != nil || c.over {
			return err
		}
		at, ok := c.machine.Deadline()
		if !ok {
			at = time.Hour
		}
		timer.Reset(at - time.Since(c.from))
		var parts chan part
		if c.under != nil {
			parts = c.under.parts
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-timer.C:
			c.tell()
		case p, more := <-parts:
			c.tell()
			if !more {
				c.under = nil
				continue
			}
			u := c.under
			p.give(c.machine)
			if err := c.drain(); err != nil || c.over {
				return err
			}
			if c.under == u && p.b != nil {
				u.free <- p.b[:readBytes]
			}
		}
	}
}

// drain hands what the machine owes to the sink, and starts its next request.
func (c *connection) drain() error {
	for {
		out, ok := c.machine.Take()
		switch {
		case !ok:
			return nil
		case out.Request != nil:
			c.drop()
			c.under = c.ask(out.Request)
		case out.Document != nil:
			if err := c.sink.Document(*out.Document); err != nil {
				return err
			}
		case out.Signal != nil:
			if c.over = out.Signal.Kind.Final(); c.over {
				if c.ctx.Err() != nil && out.Signal.Kind == transport.Ended {
					return c.ctx.Err() // our own doing, not the server's
				}
				c.drop() // the server must not wait for the sink
			}
			if err := c.sink.Signal(*out.Signal); err != nil {
				return err
			}
		}
	}
}

// drop ends the request under way, and waits until nothing of it is left.
func (c *connection) drop() {
	if c.under == nil {
		return
	}
	c.under.cancel()
	for range c.under.parts {
	}
	c.under = nil
}

// request is one request under way, on a goroutine of its own: reads block, and the machine has deadlines.
type request struct {
	cancel context.CancelFunc
	parts  chan part
	free   chan []byte
}

// part is what came of a request: its head, a read, or its end.
type part struct {
	head *transport.Head
	b    []byte
	end  bool
	err  error
}

func (p part) give(m *Machine) {
	switch {
	case p.head != nil:
		m.Head(*p.head)
	case p.end:
		m.End(p.err)
	default:
		m.Bytes(p.b)
	}
}

// ask sends a request. Its parts come in order, until they are closed.
func (c *connection) ask(r *transport.Request) *request {
	ctx, cancel := context.WithCancel(c.ctx)
	u := &request{cancel: cancel, parts: make(chan part), free: make(chan []byte, 1)}
	u.free <- make([]byte, readBytes)
	go func() {
		defer close(u.parts)
		defer cancel()
		c.fetch(ctx, r, u)
	}()
	return u
}

func (c *connection) fetch(ctx context.Context, r *transport.Request, u *request) {
	send := func(p part) bool {
		select {
		case u.parts <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	q, err := http.NewRequestWithContext(ctx, r.Method, r.URL, nil)
	if err != nil {
		send(part{end: true, err: web.Broken("request-unsendable")})
		return
	}
	q.Header = http.Header(r.Header).Clone()
	answer, err := c.client.RoundTrip(q)
	if err != nil {
		send(part{end: true, err: c.client.Failure(err)})
		return
	}
	defer answer.Body.Close()
	if !send(part{head: &transport.Head{Status: answer.StatusCode, Header: transport.Header(answer.Header), Wall: time.Now().UnixMilli()}}) {
		return
	}
	for {
		var buf []byte
		select {
		case buf = <-u.free:
		case <-ctx.Done():
			return
		}
		n, err := answer.Body.Read(buf)
		if n > 0 && !send(part{b: buf[:n]}) {
			return
		}
		if n == 0 {
			u.free <- buf
		}
		if err == nil {
			continue
		}
		if err == io.EOF {
			err = nil
		}
		send(part{end: true, err: c.client.Failure(err)})
		return
	}
}
