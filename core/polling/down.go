package polling

import (
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
)

// Down: the transport is done. What it could try again it has tried, so this is the end, but for what only a new Open can mend: a
// credential that is renewed once (D-33), a process that died, a position that the transport cannot use.
func (l *Loop) Down(e session.Epoch, now session.Now, d session.Down) {
	l.begin(now)
	if !l.speaks(e) {
		return
	}
	l.link, l.down = session.LinkWaiting, d // it is over: nothing to hang up
	l.alive.resume(l.now)
	switch d.Kind {
	case session.Denied:
		if l.denied {
			l.stop(session.Ending{Cause: session.Refused, Status: d.Status, Detail: d.Detail})
			return
		}
		l.denied, l.renew = true, true
		l.connect()
	case session.Crashed:
		if l.crashes++; l.crashes > session.MaxCrashes {
			l.stop(session.Ending{Cause: session.PluginCrashed, Detail: d.Detail})
			return
		}
		l.connect()
	case session.Expired:
		l.drop(event.CursorExpired, d.Detail)
		l.anew()
	case session.Gapped, session.Oversized:
		if d.Hole || d.Kind == session.Oversized {
			l.blocked(d)
			return
		}
		l.require(d.Reason, d.Detail)
		l.anew()
	case session.Stopped:
		l.stop(session.Ending{Cause: d.Ends, Status: d.Status, Reason: d.Reason, Detail: d.Detail})
	case session.Flawed: // the service broke the wire's grammar, and the transport gave up over it
		l.stop(session.Ending{Cause: session.ProtocolError, Status: d.Status, Detail: d.Detail})
	default:
		l.stop(session.Ending{Cause: session.AttemptsUsedUp, Status: d.Status, Reason: event.DeliveryFailed, Detail: d.Detail})
	}
}

// hole is a place in the stream that could not be passed (D-32, D-44).
type hole struct {
	set bool
	at  event.Seq
}

// pass lets go of the hole once the stream is past it.
func (h *hole) pass(held event.Seq) {
	if h.set && held > h.at {
		*h = hole{}
	}
}

// blocked: the bytes after this position cannot be used. It is given up as a place to go on from, and a stream that comes to the same
// place again is refused (D-32, D-44).
func (l *Loop) blocked(d session.Down) {
	if l.hole.set && l.hole.at == l.last {
		l.stop(session.Ending{Cause: session.Refused, Status: d.Status, Reason: event.TransportGap, Detail: d.Detail})
		return
	}
	l.hole = hole{set: true, at: l.last}
	l.drop(event.TransportGap, d.Detail)
	l.anew()
}
