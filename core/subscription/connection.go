package subscription

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// connection is one epoch. It is the sink of its transport, for events as well.
type connection struct {
	s      *Subscription
	epoch  session.Epoch
	ctx    context.Context // ends when the connection is hung up
	cancel context.CancelFunc
	over   chan struct{} // closed when the transport has returned
	gone   bool          // guarded by s.mu: what it says does not count any more
}

// connect starts the goroutine of an attempt. It waits for the connections before it to be over, for there is one at a time
// (P-CON-12) but for the two of a planned hand-over (D-36), and for the store to have forgotten what must not come back; if that takes
// longer than the attempt may, the session hangs it up.
func (s *Subscription) connect(a session.Attempt) {
	if !a.Beside {
		s.drop(0)
	}
	var before []*connection
	for _, c := range s.open {
		if c.gone {
			before = append(before, c)
		}
	}
	ctx, cancel := context.WithCancel(s.base)
	c := &connection{s: s, epoch: a.Epoch, ctx: ctx, cancel: cancel, over: make(chan struct{})}
	s.open = append(s.open, c)
	forgetting := s.forgetting
	s.running.Go(func() {
		defer s.closed(c)
		if forgetting != nil {
			select {
			case <-forgetting:
			case <-ctx.Done():
				return
			}
		}
		for _, b := range before {
			select {
			case <-b.over:
			case <-ctx.Done():
				return
			}
		}
		c.run(ctx, a)
	})
}

// closed forgets a connection whose transport has returned.
func (s *Subscription) closed(c *connection) {
	c.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(x *connection) bool { return x == c })
	close(c.over)
}

// drop hangs the connection of e up; 0 stands for all of them.
func (s *Subscription) drop(e session.Epoch) {
	for _, c := range s.open {
		if e == 0 || c.epoch == e {
			c.gone = true
			c.cancel()
		}
	}
}

// run opens the transport and stays until it returns.
func (c *connection) run(ctx context.Context, a session.Attempt) {
	cred, ok := c.credential(ctx, a)
	if !ok || ctx.Err() != nil {
		return
	}
	attempt := transport.Attempt{
		Epoch: uint32(a.Epoch), Endpoint: c.s.cfg.endpoint, Query: drive.Query(c.s.cfg.query, a), Resume: a.Resume,
		Credential: cred, Options: c.s.cfg.options,
	}
	if !c.access(ctx, &attempt) || ctx.Err() != nil {
		return
	}
	err := errExited
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v}
		}
		c.returned(err)
	}()
	err = c.s.t.Open(ctx, attempt, c)
}

// credential asks the source. It answers false if this attempt is over: the source failed, or names another
// authorization scope and the attempt was to go on from a position of the old one.
func (c *connection) credential(ctx context.Context, a session.Attempt) (transport.Credential, bool) {
	s := c.s
	if s.cfg.source == nil {
		return transport.Credential{}, true
	}
	var cred transport.Credential
	var scope string
	var err error
	if p := contain(func() { cred, scope, err = s.cfg.source(ctx, a.Renew) }); p != nil {
		err = p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.gone:
		return cred, false
	case err != nil:
		s.cause = &sourceError{"credential", err}
		c.down(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: "credential-source"})
		return cred, false
	case s.scope != nil && scope != "" && scope != s.scope.AuthorizationScopeFingerprint:
		changed := *s.scope
		changed.AuthorizationScopeFingerprint = scope
		s.scope = &changed
		s.locked(func(now session.Now) { s.ses.ScopeChanged(c.epoch, now) })
	}
	return cred, !c.gone
}

// returned: the transport is done. One that did not say how it ended is taken for a lost connection, one that failed for
// a crash.
func (c *connection) returned(err error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.gone:
	case err != nil:
		s.cause = err
		c.down(transport.Signal{Kind: transport.Ended, Cause: transport.PluginCrashed, Detail: "the transport failed"})
	default:
		c.down(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: "no final signal"})
	}
}

// errGone is what a transport gets that speaks after its connection was hung up or ended.
var errGone = errors.New("subscription: this connection is over")

// Document offers one event. It blocks while the gate has no room (D-19).
func (c *connection) Document(d transport.Document) error {
	d.JSON = bytes.Clone(d.JSON) // the transport's buffer is reused, the gate's payload must not change (D-14)
	var ev event.Event
	d.Capture(&ev)
	return c.Event(&ev)
}

// Event offers one event that was captured already, and blocks as Document does.
func (c *connection) Event(ev *event.Event) error {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for !c.gone && s.ses.Room() == 0 {
		s.room.Wait()
	}
	if c.gone {
		return errGone
	}
	s.locked(func(now session.Now) { s.ses.Data(c.epoch, now, ev) })
	return nil
}

// Signal reports a signal. A final one ends the connection. It blocks behind Recovering until the store has forgotten what expired
// (D-31), and behind Polled while the report is read.
func (c *connection) Signal(sig transport.Signal) error {
	s := c.s
	var wall int64
	if sig.Kind == transport.Refreshed {
		var err error
		if wall, err = s.wall(); err != nil { // what cannot be dated cannot be kept; the source is alive all the same (D-24)
			s.contained.Add(1)
			sig = transport.Signal{Kind: transport.Polled}
		}
	}
	if err := c.take(sig, wall); err != nil {
		return err
	}
	if sig.Kind == transport.Polled && sig.Poll != nil && s.cfg.polls != nil {
		if contain(func() { s.cfg.polls(*sig.Poll) }) != nil {
			s.contained.Add(1)
		}
	}
	return nil
}

func (c *connection) take(sig transport.Signal, wall int64) error {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.gone {
		return errGone
	}
	if sig.Kind.Final() {
		c.down(sig)
		return nil
	}
	c.say(sig, wall)
	if sig.Kind == transport.Recovering {
		c.forgotten()
	}
	return nil
}

// forgotten waits until the store has forgotten, so that a record of a dead position is gone before the snapshot is asked for. The lock
// is held, but not while it waits.
func (c *connection) forgotten() {
	s := c.s
	for !c.gone && drive.Forgetting(s.ses) { // a save runs
		s.room.Wait()
	}
	if s.forgetting == nil || c.gone {
		return
	}
	done := s.forgetting
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-done:
	case <-c.ctx.Done():
	}
}

// down ends the connection: nothing that comes after it counts.
func (c *connection) down(sig transport.Signal) {
	c.gone = true
	c.say(sig, 0)
}

// say gives the loop a signal. wall is for what is dated by it.
func (c *connection) say(sig transport.Signal, wall int64) {
	s := c.s
	if sig.Kind == transport.Heartbeat {
		s.telemetry.hear(drive.HeartbeatInput)
	}
	s.locked(func(now session.Now) {
		now.Wall = wall
		if s.rec != nil {
			s.rec.Signal(now, c.epoch, sig)
		}
		drive.Signal(s.ses, c.epoch, now, sig)
	})
}
