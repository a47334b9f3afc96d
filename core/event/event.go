// Package event holds the values that cross the delivery gate: events, positions, exact sequence numbers and reasons.
// It is pure: no clock, no I/O, no goroutine.
package event

// MaxIDBytes is the longest event id that counts. A gate remembers up to 4,096 ids, so an unbounded id would make its memory
// unbounded; no id in use comes near. A longer one is invalid-event, with DetailLongID.
const MaxIDBytes = 4096

// DetailLongID is the detail of an event whose id is longer than MaxIDBytes.
const DetailLongID = "eventId: " + longID

const longID = "longer than 4096 bytes"

// Kind is the type of a gate event (facts 1.1). Malformed is a document that failed capture.
type Kind uint8

// The four types that may reach a consumer, and Malformed (D-18).
const (
	Malformed Kind = iota
	Snapshot
	Upsert
	Delete
	Delta
)

var kinds = [...]string{"malformed", "snapshot", "upsert", "delete", "delta"}

// String is the wire's word for k.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return kinds[Malformed]
	}
	return kinds[k]
}

// ParseKind finds the kind with the given wire word; Malformed for any other word.
func ParseKind(text string) Kind {
	for i := Snapshot; int(i) < len(kinds); i++ {
		if kinds[i] == text {
			return i
		}
	}
	return Malformed
}

// Seq is an exact sequence number, 0 to MaxSeq. It is never a float on its way (D-06).
type Seq int64

// NoSeq stands for "no usable sequence"; MaxSeq is the largest safe integer, 2^53-1.
const (
	NoSeq  Seq = -1
	MaxSeq Seq = 1<<53 - 1
)

// Valid says whether s is a sequence the contract can count on.
func (s Seq) Valid() bool { return s >= 0 && s <= MaxSeq }

// Position is what a resume needs. An empty string counts as absent (D-17).
type Position struct {
	Seq        Seq
	Cursor     string
	Watermark  string
	Timestamp  string
	DeltaToken string
}

// NoPosition is the position of somebody who holds nothing.
var NoPosition = Position{Seq: NoSeq}

// Event is one captured event. Its strings are its own; Payload is the whole document, shared, and must not change once
// the event was handed over (D-14).
type Event struct {
	Kind    Kind
	Merge   bool   // a snapshot that adds to the state instead of replacing it (replace: false)
	Fault   Reason // only with Malformed: why capture failed
	Detail  string // only with Malformed: the member and what was wrong with it, never a value
	Hole    bool   // only with Malformed: the document names no type, so what was lost is unknown (D-44)
	Pos     Position
	ID      string
	Trace   *Correlation // rarely set, handed through to the consumer, never persisted
	Payload []byte
}

// Correlation are the pass-through members of an event (facts 1.1).
type Correlation struct {
	OperationInstance string
	Correlation       string
	Audit             string
	Proposal          string
}

// Replaces says whether e is a replacement snapshot: the only kind of event that ends a recovery.
func (e *Event) Replaces() bool { return e.Kind == Snapshot && !e.Merge }
