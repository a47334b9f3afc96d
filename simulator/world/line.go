package world

import (
	"crypto/sha256"
	"encoding/binary"
	"net/url"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/simulator/fleet"
)

// line is one attempt of a client: the transport's machine on its connection, or on one connection after the other.
type line struct {
	c       *client
	epoch   session.Epoch
	machine transport.Machine
	clocked transport.Clocked // the same machine, if it acts as time passes
	link    *link             // nil when there is none
	wakeAt  time.Duration
	reading bool
	over    bool

	stopped   bool // nobody reads since stoppedAt: the gate has no room
	stoppedAt time.Duration
	stood     time.Duration // how long nobody read
}

// start begins an attempt.
func (c *client) start(a session.Attempt) *line {
	l := &line{c: c, epoch: a.Epoch, machine: c.wire.Machine()}
	l.clocked, _ = l.machine.(transport.Clocked)
	l.tell()
	l.machine.Start(transport.Attempt{
		Epoch: uint32(a.Epoch), Endpoint: origin + c.wire.path, Resume: a.Resume, Options: c.w.setup.Options(origin + fleet.PollPath),
		Query: drive.Query(c.w.setup.Client.Query(), a), Credential: c.w.setup.Credential(c.w.renewals), Headers: c.w.setup.Headers(), Draw: c.w.draw(a.Epoch),
	})
	c.w.in(0, l.read)
	return l
}

// draw is a machine's chance: a function of the schedule and of the connection's number.
func (w *World) draw(e session.Epoch) [32]byte {
	var b []byte
	for _, n := range w.draws.Jitter {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return sha256.Sum256(binary.BigEndian.AppendUint32(b, uint32(e)))
}

// tell gives the machine the time before any other input. It stands still while nobody reads (D-19).
func (l *line) tell() {
	if l.clocked != nil {
		l.clocked.Wake(l.c.w.now - l.stood)
	}
}

// room says whether anything may be read, and keeps count of the time in which nothing may.
func (l *line) room() bool {
	full, now := l.c.s.Room() <= 0, l.c.w.now
	switch {
	case full && !l.stopped:
		l.stopped, l.stoppedAt = true, now
	case !full && l.stopped:
		l.stopped, l.stood = false, l.stood+now-l.stoppedAt
	}
	return !full
}

// drop lets go of the connection; the machine may take its leave first.
func (l *line) drop() {
	if l.over {
		return
	}
	l.over = true
	if m, ok := l.machine.(transport.Leaver); ok && l.link != nil {
		l.tell()
		m.Leave()
		for out, more := m.Take(); more; out, more = m.Take() {
			if len(out.Send) > 0 {
				l.link.say(out.Send)
			}
		}
	}
	l.hangup()
}

func (l *line) hangup() {
	if l.link != nil {
		l.link.hangup()
		l.link = nil
	}
}

// read moves bytes from the connection through the machine into the session, as long as the gate has room (D-19).
func (l *line) read() {
	if l.reading {
		return
	}
	l.reading = true
	defer func() { l.reading = false }()
	for !l.over && !l.c.over {
		if !l.room() || drive.Forgetting(l.c.s) { // a recovery waits until the dead position is gone (D-31)
			break
		}
		if out, ok := l.machine.Take(); ok {
			if l.take(out) {
				l.c.drain()
			}
			continue
		}
		if !l.feed() {
			break
		}
	}
	l.poll()
	l.arm()
}

// feed gives the machine the next thing that arrived; false if nothing has.
func (l *line) feed() bool {
	k := l.link
	switch {
	case k == nil:
		return false
	case len(k.inbox) > 0:
		n := min(l.c.w.reads.take(len(k.inbox)), len(k.inbox))
		l.tell()
		l.machine.Bytes(k.inbox[:n:n])
		k.inbox = k.inbox[n:]
		k.fly()
	case len(k.ends) > 0:
		give := k.ends[0]
		k.ends = k.ends[1:]
		l.tell()
		give(l.machine)
	default:
		return false
	}
	return true
}

// arm plans a wake for the machine's own deadline.
func (l *line) arm() {
	if l.clocked == nil || l.over || l.c.over || l.stopped {
		return
	}
	at, ok := l.clocked.Deadline()
	at += l.stood
	if !ok || l.wakeAt > l.c.w.now && l.wakeAt <= at {
		return
	}
	at = max(at, l.c.w.now)
	l.wakeAt = at
	l.c.w.in(at-l.c.w.now, func() {
		if l.wakeAt == at {
			l.wakeAt = 0
		}
		if !l.over && l.room() {
			l.tell()
			l.read()
		}
	})
}

// take handles one output of the machine. It answers whether the session was told something.
func (l *line) take(out transport.Output) bool {
	now := l.c.w.clock()
	switch {
	case out.Request != nil:
		l.hangup() // of a redirect, or of a request that was answered
		to, ours := target(out.Request.URL)
		if !ours {
			l.c.w.crossed()
			l.link = l.c.w.nowhere(l)
			return false
		}
		l.link = l.c.w.dial(l, *out.Request, to)
		return false
	case len(out.Send) > 0:
		if l.link != nil {
			l.link.say(out.Send)
		}
		return false
	case out.Document != nil:
		d := *out.Document
		d.JSON = append([]byte(nil), d.JSON...) // the gate keeps it, the machine does not
		var ev event.Event
		drive.Document(l.c.s, l.epoch, now, d, &ev)
	case out.Signal != nil:
		l.c.rec.Signal(now, l.epoch, *out.Signal)
		drive.Signal(l.c.s, l.epoch, now, *out.Signal)
		if out.Signal.Kind.Final() {
			l.over = true
			l.hangup()
		}
	}
	return true
}

// target is the path and query of a URL, if it leads to the simulator: the same scheme, host and port, however they are written.
func target(text string) (to string, ours bool) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || strings.TrimSuffix(strings.ToLower(u.Scheme+"://"+u.Host), ":80") != origin {
		return text, false
	}
	return u.RequestURI(), true
}
