package gate

import "github.com/conform-dev/conform/core/event"

// Phase is where a gate stands (facts 1.5).
type Phase uint8

// The six phases.
const (
	AwaitingSnapshot Phase = iota
	Resuming
	Live
	ResnapshotRequired
	Failed
	Shut
)

var phases = [...]string{"awaiting-snapshot", "resuming", "live", "resnapshot-required", "error", "closed"}

// String is the contract's word for p.
func (p Phase) String() string { return phases[p] }

// Status is how a delivery ended (facts 1.5).
type Status uint8

// The five outcomes of a delivery.
const (
	Applied Status = iota
	Duplicate
	Resnapshot
	Errored
	Dropped
)

var statuses = [...]string{"applied", "duplicate", "resnapshot-required", "error", "cancelled"}

// String is the contract's word for s.
func (s Status) String() string { return statuses[s] }

// Ticket names one enqueued event until its delivery is resolved. The first ticket of a gate is 1.
type Ticket uint64

// Delivery is the answer to one Enqueue.
type Delivery struct {
	Ticket Ticket
	Status Status
	Reason event.Reason
	Seq    event.Seq // position held at the decision, NoSeq if none
}

// Held is the accepted position.
type Held struct {
	Pos     event.Position
	SavedAt int64 // unix milliseconds, given to Applied
}

// Start is where a gate begins: nothing (awaiting-snapshot), a held position (resuming), or the reason why a stored one
// was refused (resnapshot-required, D-26). The gate knows no resume context; who built Start has compared it.
type Start struct {
	Held      *Held
	IDs       []string // oldest first; the tail that fits the window is kept
	Persisted bool     // Held came out of the gate's own store (D-09)
	Refused   event.Reason
	Detail    string // beside Refused
}

// Due is what the driver owes, in this order. At most one of Apply and Save is set, and neither is handed out again
// before its result came back.
type Due struct {
	Abort    bool         // cancel the running apply or save; its result is still owed
	Resolved []Delivery   // in the order decided; valid until the next input
	Apply    *event.Event // run the consumer; valid until Applied
	Save     *Held        // write it; valid until Saved
}

// State is what a gate shows (facts 1.5). It is a value: reading it allocates nothing.
type State struct {
	Phase      Phase
	Reason     event.Reason
	Detail     string
	Persisted  bool
	Pending    int
	Accepted   uint64
	Duplicates uint64
	Gaps       uint64
	Overflows  uint64
}
