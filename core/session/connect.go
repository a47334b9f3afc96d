package session

import (
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// noResumeMode is why a transport that can name no position gets a snapshot.
const noResumeMode = "no-resume-mode"

// connect starts the next attempt. A gate that needs a snapshot is told first that it may take any (D-01); one that holds
// a position asks to go on from it, if that position can be named and vouched for at all (D-30).
func (s *Session) connect() {
	s.made++
	s.epoch = s.made
	s.noticed, s.handed = false, false
	s.link = LinkDialing
	s.connectBy = s.now + s.p.ConnectTimeout
	s.try = Attempt{Epoch: s.epoch, Resume: event.NoPosition, By: s.connectBy, Renew: s.renew}
	s.renew, s.fed, s.dial = false, false, true
	if s.p.Lane {
		s.try.Resume, s.judged, s.last = s.lane.position(), true, event.NoSeq
		return
	}
	switch s.g.State().Phase {
	case gate.ResnapshotRequired:
		if s.epoch > 1 {
			s.require(event.TransportGap, "reconnect-to-recover")
		}
	case gate.Live, gate.Resuming:
		pos, why := s.resume()
		s.try.Resume = pos
		switch {
		case why == noResumeMode && s.epoch > 1: // nobody knows what was said while nobody listened (facts 5.6, rule 8)
			s.require(event.TransportGap, why)
		case why != "":
			s.require(event.ResumeUnsupported, why)
		case pos == s.spent: // sent once and dead: not a second time (D-31)
			s.try.Resume = event.NoPosition
			s.drop(event.CursorExpired, "hand-over")
		}
	}
	if s.g.State().Phase == gate.ResnapshotRequired {
		s.cleared = false // only a snapshot comes next, and it keeps nothing of the old position (D-03)
	}
	s.judged, s.last = s.try.Resume.Seq == event.NoSeq, s.try.Resume.Seq
}

// resume is the position to go on from, reduced to what the transport can name; why says why there is none.
func (s *Session) resume() (pos event.Position, why string) {
	h, _ := s.g.Held()
	pos = h.Pos
	switch {
	case s.cleared:
		return event.NoPosition, "position-cleared"
	case s.p.Resume == 0:
		return event.NoPosition, noResumeMode
	case s.p.Vouch == VouchNone:
		return event.NoPosition, "nobody-vouches"
	case s.mark != "" && s.g.State().Pending == 0: // everything received was accepted (D-43)
		pos.Cursor = s.mark
	}
	usable := s.p.Resume&BySequence != 0
	for _, part := range []struct {
		mode Modes
		text *string
	}{{ByCursor, &pos.Cursor}, {ByWatermark, &pos.Watermark}, {ByTimestamp, &pos.Timestamp}, {ByDeltaToken, &pos.DeltaToken}} {
		if s.p.Resume&part.mode == 0 {
			*part.text = ""
		}
		usable = usable || *part.text != ""
	}
	if !usable {
		return event.NoPosition, "position-not-nameable"
	}
	return pos, ""
}

// require tells the gate that only a replacement snapshot counts from here, of any sequence. A recovery epoch that is open
// already is not opened twice.
func (s *Session) require(r event.Reason, detail string) {
	if s.p.Lane { // there is no snapshot to ask for
		return
	}
	s.forgo("resnapshot-required")
	s.spent = event.NoPosition // the next one to go on from comes of a snapshot
	if s.opened && s.g.State().Phase == gate.ResnapshotRequired {
		return
	}
	s.g.RequireResnapshot(r, detail)
	s.note(Note{Kind: Resnapshotted, Reason: r, Detail: detail})
	s.mark = ""
	s.opened = s.g.State().Phase == gate.ResnapshotRequired
	s.stated()
}

// give gives the connection or the attempt up from our side.
func (s *Session) give(why string) {
	s.down = Down{Detail: why}
	s.lane.closed(s.link, &s.down)
	s.link, s.paused = LinkWaiting, false
	if s.dial { // the driver never heard of it
		s.dial = false
		return
	}
	s.hangUp(s.epoch, why)
}

// hangUp closes a connection that the driver knows. Between two calls of Take these are at most the two of a hand-over.
func (s *Session) hangUp(e Epoch, why string) {
	if s.hangup == 0 {
		s.hangup = e
	} else {
		s.hangupBeside = e
	}
	s.note(Note{Kind: HungUp, Epoch: e, Detail: why})
}

// retry schedules the next attempt (D-34). once is a floor for this wait only; a hint of the stream stays in force.
func (s *Session) retry(once time.Duration) {
	if s.p.Attempts > 0 && s.retries >= s.p.Attempts {
		s.finish(Ending{Cause: AttemptsUsedUp, Reason: event.DeliveryFailed, Detail: s.down.Detail}, event.Closed)
		return
	}
	floor, held := max(once, s.hint, s.notBefore-s.now), ""
	if floor > s.p.MaxFloor {
		held = fmt.Sprintf("floor of %v held at %v", floor, s.p.MaxFloor)
		floor = s.p.MaxFloor
	}
	wait := s.p.jittered(s.retries, s.p.delay(s.retries, floor))
	s.retries++
	s.link, s.retryAt = LinkWaiting, s.now+wait
	s.note(Note{Kind: Waiting, Epoch: s.epoch, Delay: wait, Detail: held})
}

// finish ends the session. A gate in phase error keeps it, so that its reason stays readable; any other is closed.
func (s *Session) finish(e Ending, r event.Reason) {
	if s.link == LinkOver {
		return
	}
	s.forgo("session-over")
	if s.link == LinkDialing || s.link == LinkUp {
		s.give("session-over")
	}
	s.link, s.paused = LinkOver, false
	if s.g.State().Phase != gate.Failed {
		s.g.Close(r)
		s.note(Note{Kind: GateClosed, Reason: r})
		s.stated()
	}
	s.end, s.ended = &e, &e
	s.note(Note{Kind: Ended, Reason: e.Reason, Detail: e.Detail, Status: e.Status, Cause: e.Cause})
}

// Close ends the session on the caller's behalf. r is event.Closed, or event.Cancelled when the caller's own context
// ended; any other reason counts as closed. What runs still owes its result.
func (s *Session) Close(now Now, r event.Reason) {
	s.begin(now)
	if r != event.Cancelled {
		r = event.Closed
	}
	s.finish(Ending{Cause: ByCaller, Reason: r}, r)
}
