package session

import "time"

// Link is where the connection stands.
type Link uint8

// The places.
const (
	LinkIdle     Link = iota // Open was not called yet
	LinkWaiting              // for the next attempt
	LinkDialing              // an attempt runs
	LinkUp                   // the server accepted
	LinkOver                 // the session has ended
	LinkDraining             // the server stopped for good; what it sent before is still being delivered
)

var links = [...]string{"idle", "waiting", "dialing", "up", "over", "draining"}

// String is the word used in reports.
func (l Link) String() string { return links[l] }

// Status is what may be believed about the source (D-36).
type Status uint8

// The three answers.
const (
	Unconfirmed      Status = iota // no sign of life within the horizon, or none yet
	Fresh                          // a sign of life within the horizon
	PausedByConsumer               // the consumer is behind, nobody reads: silence says nothing (D-19)
)

var statuses = [...]string{"unconfirmed", "fresh", "paused-by-consumer"}

// String is the word used in traces and reports.
func (s Status) String() string { return statuses[s] }

// Observation is what a session shows beside the gate's state. It is a value.
type Observation struct {
	Status           Status
	Link             Link
	Epoch            Epoch         // of the connection or attempt that counts
	Beside           Epoch         // of the second one while a hand-over runs; 0 = none (D-36)
	ReconnectAttempt int           // retries since the last reset (D-35)
	RetryAt          time.Duration // LinkWaiting: when the next attempt starts
	SourceVersion    string
	Last             Down    // how the last connection ended
	Ending           *Ending // LinkOver: why; must not be changed
}

// Observe is what the session shows at now.
func (s *Session) Observe(now Now) Observation {
	return Observation{
		Status: s.status(max(s.now, now.Mono)), Link: s.link, Epoch: s.epoch, ReconnectAttempt: s.retries,
		RetryAt: s.retryAt, SourceVersion: s.version, Last: s.down, Ending: s.ended, Beside: s.next.try.Epoch,
	}
}

// status judges silence. The contract counts whole milliseconds: 90,000 is fresh, 90,001 is not.
func (s *Session) status(now time.Duration) Status {
	switch {
	case !s.signed:
		return Unconfirmed
	case s.paused && now-s.pausedAt >= PauseShown:
		return PausedByConsumer
	case !s.paused && now >= s.unconfirmedAt():
		return Unconfirmed
	}
	return Fresh
}

func (s *Session) unconfirmedAt() time.Duration { return s.sign + s.p.Horizon + time.Millisecond }

// alive takes a sign of life. One that comes ResetAfter after open or later shows a healthy connection (D-35).
func (s *Session) alive() {
	s.sign, s.signed = s.now, true
	if s.now-s.upAt >= s.p.ResetAfter {
		s.retries = 0
	}
	s.look()
}

// look suspends liveness while the host does not read, re-arms it when it reads again, and notes a new observation. The
// time in which nobody read does not count as silence (D-19).
func (s *Session) look() {
	full := s.link == LinkUp && s.Room() == 0
	switch {
	case full && !s.paused:
		s.paused, s.pausedAt = true, s.now
	case !full && s.paused:
		s.paused = false
		s.sign = min(s.sign+s.now-s.pausedAt, s.now)
	}
	if s.link == LinkOver {
		return
	}
	if st := s.status(s.now); st != s.shown {
		s.shown = st
		s.note(Note{Kind: Observed, Detail: st.String()})
	}
}
