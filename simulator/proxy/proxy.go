package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Limits of the driver.
const (
	// MaxOpen bounds the connections at one time; one above it is closed at once, and told of.
	MaxOpen = 1024
	// chunk is how much is read at once, in bytes: what a connection can hold in one direction.
	chunk = 32 << 10
	// dialTime bounds how long the server may take to accept a connection.
	dialTime = 10 * time.Second
)

// Event is something that the proxy did or saw.
type Event struct {
	Connection int    `json:"connection"`
	What       string `json:"what"` // opened, refused, full, closed, unreachable, or the kind of a fault that struck
	From       Side   `json:"from,omitempty"`
	At         int64  `json:"at"` // bytes from that side that were handed on
}

// Proxy listens and hands on until it is closed.
type Proxy struct {
	to      string
	ln      net.Listener
	observe func(Event)
	wg      sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc

	mu       sync.Mutex
	schedule Schedule
	made     int // connections so far
	limit    int // MaxOpen; a test has less
	open     map[*conn]bool
	closed   bool
}

// Start listens at addr and hands each connection on to the host:port to. observe, if not nil, is told of every event, one at a time; it must
// be quick. An error is the network's, or a fault's that is none.
func Start(ctx context.Context, addr, to string, s Schedule, observe func(Event)) (*Proxy, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	p := &Proxy{to: to, ln: ln, observe: observe, schedule: s, limit: MaxOpen, open: map[*conn]bool{}}
	p.ctx, p.stop = context.WithCancel(ctx)
	p.wg.Go(p.accept)
	context.AfterFunc(p.ctx, func() { _ = ln.Close() })
	return p, nil
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Set replaces the schedule for the connections that come, counted from the next one. An error names a fault that is none, and changes
// nothing.
func (p *Proxy) Set(s Schedule) error {
	if err := s.Check(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.schedule, p.made = s, 0
	return nil
}

// Close ends every connection and waits until nothing runs any more.
func (p *Proxy) Close() error {
	p.mu.Lock()
	already := p.closed
	p.closed = true
	for c := range p.open {
		c.kill(endCut)
	}
	p.mu.Unlock()
	p.stop()
	err := p.ln.Close()
	p.wg.Wait()
	if already || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) tell(e Event) {
	if p.observe != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.observe(e)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		full := p.closed || len(p.open) >= p.limit
		p.made++
		c := &conn{proxy: p, n: p.made, client: client, faults: p.schedule.Of(p.made), start: time.Now(), done: make(chan struct{})}
		if !full {
			p.open[c] = true
		}
		p.mu.Unlock()
		if full {
			p.tell(Event{Connection: c.n, What: "full"})
			_ = client.Close()
			continue
		}
		p.wg.Go(func() {
			c.run()
			p.mu.Lock()
			delete(p.open, c)
			p.mu.Unlock()
		})
	}
}

// conn is one connection with both its sides.
type conn struct {
	proxy  *Proxy
	n      int
	faults []Fault
	start  time.Time
	once   sync.Once
	done   chan struct{} // closed when both sides are over

	mu             sync.Mutex
	client, server net.Conn
}

func (c *conn) run() {
	if refuses(c.faults) {
		c.proxy.tell(Event{Connection: c.n, What: "refused"})
		c.kill(endReset)
		return
	}
	ctx, cancel := context.WithTimeout(c.proxy.ctx, dialTime)
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.proxy.to)
	cancel()
	if err != nil {
		c.proxy.tell(Event{Connection: c.n, What: "unreachable"})
		c.kill(endReset)
		return
	}
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	select {
	case <-c.done: // it was ended meanwhile
		_ = server.Close()
		return
	default:
	}
	c.proxy.tell(Event{Connection: c.n, What: "opened"})
	var wg sync.WaitGroup
	up, down := newPipe(c.faults, Client), newPipe(c.faults, Server)
	upOver, downOver := make(chan struct{}), make(chan struct{})
	wg.Go(func() { defer close(upOver); c.carry(up, Client, c.client, server, downOver) })
	wg.Go(func() { defer close(downOver); c.carry(down, Server, server, c.client, upOver) })
	wg.Wait()
	c.kill(endCut)
	c.proxy.tell(Event{Connection: c.n, What: "closed"})
}

// kill ends both sides, once.
func (c *conn) kill(how ending) {
	c.once.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.done)
		for _, side := range []net.Conn{c.client, c.server} {
			if tcp, ok := side.(*net.TCPConn); ok {
				if how == endReset {
					_ = tcp.SetLinger(0)
				}
				_ = tcp.Close()
			}
		}
	})
}

// carry moves the bytes of one direction as its pipe says, until they end. over is closed when the other direction has ended: what is held back
// for good is held no longer than that.
func (c *conn) carry(p *pipe, from Side, source, target net.Conn, over <-chan struct{}) {
	buffer := make([]byte, chunk)
	for {
		if p.due() && !c.do(p, from, nil, target, over) { // a fault before the next byte
			return
		}
		n, err := source.Read(buffer)
		if n > 0 && !c.do(p, from, buffer[:n], target, over) {
			return
		}
		if err != nil {
			if tcp, ok := target.(*net.TCPConn); ok && !p.deaf && !p.forever {
				_ = tcp.CloseWrite() // the end is handed on as it came
			}
			if p.deaf { // the other side is told nothing: it stays as it is until it ends itself
				c.sleep(-1, over)
			}
			return
		}
	}
}

// do hands b on; false when the connection is over.
func (c *conn) do(p *pipe, from Side, b []byte, target net.Conn, over <-chan struct{}) bool {
	came := time.Since(c.start)
	for {
		s := p.next(time.Since(c.start), came, len(b))
		for _, f := range p.take() {
			c.proxy.tell(Event{Connection: c.n, What: string(f.Kind), From: from, At: p.pos})
		}
		switch {
		case s.end != goesOn:
			c.kill(s.end)
			return false
		case s.wait != 0:
			if !c.sleep(s.wait, over) {
				return false
			}
		case s.drop > 0:
			b = b[s.drop:]
		case s.forward > 0:
			if _, err := target.Write(b[:s.forward]); err != nil {
				c.kill(endCut)
				return false
			}
			b = b[s.forward:]
		}
		if len(b) == 0 && !p.due() {
			return true
		}
	}
}

// sleep waits until a time of the connection, until the other direction is over if that is negative; false when the connection is over.
func (c *conn) sleep(until time.Duration, over <-chan struct{}) bool {
	if until < 0 {
		select {
		case <-c.done:
		case <-over:
		}
		return false
	}
	timer := time.NewTimer(until - time.Since(c.start))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.done:
		return false
	}
}

// String is the event in one line.
func (e Event) String() string {
	if e.From == "" {
		return fmt.Sprintf("%d %s", e.Connection, e.What)
	}
	return fmt.Sprintf("%d %s from %s at %d", e.Connection, e.What, e.From, e.At)
}
