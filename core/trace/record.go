// Package trace holds what happened: one flat record per thing, in the order in which it happened. A verdict is a pure
// function of these records and the ledger; nothing else may decide one.
package trace

import "github.com/conform-dev/conform/core/event"

// Record is one thing that happened. Which members count is said per Kind in kinds.go.
type Record struct {
	N     int    `json:"n"`               // place in the trace, from 1
	T     int64  `json:"t"`               // milliseconds since the start: virtual time, or wall time (dropped by Canonical, D-65)
	Actor Actor  `json:"actor"`           // who it happened to
	Kind  Kind   `json:"kind"`            // what happened
	Epoch uint32 `json:"epoch,omitempty"` // connection, 0 if it belongs to none

	Ticket uint64    `json:"ticket,omitempty"`
	Type   string    `json:"type,omitempty"` // event type: snapshot, upsert, delete, delta, malformed
	Merge  bool      `json:"merge,omitempty"`
	Seq    event.Seq `json:"seq"` // NoSeq if none
	ID     string    `json:"id,omitempty"`
	// Positions are traced as digests (Digest): equal positions have equal digests, and no trace holds a raw one.
	Cursor     string `json:"cursor,omitempty"`
	Watermark  string `json:"watermark,omitempty"`
	Timestamp  string `json:"timestamp,omitempty"`
	DeltaToken string `json:"deltaToken,omitempty"`

	Status string `json:"status,omitempty"` // delivery status, or an HTTP status
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`

	Phase      string `json:"phase,omitempty"` // state records
	Persisted  bool   `json:"persisted,omitempty"`
	Pending    int    `json:"pending,omitempty"`
	Accepted   uint64 `json:"accepted,omitempty"`
	Duplicates uint64 `json:"duplicates,omitempty"`
	Gaps       uint64 `json:"gaps,omitempty"`
	Overflows  uint64 `json:"overflows,omitempty"`

	Ms   int64             `json:"ms,omitempty"`   // a duration: back-off, Retry-After
	Args map[string]string `json:"args,omitempty"` // expectations and set-up
}

// Actor is who a record is about.
type Actor string

// The actors.
const (
	Gate     Actor = "gate"
	Session  Actor = "session"
	Consumer Actor = "consumer"
	Store    Actor = "store"
	Server   Actor = "server" // the simulator, a witness that the subject cannot influence
	Plugin   Actor = "plugin"
	Examiner Actor = "examiner" // a plain client that puts questions to a server under test, and writes down what it saw
	Stage    Actor = "stage"    // the scenario itself: set-up, waits, expectations
)

// Kind is what happened.
type Kind string
