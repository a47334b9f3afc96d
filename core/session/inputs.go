package session

import (
	"time"

	"github.com/conform-dev/conform/core/event"
)

// Tristate is a yes, a no, or nothing said.
type Tristate uint8

// The three values.
const (
	Unsaid Tristate = iota
	No
	Yes
)

// Answer is the server's own word on a connection, its `connected` frame (D-41).
type Answer struct {
	StreamEpoch string       // source version that the server serves; empty if not named
	Head        event.Seq    // newest sequence; NoSeq if not named
	Resumed     Tristate     // judged only if a position was sent
	Rejected    event.Reason // why a resume was rejected; None if not said
	ClosingSoon bool         // the server is about to close: a planned hand-over is wanted (D-36)
}

// ProtocolViolation is the first word of the detail of a connection that ended because this side found a violation of the wire's
// grammar (Flawed), MessageTooLarge of one that ended over a message's size (Oversized). Violations that the server reports, by close
// code for example, are Stopped with ProtocolError.
const (
	ProtocolViolation = "protocol-violation"
	MessageTooLarge   = "message-too-large"
)

// Down says how a connection ended, as its transport saw it.
type Down struct {
	Kind       DownKind
	Ends       Cause        // Stopped: the ending
	Status     int          // HTTP status, 0 if none
	Reason     event.Reason // Gapped: transport-gap or resume-unsupported
	Detail     string       // for people; never a secret or a position
	RetryAfter time.Duration
	// Hole, with Gapped: the bytes after this position cannot be used here (an event above the size limit, a payload that
	// cannot be decoded). The same position is not tried twice (D-32, D-44).
	Hole bool
}

// DownKind is what the end of a connection means for the session.
type DownKind uint8

// The kinds.
const (
	Lost    DownKind = iota // network failure, end of the stream, 429, 5xx: tried again, resumed by position (D-30)
	Crashed                 // the transport itself failed: as Lost, but at most MaxCrashes times in a row
	Denied                  // 401: the credential source is asked once more (D-33)
	Expired                 // the position is dead (D-31)
	Gapped                  // something is missing or cannot be resumed
	Stopped                 // the session is over, see Ends
	// Flawed: this side found that the other broke the wire's grammar. Resumed once from the position held; a second time at the same
	// position ends the session with protocol-error (D-37).
	Flawed
	// Oversized: a message was too large for one side (close code 1009). As Lost the first time at a position, as Gapped with Hole
	// the second time (D-37).
	Oversized
)
