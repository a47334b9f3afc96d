package websocket

import (
	"context"
	"crypto/rand"
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
	readBytes = 32 << 10 // one read: a hundred messages of 300 bytes, and a fraction of the kernel's own buffer
	// writeWithin is how long a server may refuse to take what we send. A pong has 131 bytes at most, so that one that has not
	// gone out by then meets a peer that reads nothing.
	writeWithin = 10 * time.Second
	// lingerFor is how long the server has to close after a close frame of ours, before the connection is cut. Without that wait
	// bytes that nobody has read would make the kernel reset the connection, and the close frame could be lost.
	lingerFor = time.Second
)

type driver struct{}

// New is the transport over net/http's upgrade. Every Open makes a connection of its own, over HTTP/1.1, and closes it before it
// returns: no cookies, no proxy but the attempt's, and no time limit but ctx's. When ctx ends it takes leave with code 1000, and
// returns within twice lingerFor, most often at once.
//
// While the sink has no room, time stands still for the connection: no ping goes out and none counts as unanswered (D-19).
func New() transport.Transport { return driver{} }

// Describe implements transport.Transport.
func (driver) Describe(context.Context) (transport.Descriptor, error) { return Describe(), nil }

// Open implements transport.Transport. An attempt that Check refuses, certificates and a proxy that cannot be used
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
	if _, err := rand.Read(a.Draw[:]); err != nil {
		return err
	}
	c := connection{ctx: ctx, client: client, sink: to, machine: NewMachine(), start: time.Now()}
	return c.open(a)
}

// connection runs one machine over one answer at a time, and over the socket that an upgrade opens.
type connection struct {
	ctx     context.Context
	client  *endpoint.Client
	sink    transport.Sink
	machine *Machine
	body    io.ReadCloser
	socket  io.ReadWriter // the body of a 101
	over    bool
	gone    bool // the socket ended
	parting bool // we sent a close frame

	start  time.Time
	paused time.Duration // time that the sink took
}

// open follows redirects until there is a socket, or nothing more to ask.
func (c *connection) open(a transport.Attempt) error {
	c.machine.Wake(c.now())
	c.machine.Start(a)
	request, err := c.drain()
	for request != nil && err == nil {
		c.close()
		c.ask(request)
		request, err = c.drain()
	}
	defer c.close()
	switch {
	case c.over || err != nil && c.socket == nil:
		return err
	case c.socket == nil:
		return c.ctx.Err()
	}
	return c.follow(err)
}

// now is the machine's time: it stands still while the sink has no room.
func (c *connection) now() time.Duration { return time.Since(c.start) - c.paused }

// ask sends a request and hands the answer's head, or the failure, to the machine.
func (c *connection) ask(r *transport.Request) {
	request, err := http.NewRequestWithContext(c.ctx, r.Method, r.URL, nil)
	if err != nil {
		c.machine.End(web.Broken("request-unsendable"))
		return
	}
	request.Header = http.Header(r.Header).Clone()
	if request.URL.Scheme == "http" {
		c.client.Tunnel()
	}
	answer, err := c.client.RoundTrip(request)
	c.machine.Wake(c.now())
	if err != nil {
		c.machine.End(c.client.Failure(err))
		return
	}
	c.body = answer.Body
	c.socket, _ = answer.Body.(io.ReadWriter)
	c.machine.Head(transport.Head{Status: answer.StatusCode, Header: transport.Header(answer.Header), Wall: time.Now().UnixMilli()})
}

// read is one read of the socket.
type read struct {
	b   []byte
	err error
}

// follow runs the machine over the socket until it is over or ctx ends. failed is the sink's error if that is gone already.
func (c *connection) follow(failed error) error {
	reads, free, stop := make(chan read), make(chan []byte, 2), make(chan struct{})
	free <- make([]byte, readBytes)
	free <- make([]byte, readBytes)
	var pump sync.WaitGroup
	pump.Go(func() { pumpReads(c.socket, reads, free, stop) })
	defer pump.Wait()
	defer c.close() // ends a read
	defer close(stop)
	if failed != nil {
		c.leave(reads, free)
		return failed
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		at, _ := c.machine.Deadline()
		timer.Reset(at - c.now())
		select {
		case <-c.ctx.Done():
			c.leave(reads, free)
			return c.ctx.Err()
		case <-timer.C:
			c.machine.Wake(c.now())
		case r := <-reads:
			c.machine.Wake(c.now())
			if err := c.take(r); err != nil {
				c.leave(reads, free)
				return err
			}
			free <- r.b[:readBytes]
		}
		if _, err := c.drain(); err != nil {
			c.leave(reads, free)
			return err
		}
		if c.over {
			c.linger(reads, free)
			return nil
		}
	}
}

// take hands one read to the machine.
func (c *connection) take(r read) error {
	c.machine.Bytes(r.b)
	if _, err := c.drain(); err != nil || r.err == nil {
		return err
	}
	c.gone = true
	if !c.over {
		c.machine.End(c.ended(r.err))
	}
	return nil
}

// ended is the end of the socket for the machine: nil for a clean one.
func (c *connection) ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return c.client.Failure(err)
}

// pumpReads reads the socket until it ends. It never holds more than two reads.
func pumpReads(socket io.Reader, reads chan<- read, free <-chan []byte, stop <-chan struct{}) {
	for {
		var buf []byte
		select {
		case buf = <-free:
		case <-stop:
			return
		}
		n, err := socket.Read(buf)
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

// leave takes leave of the server: ctx ended, or the sink is gone.
func (c *connection) leave(reads <-chan read, free chan<- []byte) {
	c.machine.Leave()
	if out, ok := c.machine.Take(); ok && out.Send != nil {
		c.send(out.Send)
	}
	c.linger(reads, free)
}

// linger waits, after a close frame of ours, until the server has closed, for lingerFor at most. What it still says is not read.
func (c *connection) linger(reads <-chan read, free chan<- []byte) {
	if c.gone || !c.parting {
		return
	}
	cut := time.NewTimer(lingerFor)
	defer cut.Stop()
	for {
		select {
		case <-cut.C:
			return
		case r := <-reads:
			if r.err != nil {
				return
			}
			free <- r.b[:readBytes]
		}
	}
}

// send writes to the server. A server that does not take it is cut off, which the next read tells; sooner if ctx ends.
func (c *connection) send(b []byte) {
	c.parting = c.parting || Opcode(b[0]&0x0F) == OpClose
	wrote := make(chan error, 1)
	go func() {
		_, err := c.socket.Write(b)
		wrote <- err
	}()
	limit, ended := time.NewTimer(writeWithin), c.ctx.Done()
	defer limit.Stop()
	for {
		select {
		case err := <-wrote:
			if err != nil {
				c.close()
			}
			return
		case <-ended:
			ended = nil
			limit.Reset(lingerFor)
		case <-limit.C:
			c.close()
			<-wrote
			return
		}
	}
}

// drain hands what the machine owes to the sink and the server. A request is returned; nothing else is due then.
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
		case out.Send != nil:
			c.send(out.Send)
		case out.Document != nil:
			if err := c.sink.Document(*out.Document); err != nil {
				return nil, err
			}
		case out.Signal != nil:
			if c.over = out.Signal.Kind.Final(); c.over && c.ctx.Err() != nil && out.Signal.Kind == transport.Ended {
				return nil, c.ctx.Err() // our own doing, not the server's
			}
			if err := c.tell(*out.Signal); err != nil {
				return nil, err
			}
		}
	}
}

// tell hands a signal on. The server must not wait until the sink has room for a final one: it has lingerFor after our close frame,
// and nothing without one.
func (c *connection) tell(s transport.Signal) error {
	switch {
	case !s.Kind.Final():
	case !c.parting:
		c.close()
	default:
		done := make(chan struct{})
		cut := time.AfterFunc(lingerFor, func() { c.close(); close(done) })
		defer func() {
			if !cut.Stop() {
				<-done
			}
		}()
	}
	return c.sink.Signal(s)
}

// close ends what is open. It may be called at any time, also twice.
func (c *connection) close() {
	if c.body != nil {
		c.body.Close()
	}
}
