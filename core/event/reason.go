package event

// Reason says why something was refused, stopped or ended. The texts are the contract's own words and travel in
// states, deliveries, errors and traces (facts 1.6, D-20).
type Reason uint8

// The 24 reasons, and None for "no reason given".
const (
	None Reason = iota
	Compatible
	InvalidCheckpoint
	SourceChanged
	QueryChanged
	SourceVersionChanged
	SchemaVersionChanged
	AuthorizationScopeChanged
	CheckpointConflict
	SnapshotRequired
	ReplacementSnapshotRequired
	SequenceMissing
	SequenceGap
	EventIDReused
	BufferOverflow
	InvalidEvent
	ConsumerFailed
	DeliveryFailed
	CheckpointLoadFailed
	CheckpointSaveFailed
	CursorExpired
	ResumeUnsupported
	TransportGap
	Cancelled
	Closed
)

// Class is what an application may do about a reason: the SDK code it is reported under, the category of that code, and
// whether trying again can help.
type Class struct {
	Code      string
	Category  string
	Retryable bool
}

var (
	terminal      = Class{"realtime.protocol.terminal", "protocol", false}
	invalid       = Class{"realtime.checkpoint.invalid", "validation", false}
	gap           = Class{"realtime.sequence.gap", "protocol", true}
	reconnectable = Class{"realtime.transport.reconnectable", "network", true}
	cancelled     = Class{"realtime.cancelled", "cancellation", false}
)

var reasons = [...]struct {
	text  string
	class Class
}{
	None:                        {"", terminal},
	Compatible:                  {"compatible", terminal},
	InvalidCheckpoint:           {"invalid-checkpoint", invalid},
	SourceChanged:               {"source-changed", invalid},
	QueryChanged:                {"query-changed", invalid},
	SourceVersionChanged:        {"source-version-changed", invalid},
	SchemaVersionChanged:        {"schema-version-changed", invalid},
	AuthorizationScopeChanged:   {"authorization-scope-changed", invalid},
	CheckpointConflict:          {"checkpoint-conflict", invalid},
	SnapshotRequired:            {"snapshot-required", gap},
	ReplacementSnapshotRequired: {"replacement-snapshot-required", gap},
	SequenceMissing:             {"sequence-missing", gap},
	SequenceGap:                 {"sequence-gap", gap},
	EventIDReused:               {"event-id-reused", gap},
	BufferOverflow:              {"buffer-overflow", gap},
	InvalidEvent:                {"invalid-event", terminal},
	ConsumerFailed:              {"consumer-failed", terminal},
	DeliveryFailed:              {"delivery-failed", terminal},
	CheckpointLoadFailed:        {"checkpoint-load-failed", terminal},
	CheckpointSaveFailed:        {"checkpoint-save-failed", terminal},
	CursorExpired:               {"cursor-expired", reconnectable},
	ResumeUnsupported:           {"resume-unsupported", reconnectable},
	TransportGap:                {"transport-gap", reconnectable},
	Cancelled:                   {"cancelled", cancelled},
	Closed:                      {"closed", cancelled},
}

// String is the contract's word for r, empty for None and "invalid-event" for a number that is no reason.
func (r Reason) String() string {
	if int(r) >= len(reasons) {
		return reasons[InvalidEvent].text
	}
	return reasons[r].text
}

// Class classifies r (facts 1.6). A number that is no reason is terminal.
func (r Reason) Class() Class {
	if int(r) >= len(reasons) {
		return terminal
	}
	return reasons[r].class
}

// ParseReason finds the reason with the given text; ok is false for an unknown or empty one.
func ParseReason(text string) (r Reason, ok bool) {
	for i := range reasons {
		if reasons[i].text == text && text != "" {
			return Reason(i), true
		}
	}
	return None, false
}
