package session

import (
	"cmp"
	"fmt"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// Answer: the server said on the connection of e what it makes of the request (D-41). Identity is compared before any
// number, the head before the resume: what cannot be the same stream, or is behind us, cannot have been resumed.
func (s *Session) Answer(e Epoch, now Now, a Answer) {
	s.begin(now)
	if s.beside(e) {
		s.besideAnswer(a)
		return
	}
	if !s.current(e) || s.p.Lane || !s.identify(a.StreamEpoch) {
		return
	}
	if a.Head.Valid() && a.Head < s.reached() {
		s.mistrust(event.TransportGap, "head-behind-position")
		return
	}
	switch {
	case s.judged:
	case a.Resumed == Yes:
		s.vouched()
	case a.Resumed == No:
		if a.Rejected == event.CursorExpired { // the position is as dead as after an expiry (D-31)
			s.forget = s.forget || s.g.Bounds().Saves
		}
		s.mistrust(event.ResumeUnsupported, cmp.Or(a.Rejected.String(), "resume-refused"))
		return
	}
	if s.p.AtPosition && !s.fed && !s.try.Resume.Seq.Valid() && a.Head.Valid() {
		s.fed = true
		s.offer(s.epoch, &s.last, empty(a.Head))
	}
	if a.ClosingSoon {
		s.handOver()
	}
}

// reached is how far the gate has come or, with what earlier connections left in its queue, will come. A server whose head is
// behind that was restored (D-15). NoSeq while the gate waits for a snapshot that may have any number.
func (s *Session) reached() event.Seq {
	far := event.NoSeq
	st := s.g.State()
	switch st.Phase {
	case gate.Live, gate.Resuming:
		h, _ := s.g.Held()
		far = h.Pos.Seq
	case gate.AwaitingSnapshot:
	default:
		return far
	}
	if st.Pending > 0 && !s.fed {
		far = max(far, s.offered)
	}
	return far
}

// identify compares the source version that the server names and takes it over. It answers false if the connection was
// given up: it was to go on from, or has already brought, what belongs to another stream (source-version-changed).
func (s *Session) identify(epoch string) bool {
	if epoch == "" || epoch == s.version {
		return true
	}
	first := s.version == ""
	s.version = epoch
	if first || !s.holds() {
		return true
	}
	s.hole = hole{}
	s.require(event.SourceVersionChanged, "stream-epoch")
	s.recover()
	return s.link == LinkUp
}

// judge decides by the first event of a connection that was to go on from a position and that nobody has vouched for yet
// whether it does. It answers false if the event must not reach the gate.
func (s *Session) judge(ev *event.Event) bool {
	seq := ev.Pos.Seq
	next := s.last + 1 // more than the position it asked for if it counted in a hand-over before
	switch {
	case ev.Kind == event.Malformed || !seq.Valid():
		return true // the gate refuses it, which ends this connection as well
	case ev.Replaces():
		// The server took no notice of the position and began anew. That is the fresh snapshot in which an unvouched
		// continuation ends (D-30); its number says nothing about ours, so the gate must take any.
		s.require(event.ResumeUnsupported, "snapshot-instead-of-resume")
		s.try.Resume, s.judged = event.NoPosition, true
		return true
	case seq > next:
		s.mistrust(event.TransportGap, "resume-jump")
		return false
	case s.p.Vouch == VouchImplicit:
		s.vouched()
		return true
	default:
		s.mistrust(event.ResumeUnsupported, "resume-not-answered")
		return false
	}
}

func (s *Session) vouched() {
	s.judged = true
	s.note(Note{Kind: Vouched, Epoch: s.epoch, Pos: s.try.Resume})
}

// mistrust gives up a connection that does not go on from our position.
func (s *Session) mistrust(r event.Reason, detail string) {
	s.fed = true // whatever it sends next is no snapshot that we asked for
	s.require(r, detail)
	s.recover()
}

// empty is the replacement snapshot that stands for a stream's head where the stream has none of its own (D-42).
func empty(head event.Seq) *event.Event {
	return &event.Event{
		Kind: event.Snapshot, Pos: event.Position{Seq: head},
		Payload: fmt.Appendf(nil, `{"type":"snapshot","sequence":%d,"features":[]}`, head),
	}
}
