package polling

import (
	"cmp"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// speaks fences off what another epoch says (D-36).
func (l *Loop) speaks(e session.Epoch) bool {
	if e == l.epoch && !l.dial && l.talks() {
		return true
	}
	l.note(session.Note{Kind: session.Dropped, Epoch: e})
	return false
}

// current is speaks, and a sign of life: the first one opens the connection, and one that comes ResetAfter after that or later shows
// a healthy one (D-35).
func (l *Loop) current(e session.Epoch) bool {
	if !l.speaks(e) {
		return false
	}
	if l.link == session.LinkDialing {
		l.link, l.upAt = session.LinkUp, l.now
		l.note(session.Note{Kind: session.Up, Epoch: e})
	}
	if l.now-l.upAt >= l.p.ResetAfter {
		l.crashes, l.denied = 0, false
	}
	l.unanswered = false
	l.alive.sign(l.now)
	l.look()
	return true
}

// Up: the service answered.
func (l *Loop) Up(e session.Epoch, now session.Now) {
	l.begin(now)
	l.current(e)
}

// Beat: a sign of life that says nothing else.
func (l *Loop) Beat(e session.Epoch, now session.Now) { l.Up(e, now) }

// Mark and Retry are of streams: a transport that polls keeps its own time and names its position with its events. Both are signs of
// life.
func (l *Loop) Mark(e session.Epoch, now session.Now, _ string) { l.Up(e, now) }

// Retry is a sign of life; see Mark.
func (l *Loop) Retry(e session.Epoch, now session.Now, _ time.Duration) { l.Up(e, now) }

// Polled: one poll is done. seq is where the service is after it, NoSeq if it did not say; changed says whether it brought anything. A
// poll that found the service at the held position is a delta cycle that succeeded: it answers a resume, and ends a streak of recoveries.
// The poll in which the transport gave up for want of an answer is no sign of life.
func (l *Loop) Polled(e session.Epoch, now session.Now, seq event.Seq, changed bool) {
	l.begin(now)
	if l.unanswered {
		l.unanswered = !l.speaks(e)
		return
	}
	if l.current(e) && !changed {
		l.unchanged(seq)
	}
}

func (l *Loop) unchanged(seq event.Seq) {
	h, ok := l.g.Held()
	if !ok || !seq.Valid() || seq != h.Pos.Seq {
		return
	}
	switch st := l.g.State(); st.Phase {
	case gate.Resuming:
		l.implied()
	case gate.Live:
		l.implied()
		if st.Pending == 0 {
			l.streak = 0
		}
	}
}

// implied: the service went on from the position without a word; that vouches for it where the transport says so (D-41).
func (l *Loop) implied() {
	if !l.judged && l.p.Vouch == session.VouchImplicit {
		l.vouched()
	}
}

func (l *Loop) vouched() {
	l.judged = true
	l.note(session.Note{Kind: session.Vouched, Epoch: l.epoch, Pos: l.try.Resume})
}

// Answer: the service named the stream that it serves (D-41). Identity is compared before any number, the head before the resume.
func (l *Loop) Answer(e session.Epoch, now session.Now, a session.Answer) {
	l.begin(now)
	if !l.current(e) || !l.identify(a.StreamEpoch) {
		return
	}
	switch {
	case a.Head.Valid() && a.Head < l.reached(): // a restored server (D-15)
		l.mistrust(event.TransportGap, "head-behind-position")
	case l.judged:
	case a.Resumed == session.Yes:
		l.vouched()
	case a.Resumed == session.No:
		if a.Rejected == event.CursorExpired { // the position is as dead as after an expiry (D-31)
			l.forget = l.forget || l.g.Bounds().Saves
		}
		l.mistrust(event.ResumeUnsupported, cmp.Or(a.Rejected.String(), "resume-refused"))
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
	l.hole = hole{}
	before := l.epoch
	l.require(event.SourceVersionChanged, "stream-epoch")
	l.recover("source-version-changed")
	return l.epoch == before && l.link == session.LinkUp
}

// mistrust gives up a connection that does not go on from our position.
func (l *Loop) mistrust(r event.Reason, detail string) {
	l.fed = true // whatever it sends next is no snapshot that we asked for
	l.require(r, detail)
	l.recover(detail)
}

// holds says whether the gate has anything that another identity would make wrong.
func (l *Loop) holds() bool {
	_, held := l.g.Held()
	st := l.g.State()
	return held || st.Phase != gate.AwaitingSnapshot || st.Pending > 0
}

// reached is how far the gate has come or, with what earlier connections left in its queue, will come. NoSeq while it waits for a
// snapshot that may have any number.
func (l *Loop) reached() event.Seq {
	far := event.NoSeq
	st := l.g.State()
	switch st.Phase {
	case gate.Live, gate.Resuming:
		h, _ := l.g.Held()
		far = h.Pos.Seq
	case gate.AwaitingSnapshot:
	default:
		return far
	}
	if st.Pending > 0 && !l.fed {
		far = max(far, l.offered)
	}
	return far
}

// Recover: the transport begins anew with a snapshot, on the same connection; why is what a transport may say, see gate.Recoverable, and
// anything else counts as transport-gap (D-01). A position that expired leaves the store as well (D-31). An expiry is something that the
// service said, and so a sign of life; a gap may be that it said nothing, and is none.
func (l *Loop) Recover(e session.Epoch, now session.Now, r event.Reason, detail string) {
	l.begin(now)
	if r == event.CursorExpired && !l.current(e) || r != event.CursorExpired && !l.speaks(e) {
		return
	}
	l.unanswered = r != event.CursorExpired
	if r == event.CursorExpired {
		l.forget = l.forget || l.g.Bounds().Saves
	}
	l.judged, l.fed, l.last, l.try.Resume = true, false, event.NoSeq, event.NoPosition
	l.require(r, cmp.Or(detail, "transport-recovers"))
}

// Refresh: nothing changed, and there is a newer way to go on from where we are (D-28). now.Wall becomes the position's SavedAt.
func (l *Loop) Refresh(e session.Epoch, now session.Now, pos event.Position) {
	l.begin(now)
	if !l.current(e) {
		return
	}
	l.unchanged(pos.Seq)
	l.g.Refresh(now.Wall, pos)
	l.note(session.Note{Kind: session.Refreshed, Epoch: e, Pos: pos})
	l.sync()
}

// ScopeChanged: the credential source named another authorization scope for the attempt of e, which the driver did not send
// (D-33).
func (l *Loop) ScopeChanged(e session.Epoch, now session.Now) {
	l.begin(now)
	if !l.speaks(e) {
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
	if l.talks() && (l.fed || l.try.Resume.Seq.Valid()) {
		l.give("resnapshot-required")
		l.connect() // it was the caller's wish: no recovery that is counted
	}
	l.drained()
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
