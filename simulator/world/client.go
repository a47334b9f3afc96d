package world

import (
	"errors"
	"slices"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// origin is where a virtual server is; nothing ever resolves it.
const (
	originHost = "simulator.invalid"
	origin     = "http://" + originHost
)

// client is one subscription: gate and loop, the transport's machine, and the driver of all of them in virtual time.
type client struct {
	w      *World
	wire   Wire
	s      drive.Loop
	rec    *drive.Recorder
	ctx    checkpoint.Context
	lines  []*line // the connection that counts; before it, while one is handed over, the old one (D-36)
	wakeAt time.Duration
	over   bool
}

// open starts a client.
func (w *World) open() error {
	if w.Running() {
		return errors.New("the client is running")
	}
	wire, err := WireOf(w.setup.Wire)
	if err != nil {
		return err
	}
	d := w.setup.Client.Claimed(wire.Describe())
	if err := d.CheckOptions(w.setup.Client.Options); err != nil {
		return w.refused(err)
	}
	c := &client{w: w, wire: wire}
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
	if c.s, err = drive.NewLoop(g, d, policy); err != nil {
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
		c.rec.Lane(now, c.s)
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
		for _, e := range []session.Epoch{d.Hangup, d.HangupBeside} {
			if e != 0 {
				c.hangup(e)
			}
		}
		if d.Forget {
			c.w.store.forget()
			c.rec.Forgot(now, nil)
		}
		if d.Connect != nil && !c.connect(*d.Connect) {
			again = true
		}
		if d.End != nil {
			c.hangupAll()
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

// read lets every connection go on: the gate may have room again.
func (c *client) read() {
	for _, l := range c.lines {
		l.read()
	}
}

// hangup lets go of the connection of e.
func (c *client) hangup(e session.Epoch) {
	c.lines = slices.DeleteFunc(slices.Clone(c.lines), func(l *line) bool {
		if l.epoch == e {
			l.drop()
		}
		return l.over
	})
}

// hangupAll lets go of every connection.
func (c *client) hangupAll() {
	for _, l := range c.lines {
		l.drop()
	}
	c.lines = nil
}

// connect starts an attempt; false if the session has to be asked again: the credential allows to see something else.
func (c *client) connect(a session.Attempt) bool {
	if !a.Beside {
		c.hangupAll()
	}
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
	c.lines = append(slices.Clone(c.lines), c.start(a))
	return true
}

// close ends the client as its application would.
func (c *client) close() {
	if !c.over {
		c.s.Close(c.w.clock(), event.Closed)
		c.drain()
	}
}
