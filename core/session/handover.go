package session

import (
	"cmp"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// A planned hand-over (D-36). A server that is about to close says so on a connection that is up. If there is a position to go on
// from, the session then asks at once for a second connection beside the first, from the position held; both count, so what
// both bring reaches the gate, and what they bring twice is a duplicate there. The first one that says that it goes on from that
// position takes over, and the old one is hung up. Until then the old one is in charge: whatever becomes of the new one
// (refused, late, of another stream, not vouched for), the old one stays, and when it ends the usual attempt follows. If the
// old one ends first, the new attempt is the usual one.
//
// There is one hand-over at a time and one per connection, and a connection that came of one may be handed over only after
// ResetAfter: a server that announces its end on every connection gets no storm of them.

// next is the second connection of a hand-over.
type next struct {
	on   bool
	dial bool // was not handed out yet
	up   bool
	fed  bool // it delivered an event
	try  Attempt
	last event.Seq // as Session.last
	upAt time.Duration
	sign time.Duration
}

// handOver starts a hand-over, if one is possible; if not, the notice has no effect.
func (s *Session) handOver() {
	phase := s.g.State().Phase
	switch {
	case s.link != LinkUp, !s.judged, s.next.on, s.noticed:
		return
	case phase != gate.Live && phase != gate.Resuming:
		return
	case s.handed && s.now-s.upAt < s.p.ResetAfter:
		return
	}
	pos, why := s.resume()
	if why != "" || pos == s.spent {
		return
	}
	s.noticed = true
	s.made++
	s.next = next{
		on: true, dial: true, last: pos.Seq,
		try: Attempt{Epoch: s.made, Resume: pos, By: s.now + s.p.ConnectTimeout, Beside: true},
	}
}

// beside says whether e is the second connection of a hand-over.
func (s *Session) beside(e Epoch) bool {
	return s.next.on && !s.next.dial && e == s.next.try.Epoch
}

// besideLives takes a sign of life of the second connection. It says nothing about the first one's idle time.
func (s *Session) besideLives() {
	n := &s.next
	n.sign = s.now
	if !n.up {
		n.up, n.upAt = true, s.now
		s.crashes, s.denied = 0, false
		s.note(Note{Kind: Up, Epoch: n.try.Epoch})
	}
}

// besideAnswer: the second connection says whether it goes on from where we are.
func (s *Session) besideAnswer(a Answer) {
	s.besideLives()
	from := s.next.try.Resume
	switch {
	case a.StreamEpoch != "" && s.version != "" && a.StreamEpoch != s.version:
		s.forgo("stream-epoch")
	case a.Head.Valid() && a.Head < from.Seq: // the head may be behind what the first connection has brought since
		s.forgo("head-behind-position")
	case a.Resumed == No:
		if a.Rejected == event.CursorExpired {
			s.spent = from
		}
		s.forgo(cmp.Or(a.Rejected.String(), "resume-refused"))
	case a.Resumed == Yes:
		s.version = cmp.Or(s.version, a.StreamEpoch)
		s.handedOver()
		if a.ClosingSoon {
			s.handOver()
		}
	}
}

// besideData: the second connection delivered an event. Until it is vouched for it may repeat what was offered already and bring
// what comes next, and nothing else: an event that the gate would refuse would cost the first connection as well.
func (s *Session) besideData(ev *event.Event) gate.Ticket {
	s.besideLives()
	n, seq := &s.next, ev.Pos.Seq
	switch {
	case ev.Hole || ev.Kind == event.Malformed || !seq.Valid():
		s.forgo("unusable-event")
		return 0
	case ev.Replaces():
		s.forgo("snapshot-instead-of-resume")
		return 0
	case seq > max(s.offered, n.last)+1:
		s.forgo("resume-jump")
		return 0
	case s.p.Vouch == VouchImplicit && !n.fed && seq <= n.try.Resume.Seq+1:
		s.handedOver()
		s.fed = true
		return s.offer(s.epoch, &s.last, ev)
	}
	n.fed = true
	return s.offer(n.try.Epoch, &n.last, ev)
}

// besideDown: the second connection is over, and the first stays in charge. What the server asked for counts for the attempt that
// follows the first one's end.
func (s *Session) besideDown(d Down) {
	if d.Kind == Expired {
		s.spent = s.next.try.Resume
	}
	s.postpone(d.RetryAfter)
	s.next = next{}
}

// handedOver: the second connection is vouched for and takes over.
func (s *Session) handedOver() {
	s.hangUp(s.epoch, "handed-over")
	s.adopt()
	s.vouched()
	s.alive()
}

// adopt makes the second connection the one that counts.
func (s *Session) adopt() {
	n := s.next
	s.next = next{}
	s.epoch, s.try, s.dial = n.try.Epoch, n.try, n.dial
	s.fed, s.last, s.judged = n.fed, n.last, false
	s.noticed, s.handed = false, true
	s.link, s.connectBy, s.paused = LinkDialing, n.try.By, false
	if n.dial { // nothing is beside it any more when it is handed out
		s.try.Beside = false
	}
	if n.up {
		s.link, s.upAt = LinkUp, n.upAt
		s.sign, s.signed = max(s.sign, n.sign), true
	}
}

// forgo gives the second connection up from our side.
func (s *Session) forgo(why string) {
	if !s.next.on {
		return
	}
	if !s.next.dial {
		s.hangUp(s.next.try.Epoch, "hand-over: "+why)
	}
	s.next = next{}
}

// again goes on after the connection that counts has ended: with the second one of a hand-over, else after the back-off.
func (s *Session) again(once time.Duration) {
	if s.next.on {
		s.postpone(once)
		s.adopt()
		return
	}
	s.retry(once)
}

// postpone keeps a server's wish to wait for the next attempt that is not made yet.
func (s *Session) postpone(wish time.Duration) {
	s.notBefore = max(s.notBefore, s.now+min(max(wish, 0), s.p.MaxFloor))
}
