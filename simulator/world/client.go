package world

import (
	"errors"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/sse"
)

// origin is where a virtual server is; nothing ever resolves it.
const origin = "http://simulator.invalid"

// path is where the stream is.
const path = "/stream"

// client is one subscription: gate and session, the transport's machine, and the driver of both in virtual time.
type client struct {
	w       *World
	s       *session.Session
	rec     *drive.Recorder
	ctx     checkpoint.Context
	machine *sse.Machine
	epoch   session.Epoch // of the machine's connection
	link    *link         // nil when there is none
	wakeAt  time.Duration
	over    bool
	reading bool
	closing bool
}

// open starts a client.
func (w *World) open() error {
	if w.Running() {
		return errors.New("the client is running")
	}
	d := w.setup.Client.Claimed(sse.Describe())
	if err := d.CheckOptions(w.setup.Client.Options); err != nil {
		return w.refused(err)
	}
	c := &client{w: w, machine: sse.NewMachine()}
	c.rec = drive.NewRecorder(w.record)
	c.ctx = w.setup.Context()
	var answer checkpoint.Answer
	if !w.setup.NoStore {
		answer = w.store.load(c.ctx)
	}
	start := drive.Start(checkpoint.StartAfter(c.ctx, answer))
	g, err := gate.New(w.setup.Gate(), start)
	if err != nil {
		return err
	}
	policy := w.setup.Client.Policy(w.drawJitter)
	policy.SourceVersion = c.ctx.SourceVersion
	if policy, err = drive.Policy(d, policy, !w.setup.NoStore); err != nil {
		return w.refused(err)
	}
	if c.s, err = session.New(g, policy); err != nil {
		return err
	}
	w.client = c
	if !w.setup.NoStore {
		c.rec.Loaded(w.clock(), answer)
	}
	c.rec.Started(w.clock(), start, g)
	c.s.Open(w.clock())
	c.drain()
	return nil
}

// refused writes down why a client was not opened; another error is handed on.
func (w *World) refused(err error) error {
	r, ok := Refusal(err)
	if !ok {
		return err
	}
	w.record(r)
	return nil
}

func (w *World) drawJitter(n int) int {
	if len(w.jitter) == 0 {
		return 0
	}
	return w.jitter[n%len(w.jitter)]
}

// drain does what the session asks and keeps its one timer armed. It follows every input of the session, and nothing else.
func (c *client) drain() {
	for again := true; again; {
		again = false
		now := c.w.clock()
		d := c.s.Take()
		c.rec.Due(now, &d)
		if d.Apply != nil {
			c.w.apply(c, d.Apply)
		}
		switch {
		case d.Save != nil && d.Withhold:
			c.s.Saved(now, nil)
			again = true
		case d.Save != nil:
			c.w.save(c, *d.Save)
		}
		if d.Hangup != 0 {
			c.hangup(d.Hangup)
		}
		if d.Forget {
			c.w.store.forget()
			c.rec.Forgot(now, nil)
		}
		if d.Connect != nil && !c.connect(*d.Connect) {
			again = true
		}
		if d.End != nil {
			c.over = true
		}
	}
	c.arm()
}

// arm plans a wake for the session's deadline.
func (c *client) arm() {
	at, ok := c.s.Deadline()
	if !ok || c.wakeAt > c.w.now && c.wakeAt <= at {
		return
	}
	at = max(at, c.w.now)
	c.wakeAt = at
	c.w.in(at-c.w.now, func() {
		if c.wakeAt == at {
			c.wakeAt = 0
		}
		c.wake()
	})
}

func (c *client) wake() {
	if at, ok := c.s.Deadline(); !ok || at > c.w.now {
		c.arm()
		return
	}
	c.s.Wake(c.w.clock())
	c.drain()
	c.read()
}

func (c *client) hangup(e session.Epoch) {
	if c.link != nil && c.epoch == e {
		c.link.hangup()
		c.link = nil
	}
}

// connect starts the transport's machine for one attempt; false if the session has to be asked again: the credential allows to see something else.
func (c *client) connect(a session.Attempt) bool {
	c.hangup(c.epoch)
	c.epoch = a.Epoch
	if a.Renew {
		c.w.renewals++
		if scope := c.w.setup.Client.Renewed; scope != "" && scope != c.ctx.AuthorizationScopeFingerprint {
			c.ctx.AuthorizationScopeFingerprint = scope
			c.s.ScopeChanged(a.Epoch, c.w.clock())
			if a.Resume.Seq.Valid() {
				return false
			}
		}
	}
	c.machine.Start(transport.Attempt{
		Epoch: uint32(a.Epoch), Endpoint: origin + path, Resume: a.Resume, Options: c.w.setup.Client.Options,
		Query: drive.Query(c.w.setup.Client.Query(), a), Credential: CredentialAfter(c.w.renewals),
	})
	c.w.in(0, c.read)
	return true
}

// read moves bytes from the connection through the machine into the session, as long as the gate has room (D-19).
func (c *client) read() {
	if c.reading {
		return
	}
	c.reading = true
	defer func() { c.reading = false }()
	for epoch := c.epoch; c.epoch == epoch && !c.over; {
		if c.s.Room() <= 0 {
			return
		}
		if out, ok := c.machine.Take(); ok {
			if c.take(epoch, out) {
				c.drain()
			}
			continue
		}
		l := c.link
		switch {
		case l == nil:
			return
		case len(l.inbox) > 0:
			n := min(c.w.reads.take(len(l.inbox)), len(l.inbox))
			c.machine.Bytes(l.inbox[:n:n])
			l.inbox = l.inbox[n:]
			l.fly()
		case len(l.ends) > 0:
			give := l.ends[0]
			l.ends = l.ends[1:]
			give(c.machine)
		default:
			return
		}
	}
}

// take handles one output of the machine. It answers whether the session was told something.
func (c *client) take(epoch session.Epoch, out transport.Output) bool {
	now := c.w.clock()
	switch {
	case out.Request != nil:
		if c.link != nil { // a redirect: the old connection is done
			c.link.hangup()
		}
		if !strings.HasPrefix(out.Request.URL, origin+"/") {
			c.w.crossed()
			c.link = c.w.nowhere(c)
			return false
		}
		c.link = c.w.dial(c, *out.Request, target(out.Request.URL))
		return false
	case out.Document != nil:
		d := *out.Document
		d.JSON = append([]byte(nil), d.JSON...) // the gate keeps it, the machine does not
		var ev event.Event
		drive.Document(c.s, epoch, now, d, &ev)
	case out.Signal != nil:
		c.rec.Signal(now, epoch, *out.Signal)
		drive.Signal(c.s, epoch, now, *out.Signal)
		if out.Signal.Kind.Final() && c.link != nil {
			c.link.hangup()
			c.link = nil
		}
	}
	return true
}

// target is path and query of an absolute URL of this world.
func target(url string) string {
	if len(url) > len(origin) && url[:len(origin)] == origin {
		return url[len(origin):]
	}
	return url
}

// close ends the client as its application would.
func (c *client) close() {
	if !c.over {
		c.s.Close(c.w.clock(), event.Closed)
		c.drain()
	}
}
