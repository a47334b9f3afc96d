package polling

import (
	"fmt"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// noResumeMode is why a transport that can name no position gets a snapshot.
const noResumeMode = "no-resume-mode"

// connect opens the transport. A gate that needs a snapshot is told first that it may take any (D-01); one that holds a position that
// the transport can name and the service can vouch for goes on from it.
func (l *Loop) connect() {
	l.epoch++
	l.link = session.LinkDialing
	l.try = session.Attempt{Epoch: l.epoch, Resume: event.NoPosition, Renew: l.renew}
	l.renew, l.fed, l.dial, l.unanswered = false, false, true, false
	switch l.g.State().Phase {
	case gate.ResnapshotRequired:
		if l.epoch > 1 {
			l.require(event.TransportGap, "reconnect-to-recover")
		}
	case gate.Live, gate.Resuming:
		pos, why := l.resume()
		l.try.Resume = pos
		switch {
		case why == noResumeMode && l.epoch > 1: // nobody knows what was said while nobody listened (facts 5.6, rule 8)
			l.require(event.TransportGap, why)
		case why != "":
			l.require(event.ResumeUnsupported, why)
		}
	}
	l.judged, l.last = !l.try.Resume.Seq.Valid(), l.try.Resume.Seq
}

// resume is the held position, reduced to what the transport can name; why says why there is none.
func (l *Loop) resume() (pos event.Position, why string) {
	switch {
	case l.p.Resume == 0:
		return event.NoPosition, noResumeMode
	case l.p.Vouch == session.VouchNone:
		return event.NoPosition, "nobody-vouches"
	}
	h, _ := l.g.Held()
	pos = h.Pos
	usable := l.p.Resume&session.BySequence != 0
	for _, part := range []struct {
		mode session.Modes
		text *string
	}{{session.ByCursor, &pos.Cursor}, {session.ByWatermark, &pos.Watermark}, {session.ByTimestamp, &pos.Timestamp}, {session.ByDeltaToken, &pos.DeltaToken}} {
		if l.p.Resume&part.mode == 0 {
			*part.text = ""
		}
		usable = usable || *part.text != ""
	}
	if !usable {
		return event.NoPosition, "position-not-nameable"
	}
	return pos, ""
}

// require tells the gate that only a replacement snapshot counts from here, of any sequence. A recovery epoch that is open already is
// not opened twice. What no transport may give as a reason counts as transport-gap.
func (l *Loop) require(r event.Reason, detail string) {
	if !gate.Recoverable(r) {
		r = event.TransportGap
	}
	if l.opened && l.g.State().Phase == gate.ResnapshotRequired {
		return
	}
	l.g.RequireResnapshot(r, detail)
	l.note(session.Note{Kind: session.Resnapshotted, Reason: r, Detail: detail})
	l.opened = l.g.State().Phase == gate.ResnapshotRequired
	l.stated()
}

// drop gives the position up, in the store as well, before the snapshot is asked for (D-31). It stays visible in the gate's state.
func (l *Loop) drop(r event.Reason, detail string) {
	l.forget = l.forget || l.g.Bounds().Saves
	l.require(r, detail)
}

// give lets go of the transport.
func (l *Loop) give(why string) {
	l.link, l.down = session.LinkWaiting, session.Down{Detail: why}
	l.alive.resume(l.now)
	if l.dial { // the driver never heard of it
		l.dial = false
		return
	}
	l.hangup = l.epoch
	l.note(session.Note{Kind: session.HungUp, Epoch: l.epoch, Detail: why})
}

// talks says whether there is a connection, or an attempt at one.
func (l *Loop) talks() bool { return l.link == session.LinkDialing || l.link == session.LinkUp }

// recover opens the transport anew for a snapshot that it does not know is needed: the gate found something wrong, or the service is
// not the one that the position is of. A connection that is about to bring a snapshot anyway is kept.
func (l *Loop) recover(why string) {
	if !l.talks() {
		return
	}
	if !l.fed && !l.try.Resume.Seq.Valid() {
		l.require(event.TransportGap, "reconnect-to-recover")
		return
	}
	l.give(why)
	l.anew()
}

// anew opens the transport again for a snapshot, if it was not done too often in a row.
func (l *Loop) anew() {
	if l.streak >= l.p.Resnapshots {
		st := l.g.State()
		l.finish(session.Ending{Cause: session.AttemptsUsedUp, Reason: event.DeliveryFailed,
			Detail: fmt.Sprintf("%d snapshots in a row did not help: %s", l.streak, st.Reason)}, event.Closed)
		return
	}
	l.streak++
	l.connect()
}

// stop ends the subscription for what the transport said last, once what it sent before is delivered: no other connection will bring
// that again, and where a service is at fault only after its last round, that round counts (D-39).
func (l *Loop) stop(e session.Ending) {
	if l.busy() {
		l.link, l.stopping = session.LinkDraining, &e
		return
	}
	l.finish(e, event.Closed)
}

// busy says whether something that was received is still on its way to the consumer or the store.
func (l *Loop) busy() bool {
	st := l.g.State()
	return st.Phase < gate.ResnapshotRequired && (st.Pending > 0 || l.saving)
}

// drained ends a subscription whose transport is done, once there is nothing left to deliver. If the rest could not be delivered, an
// ending without a reason gets the gate's.
func (l *Loop) drained() {
	if l.link != session.LinkDraining || l.busy() {
		return
	}
	if st := l.g.State(); st.Phase == gate.ResnapshotRequired && l.stopping.Reason == event.None {
		l.stopping.Reason = st.Reason
	}
	l.finish(*l.stopping, event.Closed)
}

// finish ends the subscription. A gate in phase error keeps it, so that its reason stays readable; any other is closed.
func (l *Loop) finish(e session.Ending, r event.Reason) {
	if l.link == session.LinkOver {
		return
	}
	if l.talks() {
		l.give("session-over")
	}
	l.link = session.LinkOver
	if l.g.State().Phase != gate.Failed {
		l.g.Close(r)
		l.note(session.Note{Kind: session.GateClosed, Reason: r})
		l.stated()
	}
	l.end, l.ended = &e, &e
	l.note(session.Note{Kind: session.Ended, Reason: e.Reason, Detail: e.Detail, Status: e.Status, Cause: e.Cause})
}
