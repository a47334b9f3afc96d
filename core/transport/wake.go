package transport

import "github.com/conform-dev/conform/core/event"

// FleetWake is the wire whose events are hints and whose truth is a poll: it has neither order nor baseline.
const FleetWake = "fleetwake"

// WakeState is the `state` frame of the fleet-wake lane (fleet facts 2.1), as the server sent it.
type WakeState struct {
	Armed               bool
	Reason              string
	HasReason           bool
	LastPushAt          int64 // unix milliseconds; -1 for null: no push yet
	ConnectedIdentities int64 // -1 if it is no count
	ArmedForViewer      bool
	SubscriptionID      string // empty: none was vouched for this viewer
}

// Wake is one `wake` frame whose envelope was checked (fleet facts 2.2, 3.2). The envelope is a hint that there is something to
// poll for, never the truth.
type Wake struct {
	SubscriptionID string
	EventID        string
	LogID          event.Seq // NoSeq if the envelope names none
	Envelope       []byte    // the JSON as it came; valid until the next call
	// Dropped says why the wake does not count, in one of the fixed words below; empty if it does. A dropped one moves no
	// watermark and carries no envelope. A state frame that cannot be read has no signal of its own and is told as one.
	Dropped string
}

// The words of Wake.Dropped.
const (
	DroppedForeign       = "foreign-subscription"       // it is for a subscription that this connection was not vouched (D-59)
	DroppedSchemaVersion = "unsupported-schema-version" // its envelope is of another version than 1.0
	DroppedEventType     = "unsupported-event-type"     // its envelope is no wake/digest
	DroppedFrame         = "invalid-frame"              // its data, or a member of it, is not what the frame must hold
	DroppedState         = "invalid-state-frame"        // the same of a state frame
)

// PollCredential is the name of the extra header that hands a fleet-wake transport the credential of its catch-up poll (class 3). It
// is a name between conform and its transport alone: the stream's request never carries it, and the poll carries its value as
// Authorization. A header is how it travels because headers are secrets all the way: no argument and no environment holds one.
const PollCredential = "Conform-Poll-Authorization"

// CatchUp is the axis of D-59: what became of this connection's catch-up poll.
type CatchUp struct {
	State     CatchUpState
	Pending   int64     // -1: not known
	Watermark event.Seq // held after it; NoSeq if none is held
	Reason    string    // why, for every state but done; fixed words, no server text
}

// CatchUpState is where a connection's catch-up stands.
type CatchUpState string

// The states.
const (
	CatchUpUnknown  CatchUpState = "unknown"
	CatchUpDone     CatchUpState = "done"
	CatchUpFailed   CatchUpState = "failed"
	CatchUpNotFired CatchUpState = "not-fired"
	CatchUpNoSeam   CatchUpState = "no-seam"
)
