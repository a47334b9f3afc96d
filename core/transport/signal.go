package transport

import "github.com/conform-dev/conform/core/event"

// Signal is what a transport reports beside data events. Which members count is said per kind.
type Signal struct {
	Kind       SignalKind
	Status     int            // Refused: the HTTP status, 0 if none
	Reason     event.Reason   // Expired, Gap, Answer (why a resume was rejected)
	Cause      Cause          // Refused, Ended
	Detail     string         // for people: what was seen, with limit and byte position; never a secret, never a position
	RetryAfter Delay          // Retry; and Refused, Ended when the server named a delay
	Answer     Answer         // Answer
	Cursor     string         // Mark: position named without data; empty means the server cleared it (D-43)
	Position   event.Position // Refreshed: the position that takes the place of the held one, at the same sequence (D-28)
	Poll       *PollReport    // Polled
	Wake       *Wake          // Woken
	WakeState  *WakeState     // WakeStated
	CatchUp    *CatchUp       // CaughtUp
}

// SignalKind is the kind of a signal.
type SignalKind uint8

// The kinds. Refused, Expired, Gap and Ended are final: the connection is over, nothing follows.
const (
	// Open: the server accepted and the stream began.
	Open SignalKind = iota + 1
	// Heartbeat: a complete line or frame that carries no event (D-36).
	Heartbeat
	// Answered: the server's `connected` frame (D-41), in Answer.
	Answered
	// Mark: an SSE id outside any event, in Cursor (D-43).
	Mark
	// Retry: a reconnect floor, in RetryAfter (D-34).
	Retry
	// Refused: the server, or a rule of ours about what it said, ends the session; see Cause (D-33).
	Refused
	// Expired: the position that was sent is dead (D-31).
	Expired
	// Gap: something was lost or cannot be resumed: transport-gap or resume-unsupported, in Reason.
	Gap
	// Ended: the connection is over and may be tried again, or, with Cause ServerStop, is not to be (D-33).
	Ended

	// Recovering: a transport that keeps its own recovery loop begins anew with a snapshot; why is in Reason (D-01, D-45).
	Recovering
	// Refreshed: nothing changed, and the server named a newer way to go on from where we are, in Position (D-28).
	Refreshed
	// Polled: one poll is done, in Poll. It is a sign of life.
	Polled
	// WakeStated, Woken, CaughtUp: what the fleet-wake lane says, in WakeState, Wake and CatchUp.
	WakeStated
	Woken
	CaughtUp
)

var signalKinds = [...]string{"", "open", "heartbeat", "answered", "mark", "retry", "refused", "expired", "gap", "ended", "recovering", "refreshed", "polled", "wake-stated", "woken", "caught-up"}

// String is the word used in traces and on the plugin wire.
func (k SignalKind) String() string {
	if int(k) >= len(signalKinds) {
		return ""
	}
	return signalKinds[k]
}

// Final says whether nothing may follow a signal of this kind.
func (k SignalKind) Final() bool { return k >= Refused && k <= Ended }

// Cause says what ended a connection (D-33). The texts are those of the session's endings.
type Cause uint8

// The causes.
const (
	CauseNone      Cause = iota
	ConnectionLost       // network failure, abnormal or clean end of the stream, 5xx: may be tried again
	Throttled            // 429, 503: may be tried again after RetryAfter
	ServerStop           // 204: the server asks to stop for good
	Unauthorized         // 401, 403, a client certificate refused: no blind retry of the same credential
	Rejected             // another 4xx; a server or proxy that cannot be used as things are set up
	BadMediaType         // 200 with something that is no event stream
	BadRedirect          // no or empty Location, another origin, more than 5
	ProtocolError        // a violation of the wire's grammar, or a terminal error frame
	PluginCrashed        // the transport's process died (reported by the host)
)

var causes = [...]string{"", "connection-lost", "throttled", "server-stop", "unauthorized", "rejected", "bad-media-type", "bad-redirect", "protocol-error", "plugin-crashed"}

// String is the word used in traces and endings.
func (c Cause) String() string {
	if int(c) >= len(causes) {
		return ""
	}
	return causes[c]
}

// Answer is the server's own word on a connection (D-41).
type Answer struct {
	StreamEpoch string    // source version the server serves; empty if not named
	Head        event.Seq // headSequence; NoSeq if not named
	Resumed     Tristate  // judged only if a position was sent
	Rejected    string    // resumeRejected as the server gave it, only if it is one of the contract's reasons
	ClosingSoon bool      // WebSocket: the server is about to close; a hand-over to a new connection is wanted (D-36)
}

// Tristate is a yes, a no, or nothing said.
type Tristate uint8

// The three values.
const (
	Unsaid Tristate = iota
	No
	Yes
)
