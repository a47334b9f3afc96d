package checkpoint

import "github.com/conform-dev/conform/core/event"

// Found is the kind of a store's answer to a load (D-26).
type Found uint8

// The three answers.
const (
	Nothing   Found = iota // no record: the gate waits for a snapshot
	Stored                 // a record of this context
	Discarded              // there was one and it must not be used; Reason says why
)

var founds = [...]string{"nothing", "record", "discarded"}

// String is the word used in traces.
func (f Found) String() string {
	if int(f) >= len(founds) {
		return founds[Nothing]
	}
	return founds[f]
}

// The details that go with a discarded record whose reason alone does not say what happened.
const (
	DetailExpired = "checkpoint-expired" // cursor-expired: older than the store's limit
	DetailTime    = "corrupt-time"       // cursor-expired: stamped in the future, or the clock failed
	DetailFormat  = "unsupported-format" // invalid-checkpoint: a record of another format
)

// Answer is what a store says to a load. The zero Answer is Nothing.
type Answer struct {
	Found      Found
	Checkpoint Checkpoint   // with Stored
	Reason     event.Reason // with Discarded: the reason in which a gate starts
	Detail     string       // with Discarded, may be empty; never a stored value
	// Err is set by a caller's own store that could not read (Discarded, checkpoint-load-failed). Shipped stores answer
	// Nothing and report a diagnostic.
	Err error
}

// LoadFailed is the answer of a caller's own store that could not read: discarded, checkpoint-load-failed.
func LoadFailed(err error) Answer {
	return Answer{Found: Discarded, Reason: event.CheckpointLoadFailed, Err: err}
}

// Start is where a gate begins, as gate.Start wants it: with Held a position to resume from, with Refused the reason why
// a stored one is not used (the gate then starts in resnapshot-required), with neither nothing at all.
type Start struct {
	Held      bool
	Pos       event.Position // event.NoPosition without Held
	SavedAt   int64          // unix milliseconds
	IDs       []string       // oldest first; the gate keeps the tail that fits its window
	Persisted bool           // read from the gate's own store (D-09)
	Refused   event.Reason   // None if nothing was refused
	Detail    string         // beside Refused
	// Err is a load that failed (checkpoint-load-failed, with the store's error as its cause): a subscription must not
	// start, since nobody knows whether there was a position (facts 2.1).
	Err error
}

// StartAfter turns a store's answer into a start. The record is evaluated again: an answer of a caller's own store is as
// untrusted as a document.
func StartAfter(ctx Context, a Answer) Start {
	switch a.Found {
	case Stored:
		s := StartFrom(ctx, a.Checkpoint)
		s.Persisted = s.Held
		return s
	case Discarded:
		s := Start{Pos: event.NoPosition, Refused: a.Reason, Detail: a.Detail}
		switch class := a.Reason.Class(); {
		case a.Reason == event.CheckpointLoadFailed:
			s.Err = &event.ResumeError{Reason: event.CheckpointLoadFailed, Message: "the checkpoint could not be read", Cause: a.Err}
		case class.Category != "validation" && class.Category != "network":
			s.Refused = event.InvalidCheckpoint // no reason why a position would not count
		}
		return s
	}
	return Start{Pos: event.NoPosition}
}

// StartFrom starts at a checkpoint that the caller hands in. It wins over the store's, and is not persisted until this
// gate has saved something (D-09).
func StartFrom(ctx Context, c Checkpoint) Start {
	if r := Evaluate(ctx, &c); r != event.Compatible {
		return Start{Pos: event.NoPosition, Refused: r}
	}
	return Start{Held: true, Pos: c.Resume, SavedAt: c.SavedAt, IDs: c.Clone().RecentIDs}
}
