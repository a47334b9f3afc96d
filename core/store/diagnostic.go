package store

import (
	"encoding/json"

	"github.com/conform-dev/conform/core/event"
)

// Kind and version of a diagnostic's JSON form (facts 4.5, D-20).
const (
	DiagnosticKind    = "honua.realtime-checkpoint-store-diagnostic"
	DiagnosticVersion = 1
)

// Operation is what a store was doing.
type Operation string

// The two operations that report.
const (
	Loading Operation = "load"
	Saving  Operation = "save"
)

// Trouble is why a store did not do it. Beside these there are the six reasons of a refused checkpoint, which keep their
// own words.
type Trouble string

// The troubles that are not reasons of the contract.
const (
	Expired            Trouble = "checkpoint-expired"
	CredentialScreened Trouble = "credential-screened"
	StorageFailed      Trouble = "storage-failed"
	UnsupportedFormat  Trouble = "unsupported-format"
)

// reason is the code of the error inside a diagnostic.
func (t Trouble) reason() event.Reason {
	switch t {
	case Expired:
		return event.CursorExpired
	case CredentialScreened:
		return event.CheckpointSaveFailed
	case StorageFailed:
		return event.CheckpointLoadFailed // also for a save: the contract's own choice
	case UnsupportedFormat:
		return event.InvalidCheckpoint
	}
	if r, ok := event.ParseReason(string(t)); ok {
		return r
	}
	return event.InvalidCheckpoint
}

// Diagnostic is the honest signal that no usable record exists. It holds no stored value: its error names members,
// limits and time differences at most, and its JSON form not even those.
type Diagnostic struct {
	Operation Operation
	Reason    Trouble
	ScopeKey  string // checkpoint.PlaceholderKey when no key could be made
	Err       *event.ResumeError
}

// NewDiagnostic makes the diagnostic of a trouble; its error carries the code that belongs to it. message stays local and
// must hold no stored value.
func NewDiagnostic(op Operation, t Trouble, key, message string, cause error) Diagnostic {
	return Diagnostic{op, t, key, &event.ResumeError{Reason: t.reason(), Message: message, Cause: cause}}
}

// MarshalJSON is the contract's JSON form.
func (d Diagnostic) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind      string             `json:"kind"`
		Version   int                `json:"version"`
		Operation Operation          `json:"operation"`
		Reason    Trouble            `json:"reason"`
		ScopeKey  string             `json:"scopeKey"`
		Error     *event.ResumeError `json:"error"`
	}{DiagnosticKind, DiagnosticVersion, d.Operation, d.Reason, d.ScopeKey, d.Err})
}
