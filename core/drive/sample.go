package drive

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// Sample is one piece of telemetry: what a subscription was worth at a moment, without anything that somebody could
// resume from or log in with (facts 5.6, ref:RES-19). It holds enumerated words, counts, the resume context and a redacted
// checkpoint, and no text that a server, a transport or an error chose, but for the context's source version and the
// checkpoint's timestamp.
type Sample struct {
	After     After
	Authority checkpoint.Authority

	// Counts since the start of the gate; ReconnectAttempt since the last healthy connection (D-35).
	ReconnectAttempt                      int
	Accepted, Duplicates, Gaps, Overflows uint64

	// Checkpoint is what the gate holds. It is nil while it holds nothing, or something that is no well-formed
	// checkpoint (checkpoint.Check), which no store can keep either. It must not be changed.
	Checkpoint *checkpoint.Redacted

	// What follows is conform's own.

	Persisted   bool // the store confirmed Checkpoint (D-09)
	Phase       gate.Phase
	Reason      event.Reason // why a snapshot or an end is due; None otherwise
	Observation session.Status
	Ending      session.Cause // after stop and failure
	Missed      uint64        // samples so far that were dropped because their reader was too slow
}

// MarshalJSON is the sample in the canonical form of facts 3.4, with the member names of the contract. json.Marshal
// escapes <, > and & on top of that.
func (s Sample) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 1024)
	b = append(b, '{')
	b = strconv.AppendUint(append(b, `"acceptedEventCount":`...), s.Accepted, 10)
	b = word(b, "after", string(s.After))
	b = append(b, `,"authority":{`...)
	if s.Authority.AgeKnown {
		b = append(strconv.AppendInt(append(b, `"ageMs":`...), s.Authority.AgeMs, 10), ',')
	}
	b = strconv.AppendBool(append(b, `"authoritative":`...), s.Authority.Authoritative)
	b = append(word(b, "state", string(s.Authority.State)), '}')
	if s.Checkpoint != nil {
		shown, err := s.Checkpoint.JSON()
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"checkpoint":`...), shown...)
	}
	b = strconv.AppendBool(append(b, `,"checkpointPersisted":`...), s.Persisted)
	b = strconv.AppendUint(append(b, `,"duplicateEventCount":`...), s.Duplicates, 10)
	if s.Ending != session.NotEnded {
		b = word(b, "ending", s.Ending.String())
	}
	b = strconv.AppendUint(append(b, `,"gapCount":`...), s.Gaps, 10)
	b = strconv.AppendUint(append(b, `,"missedSampleCount":`...), s.Missed, 10)
	b = word(b, "observation", s.Observation.String())
	b = strconv.AppendUint(append(b, `,"overflowCount":`...), s.Overflows, 10)
	b = word(b, "phase", s.Phase.String())
	if s.Reason != event.None {
		b = word(b, "reason", s.Reason.String())
	}
	b = strconv.AppendInt(append(b, `,"reconnectAttempt":`...), int64(s.ReconnectAttempt), 10)
	return append(b, '}'), nil
}

// word appends a member whose value is one of ours and needs no escapes.
func word(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":"`...)
	return append(append(b, value...), '"')
}

// errNoCheckpoint is what Tie says about a sample without one.
var errNoCheckpoint = errors.New("the sample shows no checkpoint")

// Tie says whether s shows the position that a store was given: nil, or an error that names the first member that differs:
// sequence, savedAt, then the digests of cursor, watermark and delta token, the timestamp and the context (ref:XTC-03,
// ref:XTC-04). How many event ids there are does not count: shipped stores keep none. The error holds no value.
func (s *Sample) Tie(stored *checkpoint.Checkpoint) error {
	if s.Checkpoint == nil {
		return errNoCheckpoint
	}
	want, err := stored.Redact()
	if err != nil {
		return err
	}
	got := s.Checkpoint
	for _, m := range []struct {
		name string
		same bool
	}{
		{"resume.sequence", got.Resume.Seq == want.Resume.Seq},
		{"savedAt", got.SavedAt == want.SavedAt},
		{"resume.cursor", got.Resume.Cursor == want.Resume.Cursor},
		{"resume.watermark", got.Resume.Watermark == want.Resume.Watermark},
		{"resume.deltaToken", got.Resume.DeltaToken == want.Resume.DeltaToken},
		{"resume.timestamp", got.Resume.Timestamp == want.Resume.Timestamp},
		{"context", got.Context == want.Context},
	} {
		if !m.same {
			return fmt.Errorf("the sample is not of this checkpoint: %s differs", m.name)
		}
	}
	return nil
}
