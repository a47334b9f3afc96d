package fleetwake

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// Limits of the driver.
const (
	readBytes   = 32 << 10 // one read: dozens of wakes
	windowBytes = 1 << 20  // what a server may send over HTTP/2 before the sink has taken it
)

type driver struct{}

// New is the transport over net/http. Every Open makes a connection of its own for the stream and one for its poll, and closes both
// before it returns: no pool, no cookies, no compression, no proxy but the attempt's, no redirects, and no time limit but ctx's and the
// poll's own.
//
// While the sink has no room, time stands still for the connection: a poll that was answered meanwhile is not late.
func New() transport.Transport { return driver{} }

// Describe implements transport.Transport.
func (driver) Describe(context.Context) (transport.Descriptor, error) { return Describe(), nil }

// Open implements transport.Transport. An attempt that Check refuses, certificates and a proxy that cannot be used
// are Refused without a request. It returns the sink's error when that failed, and ctx's error when ctx ended first.
func (driver) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	p, err := newPlan(a)
	if err != nil {
		return to.Signal(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
	}
	client, err := endpoint.NewClient(a)
	if err != nil {
		return to.Signal(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
	}
	defer client.CloseIdleConnections()
	client.ForceAttemptHTTP2 = true
	client.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: windowBytes}
	c := connection{ctx: ctx, client: client, sink: to, machine: NewMachine(), start: time.Now(), polled: make(chan polled, 1)}
	c.seam = func(ctx context.Context, due Poll) (PollResult, func()) { return performPoll(ctx, a, p, due) }
	defer c.close()
	return c.run(a)
}

// connection runs one machine over one stream, and its poll beside it.
type connection struct {
	ctx     context.Context
	client  *endpoint.Client
	sink    transport.Sink
	machine *Machine
	body    io.ReadCloser
	over    bool

	seam   func(context.Context, Poll) (r PollResult, tidy func())
	polled chan polled // of capacity 1: a connection makes one poll

	start  time.Time
	paused time.Duration // time that the sink took
}

// polled is a poll with its result.
type polled struct {
	poll   Poll
	result PollResult
}

// now is the machine's time: it stands still while the sink has no room.
func (c *connection) now() time.Duration { return time.Since(c.start) - c.paused }

func (c *connection) run(a transport.Attempt) error {
	c.machine.Wake(c.now())
	c.machine.Start(a)
	request, err := c.drain()
	if request != nil && err == nil {
		c.ask(request)
		_, err = c.drain()
	}
	switch {
	case err != nil || c.over:
		return err
	case c.body == nil:
		return c.ctx.Err()
	}
	return c.follow()
}

// ask sends the request and hands the answer's head, or the failure, to the machine.
func (c *connection) ask(r *transport.Request) {
	request, err := http.NewRequestWithContext(c.ctx, r.Method, r.URL, nil)
	if err != nil {
		c.machine.End(web.Broken("request-unsendable"))
		return
	}
	request.Header = http.Header(r.Header).Clone()
	answer, err := c.client.RoundTrip(request)
	c.machine.Wake(c.now())
	if err != nil {
		c.machine.End(c.client.Failure(err))
		return
	}
	c.body = answer.Body
	c.machine.Head(transport.Head{Status: answer.StatusCode, Header: transport.Header(answer.Header), Wall: time.Now().UnixMilli()})
}

// read is one read of the body.
type read struct {
	b   []byte
	err error
}

// follow runs the machine over the stream until it is over or ctx ends.
func (c *connection) follow() error {
	reads, free, stop := make(chan read), make(chan []byte, 2), make(chan struct{})
	free <- make([]byte, readBytes)
	free <- make([]byte, readBytes)
	pollCtx, endPoll := context.WithCancel(c.ctx)
	var beside sync.WaitGroup
	body := c.body
	beside.Go(func() { pumpReads(body, reads, free, stop) })
	defer beside.Wait()
	defer c.close() // ends a read
	defer close(stop)
	defer endPoll()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Stop()
		if at, waiting := c.machine.Deadline(); waiting {
			timer.Reset(at - c.now())
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-timer.C:
			c.machine.Wake(c.now())
		case p := <-c.polled:
			c.machine.Wake(c.now())
			c.machine.Polled(p.poll, p.result)
		case r := <-reads:
			c.machine.Wake(c.now())
			if err := c.take(r); err != nil {
				return err
			}
			free <- r.b[:readBytes]
		}
		if _, err := c.drain(); err != nil || c.over {
			return err
		}
		if p, due := c.machine.PollDue(); due {
			beside.Go(func() { c.poll(pollCtx, p) })
		}
	}
}

// take hands one read to the machine.
func (c *connection) take(r read) error {
	c.machine.Bytes(r.b)
	if _, err := c.drain(); err != nil || r.err == nil || c.over {
		return err
	}
	if r.err == io.EOF {
		r.err = nil
	}
	c.machine.End(c.client.Failure(r.err))
	return nil
}

// poll makes the one poll of this connection. What has to be tidied up behind it does not hold its answer back.
func (c *connection) poll(ctx context.Context, p Poll) {
	ctx, cancel := context.WithTimeout(ctx, c.machine.PollTimeout())
	defer cancel()
	result, tidy := c.seam(ctx, p)
	c.polled <- polled{p, result}
	tidy()
}

// pumpReads reads the body until it ends. It never holds more than two reads.
func pumpReads(body io.Reader, reads chan<- read, free <-chan []byte, stop <-chan struct{}) {
	for {
		var buf []byte
		select {
		case buf = <-free:
		case <-stop:
			return
		}
		n, err := body.Read(buf)
		select {
		case reads <- read{buf[:n], err}:
		case <-stop:
			return
		}
		if err != nil {
			return
		}
	}
}

// drain hands what the machine owes to the sink. A request is returned; nothing else is due then.
func (c *connection) drain() (*transport.Request, error) {
	from := time.Now()
	defer func() { c.paused += time.Since(from) }()
	for {
		out, ok := c.machine.Take()
		switch {
		case !ok:
			return nil, nil
		case out.Request != nil:
			return out.Request, nil
		case out.Signal != nil:
			if c.over = out.Signal.Kind.Final(); c.over && c.ctx.Err() != nil && out.Signal.Kind == transport.Ended {
				return nil, c.ctx.Err() // our own doing, not the server's
			}
			if c.over {
				c.close() // the server must not wait for the sink
			}
			if err := c.sink.Signal(*out.Signal); err != nil {
				return nil, err
			}
		}
	}
}

// close ends what is open. It may be called twice.
func (c *connection) close() {
	if c.body != nil {
		c.body.Close()
	}
}
