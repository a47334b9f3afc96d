package polling

import (
	"math"
	"time"

	"github.com/conform-dev/conform/core/session"
)

// liveness is when the service last gave a sign of life, not counting the time in which nobody read (D-19).
type liveness struct {
	last     time.Duration
	signed   bool
	paused   bool
	pausedAt time.Duration
	shown    session.Status
}

func (a *liveness) sign(now time.Duration) { a.last, a.signed = now, true }

func (a *liveness) pause(now time.Duration) {
	if !a.paused {
		a.paused, a.pausedAt = true, now
	}
}

func (a *liveness) resume(now time.Duration) {
	if a.paused {
		a.paused = false
		a.last = min(a.last+now-a.pausedAt, now)
	}
}

// status judges silence. The contract counts whole milliseconds: the horizon itself is fresh, one more is not.
func (a *liveness) status(now, horizon time.Duration) session.Status {
	switch {
	case !a.signed:
		return session.Unconfirmed
	case a.paused && now-a.pausedAt >= session.PauseShown:
		return session.PausedByConsumer
	case !a.paused && now >= a.last+horizon+time.Millisecond:
		return session.Unconfirmed
	}
	return session.Fresh
}

// due is when status changes by itself.
func (a *liveness) due(horizon time.Duration) time.Duration {
	switch {
	case a.paused && a.shown != session.PausedByConsumer:
		return a.pausedAt + session.PauseShown
	case !a.paused && a.shown == session.Fresh:
		return a.last + horizon + time.Millisecond
	}
	return math.MaxInt64
}

// look suspends liveness while the host does not read, and notes a new observation.
func (l *Loop) look() {
	if l.link == session.LinkUp && l.Room() == 0 {
		l.alive.pause(l.now)
	} else {
		l.alive.resume(l.now)
	}
	if l.link == session.LinkOver {
		return
	}
	if st := l.alive.status(l.now, l.p.Horizon); st != l.alive.shown {
		l.alive.shown = st
		l.note(session.Note{Kind: session.Observed, Detail: st.String()})
	}
}

// Observe is what the loop shows at now.
func (l *Loop) Observe(now session.Now) session.Observation {
	return session.Observation{
		Status: l.alive.status(max(l.now, now.Mono), l.p.Horizon), Link: l.link, Epoch: l.epoch, ReconnectAttempt: l.streak,
		SourceVersion: l.version, Last: l.down, Ending: l.ended,
	}
}
