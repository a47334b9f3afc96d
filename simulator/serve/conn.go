package serve

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/conform-dev/conform/simulator"
)

// conn is one connection of any wire. One goroutine writes what the machine hands out, in its order; another gives it what the
// client sends behind an upgrade, and notices that the client left.
type conn struct {
	id      simulator.Conn
	server  *Server
	net     net.Conn
	chunked bool              // HTTP/1.1; an older client gets a body that the end of the connection ends
	bare    bool              // HEAD: no body
	share   map[string]string // headers for a page of another origin
	ready   chan struct{}
	done    chan struct{} // closed when nothing more is read

	// Under the server's lock.
	queue    []simulator.Output
	upgraded bool // behind 101: raw bytes, both ways
	leaving  bool // everything was written; what the client still sends is only taken off the network
}

// stream takes a request out of net/http's hands and gives it to the simulator.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	raw, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		problem(w, refusal{status: http.StatusInternalServerError, detail: "the connection cannot be taken over"})
		return
	}
	_ = raw.SetDeadline(time.Time{})
	c := &conn{server: s, net: raw, chunked: r.ProtoAtLeast(1, 1), bare: r.Method == http.MethodHead, share: s.share(r),
		ready: make(chan struct{}, 1), done: make(chan struct{})}
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered()) // sent right behind the request, at most one buffer
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = raw.Close()
		return
	}
	s.last++
	c.id = s.last
	s.conns[c.id] = c
	s.wg.Go(c.write)
	s.wg.Go(func() { c.read(len(early)) })
	s.sim.Request(s.now(), c.id, simulator.Request{Method: r.Method, Target: r.URL.RequestURI(), Header: simulator.Header(r.Header),
		Origin: s.called(r.Host)})
	s.drain()
	if len(early) > 0 && s.conns[c.id] == c && c.upgraded {
		s.sim.Received(s.now(), c.id, early)
		s.drain()
	}
}

// push queues one output; called under the server's lock. The machine bounds the queue.
func (c *conn) push(o simulator.Output) {
	c.queue = append(c.queue, o)
	c.upgraded = c.upgraded || o.Head != nil && o.Head.Status == http.StatusSwitchingProtocols
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// take waits for queued outputs; nil when the connection is over.
func (c *conn) take() []simulator.Output {
	for range c.ready {
		c.server.mu.Lock()
		q := c.queue
		c.queue = nil
		over := c.server.closed || c.server.conns[c.id] != c
		c.server.mu.Unlock()
		if len(q) > 0 {
			return q
		}
		if over {
			return nil
		}
	}
	return nil
}

// abort ends the connection at once; called under the server's lock. The blocked writer and reader fail.
func (c *conn) abort() {
	under := transportOf(c.net)
	if t, ok := under.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = under.Close()
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// read takes what the client sends. Its end, or an error, means that the client left; a half-closed connection counts as
// left. Behind an upgrade the bytes are the machine's, one buffer at a time; otherwise at most MaxStray of them come.
func (c *conn) read(stray int) {
	defer close(c.done)
	buf := make([]byte, 4096)
	for stray <= MaxStray {
		n, err := c.net.Read(buf)
		if n > 0 && !c.received(buf[:n]) {
			stray += n
		}
		if err != nil {
			break
		}
	}
	c.gone()
}

// received gives bytes to the machine; false if they are not for it.
func (c *conn) received(b []byte) bool {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.upgraded {
		return false
	}
	if s.conns[c.id] == c && !s.closed && !c.leaving {
		s.sim.Received(s.now(), c.id, b)
		s.drain()
	}
	return true
}

func (c *conn) gone() {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c.id] != c || c.leaving {
		return // the end was ours
	}
	delete(s.conns, c.id)
	c.abort()
	if !s.closed {
		s.sim.Gone(s.now(), c.id)
		s.drain()
	}
}

func (c *conn) write() {
	for {
		q := c.take()
		if q == nil {
			return
		}
		for _, o := range q {
			if o.Close != nil {
				c.finish(o.Close.Kind)
				return
			}
			if err := c.put(o); err != nil {
				c.gone()
				return
			}
			if n := len(o.Bytes); n > 0 {
				c.written(n)
			}
		}
	}
}

func (c *conn) written(n int) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c.id] == c && !s.closed {
		s.sim.Written(s.now(), c.id, n)
		s.drain()
	}
}

// put writes one head or one chunk.
func (c *conn) put(o simulator.Output) error {
	if o.Head != nil {
		_, err := c.net.Write(c.head(o.Head))
		return err
	}
	if c.bare || len(o.Bytes) == 0 && !c.chunked {
		return nil
	}
	if !c.chunked {
		_, err := c.net.Write(o.Bytes)
		return err
	}
	b := make([]byte, 0, len(o.Bytes)+12)
	b = strconv.AppendInt(b, int64(len(o.Bytes)+o.Owed), 16)
	b = append(b, "\r\n"...)
	b = append(b, o.Bytes...)
	if o.Owed == 0 {
		b = append(b, "\r\n"...)
	}
	_, err := c.net.Write(b)
	return err
}

// head writes the status line and the headers, in the order of their names.
func (c *conn) head(h *simulator.Head) []byte {
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", h.Status, http.StatusText(h.Status))
	names := make([]string, 0, len(h.Header))
	for name := range h.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Sorted(maps.Keys(c.share)) {
		b = fmt.Appendf(b, "%s: %s\r\n", name, c.share[name])
	}
	for _, name := range names {
		for _, v := range h.Header[name] {
			b = fmt.Appendf(b, "%s: %s\r\n", name, v)
		}
	}
	if h.Status == http.StatusSwitchingProtocols { // its Connection header is the machine's
		c.chunked = false
		return append(b, "\r\n"...)
	}
	if h.Status == http.StatusNoContent || h.Status == http.StatusNotModified {
		c.chunked, c.bare = false, true
	}
	if c.chunked {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(b, "Connection: close\r\n\r\n"...)
}

// finish ends the connection as the machine said, now that everything before was written.
func (c *conn) finish(kind simulator.CloseKind) {
	switch {
	case kind == simulator.EOF && c.chunked && !c.bare:
		_, _ = c.net.Write([]byte("0\r\n\r\n"))
	case kind == simulator.Reset:
		if t, ok := transportOf(c.net).(*net.TCPConn); ok {
			// A reset throws away what the peer's kernel has not taken yet, and the cut would no longer be where it was planned.
			drained(t, drainTimeout)
			_ = t.SetLinger(0)
		}
	}
	s := c.server
	s.mu.Lock()
	linger := kind == simulator.EOF && c.upgraded && !s.closed
	c.leaving = linger
	if !linger {
		delete(s.conns, c.id)
	}
	s.mu.Unlock()
	if linger {
		c.linger()
	}
	if kind == simulator.EOF {
		_ = c.net.Close()
		return
	}
	_ = transportOf(c.net).Close() // a cut says no goodbye in TLS either
}

// linger says that nothing more comes and takes off the network what the client still sends, until it has ended its side too.
// A socket that is closed with something unread is reset, and the close frame would be lost with it.
func (c *conn) linger() {
	_ = c.net.SetReadDeadline(time.Now().Add(lingerTimeout))
	if half, ok := c.net.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // in TLS its goodbye
	}
	if half, ok := transportOf(c.net).(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	<-c.done
	s := c.server
	s.mu.Lock()
	delete(s.conns, c.id)
	s.mu.Unlock()
}
