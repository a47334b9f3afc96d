package session

import "github.com/conform-dev/conform/core/event"

// CatchUp is what became of a connection's catch-up poll: an axis of its own beside liveness (D-59).
type CatchUp struct {
	State     CatchUpState
	Pending   Count     // with CatchUpDone only, and there only if the answer had a count
	Watermark event.Seq // that the answer named; NoSeq if none
	Reason    string    // why, for every state but done
}

// CatchUpState is where a catch-up stands.
type CatchUpState uint8

// The states.
const (
	CatchUpUnknown  CatchUpState = iota // not known (yet)
	CatchUpDone                         // the poll was answered
	CatchUpFailed                       // the poll was made, and there is no answer that counts
	CatchUpNotFired                     // there is no vouched subscription to poll for
	CatchUpNoSeam                       // there is no way to poll
)

var catchUps = [...]string{"unknown", "done", "failed", "not-fired", "no-seam"}

// String is the word used in traces and reports.
func (s CatchUpState) String() string {
	if int(s) >= len(catchUps) {
		return catchUps[CatchUpUnknown]
	}
	return catchUps[s]
}

// ParseCatchUpState reads such a word; unknown for any other.
func ParseCatchUpState(word string) CatchUpState {
	for i, w := range catchUps {
		if w == word {
			return CatchUpState(i)
		}
	}
	return CatchUpUnknown
}

// The reasons of a catch-up that nobody told of.
const (
	CatchUpNotRunning   = "wake stream consumer not running"
	CatchUpNoConnection = "no connection to catch up on"
	CatchUpNoState      = "state event pending"
	CatchUpNoVouchedID  = "no subscription id is vouched on this connection"
	CatchUpNoAnswer     = "catch-up poll not answered yet"
	// CatchUpNoCount is beside done: the poll was answered without a number that is a count.
	CatchUpNoCount = "the answer holds no count"
)

// CatchUpAxis judges the catch-up of the connection that o shows. It never counts anything that was not counted.
func CatchUpAxis(o *WakeObservation) CatchUp {
	why := ""
	switch {
	case !o.Running:
		why = CatchUpNotRunning
	case !o.Connected:
		why = CatchUpNoConnection
	case o.Told:
		c := o.CatchUp
		if _, counted := c.Pending.Value(); c.State == CatchUpDone && !counted && c.Reason == "" {
			c.Reason = CatchUpNoCount
		}
		return c
	case !o.StatedHere && !o.Vouched:
		why = CatchUpNoState
	case !o.Vouched:
		return CatchUp{State: CatchUpNotFired, Watermark: event.NoSeq, Reason: CatchUpNoVouchedID}
	default:
		why = CatchUpNoAnswer
	}
	return CatchUp{Watermark: event.NoSeq, Reason: why}
}
