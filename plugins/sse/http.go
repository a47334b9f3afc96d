package sse

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// Limits of the driver.
const (
	readBytes = 32 << 10 // one read: a hundred events of 300 bytes, and a fraction of the kernel's own buffer
	// windowBytes is what a server may send over HTTP/2 before the sink has taken it; net/http alone would take 4 MiB, and a
	// sink without room is to slow the server down.
	windowBytes = 1 << 20
)

type driver struct{}

// New is the transport over net/http. Every Open makes a connection of its own and closes it before it returns: no pool, no
// cookies, no compression, no proxy but the attempt's, and no time limit but ctx's. Over TLS it speaks HTTP/2 with servers that
// offer it, otherwise HTTP/1.1.
//
// net/http hands a chunk over only together with the part of the next one that has come, and waits for the rest of that one
// first, up to readBytes. A server that stalls in the middle of a chunk therefore holds back what it sent right before; a
// server that flushes whole chunks, as they all do, is not affected.
func New() transport.Transport { return driver{} }

// Describe implements transport.Transport.
func (driver) Describe(context.Context) (transport.Descriptor, error) { return Describe(), nil }

// Open implements transport.Transport. An attempt that Check refuses, certificates and a proxy that cannot be used
// are Refused without a request. It returns the sink's error when that failed, and ctx's error when ctx ended first.
func (driver) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	if err := Check(a); err != nil {
		return to.Signal(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
	}
	c := connection{ctx: ctx, sink: to, machine: NewMachine()}
	client, err := endpoint.NewClient(a)
	if err != nil {
		return to.Signal(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
	}
	defer client.CloseIdleConnections()
	client.ForceAttemptHTTP2 = true
	client.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: windowBytes}
	c.client = client
	defer c.closeBody()
	c.machine.Start(a)
	return c.run()
}

// connection runs one machine over one answer at a time.
type connection struct {
	ctx     context.Context
	client  *endpoint.Client
	sink    transport.Sink
	machine *Machine
	body    io.ReadCloser
	over    bool
}

func (c *connection) run() error {
	request, err := c.drain()
	for request != nil && err == nil {
		c.closeBody()
		c.ask(request)
		request, err = c.drain()
	}
	buf := make([]byte, readBytes)
	for !c.over && err == nil {
		n, failure := c.body.Read(buf)
		c.machine.Bytes(buf[:n])
		if _, err = c.drain(); err != nil || c.over {
			break
		}
		if failure == nil {
			continue
		}
		if failure == io.EOF {
			failure = nil
		}
		c.machine.End(c.client.Failure(failure))
		_, err = c.drain()
	}
	if err == nil && !c.over {
		err = c.ctx.Err()
	}
	return err
}

// ask sends a request and hands the answer's head, or the failure, to the machine.
func (c *connection) ask(r *transport.Request) {
	request, err := http.NewRequestWithContext(c.ctx, r.Method, r.URL, nil)
	if err != nil {
		c.machine.End(web.Broken("request-unsendable"))
		return
	}
	request.Header = http.Header(r.Header).Clone()
	answer, err := c.client.RoundTrip(request)
	if err != nil {
		c.machine.End(c.client.Failure(err))
		return
	}
	c.body = answer.Body
	c.machine.Head(transport.Head{Status: answer.StatusCode, Header: transport.Header(answer.Header), Wall: time.Now().UnixMilli()})
}

// drain hands what the machine owes to the sink. A request is returned; nothing else is due then.
func (c *connection) drain() (*transport.Request, error) {
	for {
		out, ok := c.machine.Take()
		switch {
		case !ok:
			return nil, nil
		case out.Request != nil:
			return out.Request, nil
		case out.Document != nil:
			if err := c.sink.Document(*out.Document); err != nil {
				return nil, err
			}
		case out.Signal != nil:
			if c.over = out.Signal.Kind.Final(); c.over && c.ctx.Err() != nil && out.Signal.Kind == transport.Ended {
				return nil, c.ctx.Err() // our own doing, not the server's
			}
			if c.over {
				c.closeBody() // the server must not wait for the sink
			}
			if err := c.sink.Signal(*out.Signal); err != nil {
				return nil, err
			}
		}
	}
}

func (c *connection) closeBody() {
	if c.body != nil {
		c.body.Close()
		c.body = nil
	}
}
