package world

import (
	"slices"
	"time"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/simulator"
)

// LinkBytes is what a connection holds between server and client before the server's writes block: about what the kernel
// holds on loopback for a client that does not read.
const LinkBytes = 64 << 10

// link is one connection. The way from the server to the client has a size; the other one carries one request, and behind an
// upgrade what the machine says now and then.
type link struct {
	w     *World
	conn  simulator.Conn
	owner *line // whose connection it is; nil when the client let go of it

	owed   []simulator.Output // what the server sent and the network has no room for
	flying int                // bytes on their way
	inbox  []byte             // bytes that arrived and were not read
	ends   []func(transport.Machine)
	heard  time.Duration // arrival of the last thing that the client said
	landed time.Duration // arrival of the last thing sent: a link keeps the order
}

// dial opens a connection for c and sends its request.
func (w *World) dial(c *line, r transport.Request, target string) *link {
	w.conns++
	l := &link{w: w, conn: w.conns, owner: c}
	w.links = append(w.links, l)
	l.heard = w.now + micros(w.dials.take(0))
	w.in(l.heard-w.now, func() {
		if l.owner == nil {
			return
		}
		if w.down {
			l.refuse()
			return
		}
		w.peer.Request(w.simClock(), l.conn, simulator.Request{Method: r.Method, Target: target, Header: simulator.Header(r.Header), Origin: origin})
		w.serve()
	})
	return l
}

// refuse is what a client sees of a server that is not there.
func (l *link) refuse() {
	l.arrive(func() { l.end(func(m transport.Machine) { m.End(errAbnormal) }) })
}

// arrive plans something at the client's end, behind everything that is on its way already.
func (l *link) arrive(do func()) {
	l.landed = max(l.landed, l.w.now+micros(l.w.delays.take(0)))
	l.w.in(l.landed-l.w.now, func() {
		if l.owner != nil {
			do()
		}
	})
}

// send takes one output of the server.
func (l *link) send(out simulator.Output) {
	if out.Close != nil && out.Close.Now {
		l.owed = nil
	}
	l.owed = append(l.owed, out)
	l.fly()
}

// fly puts on the network what it has room for, in order.
func (l *link) fly() {
	for len(l.owed) > 0 {
		out := l.owed[0]
		if len(out.Bytes) > 0 && l.flying+len(l.inbox) >= LinkBytes {
			return
		}
		l.owed[0] = simulator.Output{}
		l.owed = l.owed[1:]
		switch {
		case out.Head != nil:
			head := transport.Head{Status: out.Head.Status, Header: transport.Header(out.Head.Header)}
			l.arrive(func() {
				head.Wall = l.w.clock().Wall
				l.sign()
				l.end(func(m transport.Machine) { m.Head(head) })
			})
		case out.Close != nil:
			var err error
			if out.Close.Kind != simulator.EOF {
				err = errAbnormal
			}
			l.arrive(func() { l.end(func(m transport.Machine) { m.End(err) }) })
			l.gone()
		case len(out.Bytes) > 0:
			l.flying += len(out.Bytes)
			bytes := out.Bytes
			l.arrive(func() {
				l.flying -= len(bytes)
				l.inbox = append(l.inbox, bytes...)
				l.sign()
				l.owner.read()
			})
			l.w.peer.Written(l.w.simClock(), l.conn, len(bytes))
			l.w.serve()
		}
	}
}

// say carries bytes of the client to the server, in order. What is on its way when the client lets go still arrives.
func (l *link) say(b []byte) {
	w := l.w
	b = append([]byte(nil), b...)
	l.heard = max(l.heard, w.now+micros(w.dials.take(0)))
	w.in(l.heard-w.now, func() {
		if w.linkOf(l.conn) == l {
			w.peer.Received(w.simClock(), l.conn, b)
			w.serve()
		}
	})
}

func (l *link) sign() { l.w.lastSign = l.w.now }

// end gives the machine something that is no byte, behind the bytes that it has not read.
func (l *link) end(give func(transport.Machine)) {
	l.ends = append(l.ends, give)
	l.owner.read()
}

// gone forgets the server's end: nothing more comes from there.
func (l *link) gone() {
	l.w.links = slices.DeleteFunc(l.w.links, func(x *link) bool { return x == l })
}

// hangup is the client letting go. The server learns of it a little later.
func (l *link) hangup() {
	if l.owner == nil {
		return
	}
	l.owner = nil
	w := l.w
	l.heard = max(l.heard, w.now+micros(w.dials.take(0)))
	w.in(l.heard-w.now, func() {
		if w.linkOf(l.conn) == l {
			l.gone()
			w.peer.Gone(w.simClock(), l.conn)
			w.serve()
		}
	})
}
