// Package drive is what the two drivers of a session share, so that the live one and the one in virtual time cannot drift
// apart: what a transport's output means to a session, what a session did as trace records, what a descriptor means as a
// policy, what a stored checkpoint means as a start. It is pure.
package drive

import (
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// Holes are the first words of a gap's detail that mean: the bytes after this position cannot be used here, so the position
// is not tried twice (D-32, D-44). session.MessageTooLarge is tried twice (D-37).
var Holes = []string{"frame-too-large", session.UndecodablePayload}

// Signal gives a loop what a transport signalled on the connection of e.
func Signal(s Loop, e session.Epoch, now session.Now, sig transport.Signal) {
	switch sig.Kind {
	case transport.Open:
		s.Up(e, now)
	case transport.Heartbeat:
		s.Beat(e, now)
	case transport.Answered:
		s.Answer(e, now, answer(sig.Answer))
	case transport.Mark:
		s.Mark(e, now, sig.Cursor)
	case transport.Retry:
		s.Retry(e, now, sig.RetryAfter)
	case transport.WakeStated, transport.Woken, transport.CaughtUp:
		wake(s, e, now, sig)
	case transport.Recovering, transport.Refreshed, transport.Polled:
		if !polled(s, e, now, sig) {
			s.Down(e, now, session.Down{Kind: session.Stopped, Ends: session.ProtocolError, Detail: "signal of a polling transport on a stream"})
		}
	default:
		s.Down(e, now, down(sig))
	}
}

// Document captures d into ev and offers it on the connection of e. ev shares d.JSON, which must not change any more.
func Document(s Loop, e session.Epoch, now session.Now, d transport.Document, ev *event.Event) gate.Ticket {
	d.Capture(ev)
	return s.Data(e, now, ev)
}

func answer(a transport.Answer) session.Answer {
	out := session.Answer{StreamEpoch: a.StreamEpoch, Head: a.Head, ClosingSoon: a.ClosingSoon}
	out.Rejected, _ = event.ParseReason(a.Rejected)
	switch a.Resumed {
	case transport.Yes:
		out.Resumed = session.Yes
	case transport.No:
		out.Resumed = session.No
	}
	return out
}

// down is what a final signal means (D-31 to D-33). A kind that is none is a transport out of its grammar.
func down(sig transport.Signal) session.Down {
	d := session.Down{Status: sig.Status, Detail: sig.Detail, RetryAfter: sig.RetryAfter}
	switch sig.Kind {
	case transport.Expired:
		d.Kind = session.Expired
	case transport.Gap:
		d.Kind, d.Reason, d.Hole = session.Gapped, sig.Reason, isHole(sig.Detail)
		if firstWord(sig.Detail) == session.MessageTooLarge {
			d.Kind = session.Oversized
		}
	case transport.Refused:
		d.Kind, d.Ends = refused(sig)
	case transport.Ended:
		d.Kind, d.Ends = ended(sig)
	default:
		d.Kind, d.Ends, d.Detail = session.Stopped, session.ProtocolError, "unknown signal"
	}
	return d
}

// refused: the server, or a rule of ours, says no. A temporary no stays one whatever it is called (D-33).
func refused(sig transport.Signal) (session.DownKind, session.Cause) {
	switch sig.Cause {
	case transport.ConnectionLost, transport.Throttled:
		return session.Lost, session.NotEnded
	case transport.Unauthorized:
		if sig.Status == 401 {
			return session.Denied, session.NotEnded
		}
		return session.Stopped, session.Refused
	}
	return session.Stopped, ending(sig.Cause)
}

// ended: the connection is over and may be tried again, unless its cause forbids that.
func ended(sig transport.Signal) (session.DownKind, session.Cause) {
	switch sig.Cause {
	case transport.CauseNone, transport.ConnectionLost, transport.Throttled:
		return session.Lost, session.NotEnded
	case transport.PluginCrashed:
		return session.Crashed, session.NotEnded
	case transport.ProtocolError:
		if firstWord(sig.Detail) == session.ProtocolViolation { // found on this side; one that the server reports is Refused
			return session.Flawed, session.NotEnded
		}
	}
	return refused(sig)
}

// ending is the session's ending for a cause that allows no other try.
func ending(c transport.Cause) session.Cause {
	switch c {
	case transport.ServerStop:
		return session.ServerStop
	case transport.BadMediaType:
		return session.BadMediaType
	case transport.BadRedirect:
		return session.BadRedirect
	case transport.ProtocolError:
		return session.ProtocolError
	case transport.PluginCrashed:
		return session.PluginCrashed
	}
	return session.Refused
}

func isHole(detail string) bool {
	return slices.Contains(Holes, firstWord(detail))
}

func firstWord(detail string) string {
	first, _, _ := strings.Cut(detail, ":")
	return first
}
