package session

import (
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// Up: the server accepted the connection of e.
func (s *Session) Up(e Epoch, now Now) {
	s.begin(now)
	s.hears(e)
}

// hears is current for what means the same on either connection of a hand-over.
func (s *Session) hears(e Epoch) bool {
	if s.beside(e) {
		s.besideLives()
		return true
	}
	return s.current(e)
}

// current fences off what another connection says (D-36) and takes everything else as a sign of life; the first one of a
// connection opens it.
func (s *Session) current(e Epoch) bool {
	if !s.speaks(e) {
		return false
	}
	if s.link == LinkDialing {
		s.link, s.upAt = LinkUp, s.now
		s.crashes, s.denied = 0, false
		s.lane.opened()
		s.note(Note{Kind: Up, Epoch: e})
	}
	s.alive()
	return true
}

// speaks says whether e is the connection that counts, and notes it if it is not.
func (s *Session) speaks(e Epoch) bool {
	if e == s.epoch && !s.dial && (s.link == LinkDialing || s.link == LinkUp) {
		return true
	}
	s.note(Note{Kind: Dropped, Epoch: e})
	return false
}

// Down: the connection of e is over. What the server or the network did decides how it goes on (D-30 to D-34).
func (s *Session) Down(e Epoch, now Now, d Down) {
	s.begin(now)
	if s.beside(e) {
		s.besideDown(d)
		return
	}
	if !s.speaks(e) {
		return
	}
	s.lane.closed(s.link, &d)
	up := s.link == LinkUp
	s.link, s.paused, s.down = LinkWaiting, false, d // it is over: nothing to hang up
	if s.p.Lane && (d.Kind == Expired || d.Kind == Gapped || d.Kind == Flawed || d.Kind == Oversized) {
		d.Kind = Lost // nothing is held that could be given up
	}
	switch d.Kind {
	case Stopped:
		if d.Ends == ServerStop && s.next.on { // it said that it would close this one
			s.again(d.RetryAfter)
			return
		}
		s.stop(Ending{Cause: d.Ends, Status: d.Status, Reason: d.Reason, Detail: d.Detail}, up)
	case Denied:
		if s.denied {
			s.finish(Ending{Cause: Refused, Status: d.Status, Detail: d.Detail}, event.Closed)
			return
		}
		s.denied, s.renew = true, true
		s.again(d.RetryAfter)
	case Crashed:
		s.crashed(d)
	case Expired:
		s.drop(event.CursorExpired, d.Detail)
		s.retry(d.RetryAfter)
	case Gapped:
		s.gapped(d)
	case Flawed:
		s.flawed(d)
	case Oversized:
		s.oversized(d)
	default:
		s.again(d.RetryAfter)
	}
}

// stop ends the session for what the server said. One that stops for good on a connection that was up has completed its stream, so what
// it sent before is delivered first: no other connection will bring it again. One that stops by refusing an attempt has completed
// nothing, and what an earlier connection left behind comes again after the next start.
func (s *Session) stop(e Ending, up bool) {
	if e.Cause == ServerStop && up && s.busy() {
		s.link, s.stopping = LinkDraining, &e
		return
	}
	s.finish(e, event.Closed)
}

// busy says whether something that was received is still on its way to the consumer or the store.
func (s *Session) busy() bool {
	st := s.g.State()
	return st.Phase < gate.ResnapshotRequired && (st.Pending > 0 || s.saving)
}

// drained ends a session whose server stopped, once there is nothing left to deliver. If the rest could not be delivered, because
// something in it was missing, say, the ending names the reason.
func (s *Session) drained() {
	if s.link != LinkDraining || s.busy() {
		return
	}
	if st := s.g.State(); st.Phase == gate.ResnapshotRequired {
		s.stopping.Reason = st.Reason
	}
	s.finish(*s.stopping, event.Closed)
}

func (s *Session) crashed(d Down) {
	if s.crashes++; s.crashes > MaxCrashes {
		s.finish(Ending{Cause: PluginCrashed, Detail: d.Detail}, event.Closed)
		return
	}
	s.again(d.RetryAfter)
}

// flawed: the wire's grammar was broken. One resume from the position held, and a second violation at the same place of the
// stream ends the session (D-37).
func (s *Session) flawed(d Down) {
	if s.flaw.again(s.last) {
		s.finish(Ending{Cause: ProtocolError, Status: d.Status, Detail: d.Detail}, event.Closed)
		return
	}
	s.again(d.RetryAfter)
}

// oversized: a message was too large for one side. The first time at a place of the stream this may be somebody else's accident, so
// it is resumed; the second time the place is a hole (D-37).
func (s *Session) oversized(d Down) {
	if s.large.again(s.last) {
		s.blocked(d)
		return
	}
	s.again(d.RetryAfter)
}

// drop gives the position up, in the store as well, before the snapshot request goes out (D-31). It stays visible in the
// gate's state.
func (s *Session) drop(r event.Reason, detail string) {
	s.forget = s.forget || s.g.Bounds().Saves
	s.require(r, detail)
}

func (s *Session) gapped(d Down) {
	if !d.Hole {
		r := d.Reason
		if !gate.Recoverable(r) {
			r = event.TransportGap
		}
		s.require(r, d.Detail)
		s.retry(d.RetryAfter)
		return
	}
	s.blocked(d)
}

// blocked: the bytes after this position cannot be used. It is given up as a place to resume from, and a stream that comes to
// the same place again is refused (D-32, D-44).
func (s *Session) blocked(d Down) {
	if s.hole.again(s.last) {
		s.finish(Ending{Cause: Refused, Status: d.Status, Reason: event.TransportGap, Detail: d.Detail}, event.Closed)
		return
	}
	s.drop(event.TransportGap, d.Detail)
	s.retry(d.RetryAfter)
}

// ScopeChanged: the credential source named another authorization scope for the attempt of e, which the driver did not
// send. Nothing of the old scope is resumed from (D-33).
func (s *Session) ScopeChanged(e Epoch, now Now) {
	s.begin(now)
	second := s.beside(e) // then the first connection belongs to the old scope, and goes too
	if !second && !s.speaks(e) {
		return
	}
	if s.holds() {
		s.require(event.AuthorizationScopeChanged, "")
	}
	s.lane.Watermark = 0 // it was the old viewer's
	if second || s.try.Resume != event.NoPosition {
		s.give("authorization-scope-changed")
		s.connect()
	}
}

// holds says whether the gate has anything that another identity would make wrong.
func (s *Session) holds() bool {
	_, held := s.g.Held()
	st := s.g.State()
	return held || st.Phase != gate.AwaitingSnapshot || st.Pending > 0
}

// Require asks for a snapshot on the application's behalf: the connection is given up and the next one asks for it. r is a
// reason that gate.Recoverable accepts; any other counts as transport-gap.
func (s *Session) Require(now Now, r event.Reason, detail string) {
	s.begin(now)
	if s.link == LinkOver {
		return
	}
	if !gate.Recoverable(r) {
		r = event.TransportGap
	}
	s.require(r, detail)
	s.recover()
	s.drained()
}

// Fail ends the session for a reason outside it: a clock that panicked (delivery-failed, D-24), a store that failed
// outside a save (checkpoint-save-failed).
func (s *Session) Fail(now Now, r event.Reason) {
	s.begin(now)
	s.g.Fail(r)
	s.note(Note{Kind: GateFailed, Reason: r})
	s.sync()
}
