package polling

import (
	"cmp"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// current fences off what another epoch says (D-36) and takes everything else as a sign of life.
func (l *Loop) current(e session.Epoch) bool {
	if e != l.epoch || l.dial || l.link != session.LinkDialing && l.link != session.LinkUp {
		l.note(session.Note{Kind: session.Dropped, Epoch: e})
		return false
	}
	if l.link == session.LinkDialing {
		l.link = session.LinkUp
		l.crashes, l.denied = 0, false
		l.note(session.Note{Kind: session.Up, Epoch: e})
	}
	l.alive.sign(l.now)
	l.look()
	return true
}

// Up: the service answered.
func (l *Loop) Up(e session.Epoch, now session.Now) {
	l.begin(now)
	l.current(e)
}

// Beat: a sign of life that carries no event, for example a poll that brought nothing.
func (l *Loop) Beat(e session.Epoch, now session.Now) {
	l.begin(now)
	if l.current(e) {
		l.vouched()
	}
}

// Mark and Retry are of streams: a loop that polls keeps its own time and names its position with its events.
func (l *Loop) Mark(e session.Epoch, now session.Now, _ string) { l.Up(e, now) }

// Retry is a sign of life and nothing else; see Mark.
func (l *Loop) Retry(e session.Epoch, now session.Now, _ time.Duration) { l.Up(e, now) }

// Answer: the service named the stream that it serves (D-41). Identity is compared before any number.
func (l *Loop) Answer(e session.Epoch, now session.Now, a session.Answer) {
	l.begin(now)
	if !l.current(e) || !l.identify(a.StreamEpoch) {
		return
	}
	if a.Head.Valid() && a.Head < l.reached() { // a restored server (D-15)
		l.require(event.TransportGap, "head-behind-position")
		l.fed = true
		l.recover("head-behind-position")
	}
}

// identify compares the source version and takes it over; false if the connection was given up over it.
func (l *Loop) identify(version string) bool {
	if version == "" || version == l.version {
		return true
	}
	first := l.version == ""
	l.version = version
	if first || !l.holds() {
		return true
	}
	before := l.epoch
	l.require(event.SourceVersionChanged, "stream-epoch")
	l.recover("source-version-changed")
	return l.epoch == before && l.link == session.LinkUp
}

// holds says whether the gate has anything that another identity would make wrong.
func (l *Loop) holds() bool {
	_, held := l.g.Held()
	st := l.g.State()
	return held || st.Phase != gate.AwaitingSnapshot || st.Pending > 0
}

// reached is how far the gate has come or, with what is queued, will come. NoSeq while it waits for a snapshot of any number.
func (l *Loop) reached() event.Seq {
	st := l.g.State()
	if st.Phase != gate.Live && st.Phase != gate.Resuming {
		return event.NoSeq
	}
	h, _ := l.g.Held()
	if st.Pending > 0 {
		return max(h.Pos.Seq, l.offered)
	}
	return h.Pos.Seq
}

// vouched: the service answered the position that it was asked to go on from.
func (l *Loop) vouched() {
	if !l.judged {
		l.judged = true
		l.note(session.Note{Kind: session.Vouched, Epoch: l.epoch, Pos: l.try.Resume})
	}
}

// Data: the transport brought a round. The ticket names its delivery; it is 0 if the event did not reach the gate.
func (l *Loop) Data(e session.Epoch, now session.Now, ev *event.Event) gate.Ticket {
	l.begin(now)
	switch {
	case !l.current(e):
		return 0
	case ev.Hole: // nobody can tell what it was (D-44)
		l.forget = l.forget || l.g.Bounds().Saves
		l.require(event.TransportGap, session.UndecodablePayload+": "+ev.Detail)
		l.fed = true
		l.recover(session.UndecodablePayload)
		return 0
	case !l.judged && ev.Replaces(): // it began anew without a word: its number says nothing about ours
		l.require(event.ResumeUnsupported, "snapshot-instead-of-resume")
		l.judged, l.try.Resume = true, event.NoPosition
	case !l.judged && ev.Kind != event.Malformed:
		l.vouched()
	}
	l.fed = true
	if ev.Pos.Seq.Valid() {
		l.offered = ev.Pos.Seq
	}
	t := l.g.Enqueue(ev)
	l.note(session.Note{Kind: session.Enqueued, Epoch: l.epoch, Ticket: t, Event: ev})
	l.queue.add(t, len(ev.Payload))
	l.sync()
	return t
}

// Recover: the transport begins anew with a snapshot, in the same connection. What was expired leaves the store as well (D-01, D-31).
func (l *Loop) Recover(e session.Epoch, now session.Now, r event.Reason, detail string) {
	l.begin(now)
	if !l.current(e) {
		return
	}
	if r == event.CursorExpired {
		l.forget = l.forget || l.g.Bounds().Saves
	}
	l.judged, l.fed, l.try.Resume = true, false, event.NoPosition
	l.require(r, cmp.Or(detail, "transport-recovers"))
}

// Refresh: nothing changed, and there is a newer way to go on from where we are (D-28).
func (l *Loop) Refresh(e session.Epoch, now session.Now, pos event.Position) {
	l.begin(now)
	if !l.current(e) {
		return
	}
	l.vouched()
	taken := l.g.Refresh(now.Wall, pos)
	l.note(session.Note{Kind: session.Refreshed, Epoch: e, Pos: pos})
	if taken {
		l.streak = 0
	}
	l.sync()
}

// Down: the transport is done. What it could try again it has tried, so this is the end, but for a credential that may be renewed once
// and for a process that died.
func (l *Loop) Down(e session.Epoch, now session.Now, d session.Down) {
	l.begin(now)
	if e != l.epoch || l.dial || l.link != session.LinkDialing && l.link != session.LinkUp {
		l.note(session.Note{Kind: session.Dropped, Epoch: e})
		return
	}
	l.link, l.down = session.LinkWaiting, d // it is over: nothing to hang up
	l.alive.resume(l.now)
	switch d.Kind {
	case session.Stopped:
		l.finish(session.Ending{Cause: d.Ends, Status: d.Status, Reason: d.Reason, Detail: d.Detail}, event.Closed)
	case session.Denied:
		if l.denied {
			l.finish(session.Ending{Cause: session.Refused, Status: d.Status, Detail: d.Detail}, event.Closed)
			return
		}
		l.denied, l.renew = true, true
		l.connect()
	case session.Crashed:
		if l.crashes++; l.crashes > session.MaxCrashes {
			l.finish(session.Ending{Cause: session.PluginCrashed, Detail: d.Detail}, event.Closed)
			return
		}
		l.connect()
	case session.Expired:
		l.forget = l.forget || l.g.Bounds().Saves
		l.anew(event.CursorExpired, d.Detail)
	case session.Gapped:
		l.anew(d.Reason, d.Detail)
	default:
		l.finish(session.Ending{Cause: session.AttemptsUsedUp, Status: d.Status, Reason: event.DeliveryFailed, Detail: d.Detail}, event.Closed)
	}
}

// anew opens the transport again for a snapshot after it gave up its place by itself.
func (l *Loop) anew(r event.Reason, detail string) {
	l.require(r, detail)
	if l.streak++; l.streak > MaxResnapshots {
		l.finish(session.Ending{Cause: session.AttemptsUsedUp, Reason: event.DeliveryFailed, Detail: detail}, event.Closed)
		return
	}
	l.connect()
}

// Applied reports the consumer's result for the Due.Apply taken last.
func (l *Loop) Applied(now session.Now, err error) {
	l.begin(now)
	before := l.g.State().Accepted
	l.g.Applied(now.Wall, err)
	if l.delta && l.g.State().Accepted > before {
		l.streak = 0
	}
	l.note(session.Note{Kind: result(err, session.AppliedOK, session.AppliedError)})
	l.sync()
}

// Saved reports the store's result for the Due.Save taken last.
func (l *Loop) Saved(now session.Now, err error) {
	l.begin(now)
	l.saving = false
	l.g.Saved(err)
	l.note(session.Note{Kind: result(err, session.SavedOK, session.SavedError)})
	l.sync()
}

func result(err error, ok, failed session.NoteKind) session.NoteKind {
	if err != nil {
		return failed
	}
	return ok
}

// sync looks at the gate after an input of its own.
func (l *Loop) sync() {
	l.stated()
	switch st := l.g.State(); st.Phase {
	case gate.Failed:
		l.finish(session.Ending{Cause: session.Failed, Reason: st.Reason, Detail: st.Detail}, event.Closed)
	case gate.ResnapshotRequired:
		l.recover("resnapshot-required")
	}
}

// ScopeChanged: the credential source named another authorization scope for the attempt of e, which the driver did not send
// (D-33).
func (l *Loop) ScopeChanged(e session.Epoch, now session.Now) {
	l.begin(now)
	if e != l.epoch || l.link != session.LinkDialing && l.link != session.LinkUp {
		l.note(session.Note{Kind: session.Dropped, Epoch: e})
		return
	}
	if l.holds() {
		l.require(event.AuthorizationScopeChanged, "")
	}
	if l.try.Resume.Seq.Valid() {
		l.give("authorization-scope-changed")
		l.connect()
	}
}

// Require asks for a snapshot on the application's behalf. r is a reason that gate.Recoverable accepts; any other counts as
// transport-gap.
func (l *Loop) Require(now session.Now, r event.Reason, detail string) {
	l.begin(now)
	if l.link == session.LinkOver {
		return
	}
	l.require(r, detail)
	if l.link == session.LinkDialing || l.link == session.LinkUp {
		l.give("resnapshot-required")
		l.connect()
	}
}

// Fail ends the subscription for a reason outside it, as session.Session.Fail does.
func (l *Loop) Fail(now session.Now, r event.Reason) {
	l.begin(now)
	l.g.Fail(r)
	l.note(session.Note{Kind: session.GateFailed, Reason: r})
	l.sync()
}

// Close ends the subscription on the caller's behalf; r is event.Closed, or event.Cancelled when the caller's own context ended.
func (l *Loop) Close(now session.Now, r event.Reason) {
	l.begin(now)
	if r != event.Cancelled {
		r = event.Closed
	}
	l.finish(session.Ending{Cause: session.ByCaller, Reason: r}, r)
}
