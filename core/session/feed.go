package session

import (
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// UndecodablePayload is the detail of a transport-gap over a document that names no type: it may have been an event (D-44).
const UndecodablePayload = "undecodable-payload"

// Data: the connection of e delivered an event. The ticket names its delivery; it is 0 if the event did not reach the
// gate: the connection does not count, its resume turned out not to be vouched for, or the event is a hole in the stream.
func (s *Session) Data(e Epoch, now Now, ev *event.Event) gate.Ticket {
	s.begin(now)
	if s.beside(e) {
		return s.besideData(ev)
	}
	switch {
	case !s.current(e):
		return 0
	case s.p.Lane:
		s.give("unexpected-event")
		s.finish(Ending{Cause: ProtocolError, Detail: "an event on a wire without order"}, event.Closed)
		return 0
	case ev.Hole:
		s.give(UndecodablePayload)
		s.blocked(Down{Kind: Gapped, Reason: event.TransportGap, Hole: true, Detail: UndecodablePayload + ": " + ev.Detail})
		return 0
	case !s.judged && !s.judge(ev):
		return 0
	}
	if ev.Pos.Cursor != "" {
		s.named("")
	}
	s.fed = true
	return s.offer(s.epoch, &s.last, ev)
}

// offer hands ev, of the connection of e, to the gate. last is that connection's newest sequence.
func (s *Session) offer(e Epoch, last *event.Seq, ev *event.Event) gate.Ticket {
	if seq := ev.Pos.Seq; seq.Valid() {
		*last = seq
		if s.offered = max(s.offered, seq); ev.Replaces() {
			s.offered = seq
		}
	}
	t := s.g.Enqueue(ev)
	s.note(Note{Kind: Enqueued, Epoch: e, Ticket: t, Event: ev})
	s.queue.add(t, len(ev.Payload))
	s.sync()
	return t
}

// Beat: the connection of e gave a sign of life that carries no event.
func (s *Session) Beat(e Epoch, now Now) {
	s.begin(now)
	s.hears(e)
}

// Retry: the stream asked not to be called again sooner than floor after its end (D-34). It stays in force until it is
// replaced.
func (s *Session) Retry(e Epoch, now Now, floor time.Duration) {
	s.begin(now)
	if s.hears(e) {
		s.hint = max(floor, 0)
	}
}

// Mark: the stream named a position without an event, or took its position back with an empty one (D-43).
func (s *Session) Mark(e Epoch, now Now, cursor string) {
	s.begin(now)
	if s.beside(e) { // not vouched for, so what it names is not ours yet
		s.besideLives()
		if cursor == "" {
			s.forgo("position-cleared")
		}
		return
	}
	if !s.current(e) || s.p.Lane {
		return
	}
	if cursor != "" {
		s.named(cursor)
		return
	}
	s.forgo("position-cleared")
	s.mark, s.cleared = "", true
	s.forget = s.forget || s.g.Bounds().Saves
}

// named: the stream named a position after an earlier one, or after it had taken that one back.
func (s *Session) named(mark string) {
	if s.cleared {
		s.cleared, s.forget = false, false
	}
	s.mark = mark
}

// Applied reports the consumer's result for the Due.Apply taken last.
func (s *Session) Applied(now Now, err error) {
	s.begin(now)
	s.g.Applied(now.Wall, err)
	s.note(Note{Kind: result(err, AppliedOK, AppliedError)})
	s.sync()
}

// Saved reports the store's result for the Due.Save taken last.
func (s *Session) Saved(now Now, err error) {
	s.begin(now)
	s.saving = false
	s.g.Saved(err)
	s.note(Note{Kind: result(err, SavedOK, SavedError)})
	s.sync()
}

func result(err error, ok, failed NoteKind) NoteKind {
	if err != nil {
		return failed
	}
	return ok
}

// sync looks at the gate after an input of its own.
func (s *Session) sync() {
	s.stated()
	switch st := s.g.State(); st.Phase {
	case gate.Failed:
		s.finish(Ending{Cause: Failed, Reason: st.Reason, Detail: st.Detail}, event.Closed)
	case gate.ResnapshotRequired:
		s.recover()
	case gate.Live:
		if h, ok := s.g.Held(); ok {
			s.hole.pass(h.Pos.Seq)
			s.flaw.pass(h.Pos.Seq)
			s.large.pass(h.Pos.Seq)
		}
	}
	s.drained()
}

// recover sees to it that a gate in resnapshot-required gets its snapshot: a connection that was to go on from a position, or
// has delivered something already, is given up (facts 5.6 rule 9); one that is about to bring the snapshot is kept.
func (s *Session) recover() {
	if s.link != LinkDialing && s.link != LinkUp {
		return
	}
	s.forgo("resnapshot-required")
	if s.fed || s.try.Resume.Seq.Valid() {
		s.give("resnapshot-required")
		s.retry(0)
		return
	}
	s.require(event.TransportGap, "reconnect-to-recover")
}
