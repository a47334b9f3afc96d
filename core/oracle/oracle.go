// Package oracle is the slow reference model of the delivery gate: what the contract says, in the plainest code that says
// it, with lists that are searched from the front. It exists to disagree with core/gate. It shares no code with it, and
// nothing here is written for speed.
//
// # Replaying a trace
//
// A judge makes a Model from a trace's start record and gives it the gate inputs in their order: Enqueue, Applied, Saved,
// RequireResnapshot, Refresh, Fail, Close. It calls Take when the trace shows the first output (abort, delivery, apply, save) after
// one or more inputs, and compares: what Take returns is exactly what the gate owed there, in the order abort, deliveries,
// apply or save. After the last input it calls Take once more: anything returned that the trace lacks is a missing output.
// State, Held and Rows may be read at any time.
//
// Positions are only ever compared for equality, so a trace that holds digests of them replays like one that holds the
// positions. Ids likewise.
//
// A Model never panics over a trace that no gate could have produced (a result that nobody owed, a reason that no caller
// may give): the method returns an error and the model stays as it was.
package oracle

import "fmt"

// NoSeq stands for "no usable sequence" and for "nothing held"; largest is 2^53-1, the largest safe integer.
const (
	NoSeq   = -1
	largest = 1<<53 - 1
)

// Config bounds a model. Zero means the contract's default: 64 pending events, 256 ids, a save for every accepted event.
type Config struct {
	MaxPending int
	MaxIDs     int
	Saves      bool // there is a store
	SaveEvery  int  // D-16
}

// Position is what a resume needs. Empty strings are absent (D-17).
type Position struct {
	Seq        int64
	Cursor     string
	Watermark  string
	Timestamp  string
	DeltaToken string
}

// Start is where the model begins: a held position, a refusal of a stored one (the reason's word), or neither.
type Start struct {
	Held      *Position
	IDs       []string // oldest first, only beside Held
	Persisted bool     // Held was loaded from the gate's own store (D-09)
	Refused   string
	Detail    string // beside Refused
}

// Event is one event as it was offered. Type is snapshot, upsert, delete, delta or malformed; anything else counts as
// malformed. Fault is the reason's word, only with malformed.
type Event struct {
	Type   string
	Merge  bool // a snapshot that adds to the state
	Fault  string
	Detail string
	ID     string
	Position
}

// Delivery is how an offered event ended. Status is applied, duplicate, resnapshot-required, error or cancelled; Reason is
// the reason's word or empty; Seq is the position held at the decision.
type Delivery struct {
	Ticket uint64
	Status string
	Reason string
	Seq    int64
}

// Due is what the model owes since the last Take. At most one of Apply and Save is set.
type Due struct {
	Abort    bool
	Resolved []Delivery
	Apply    *Event    // handed to the consumer
	Save     *Position // handed to the store
}

// State is what the model shows. Phase is awaiting-snapshot, resuming, live, resnapshot-required, error or closed.
type State struct {
	Phase      string
	Reason     string
	Detail     string
	Persisted  bool
	Pending    int
	Accepted   uint64
	Duplicates uint64
	Gaps       uint64
	Overflows  uint64
}

// offered is an event that was admitted and is not answered yet.
type offered struct {
	Event
	ticket   uint64
	recovery bool // a replacement snapshot that was admitted to end a recovery
}

// work is what the model waits for: the consumer or the store.
type work struct {
	kind  string   // "apply" or "save"
	of    *offered // the event it is for; nil for a save after the queue ran empty behind duplicates (D-16)
	taken bool     // Take handed it out, a result is owed
	void  bool     // superseded: the result will change nothing
}

// Model is one reference gate.
type Model struct {
	cfg   Config
	state State

	held   *Position
	ids    []string // oldest first
	epoch  bool     // requireResnapshot was called and no replacement snapshot was accepted since (D-01, D-29)
	kept   string   // why the recovery that now waits was necessary (D-11)
	active *work
	queue  []*offered // without the active event
	behind int        // accepted events that no successful save covers (D-16)

	tickets  uint64
	abort    bool
	resolved []Delivery
	rows     []string
}

// New makes a model. It returns an error for a start that contradicts itself; limits are not judged here.
func New(cfg Config, start Start) (*Model, error) {
	if cfg.MaxPending == 0 {
		cfg.MaxPending = 64
	}
	if cfg.MaxIDs == 0 {
		cfg.MaxIDs = 256
	}
	if cfg.SaveEvery == 0 {
		cfg.SaveEvery = 1
	}
	m := &Model{cfg: cfg}
	m.state.Phase = "awaiting-snapshot"
	if start.Held != nil && start.Refused != "" {
		return nil, fmt.Errorf("oracle: a start both holds a position and was refused")
	}
	if start.Held != nil {
		if !usable(start.Held.Seq) {
			return nil, fmt.Errorf("oracle: a start holds the sequence %d", start.Held.Seq)
		}
		held := *start.Held
		m.held = &held
		m.state.Phase = "resuming"
		m.state.Persisted = start.Persisted
		for _, id := range start.IDs {
			m.remember(id)
		}
	}
	if start.Refused != "" {
		m.state.Phase = "resnapshot-required"
		m.state.Reason = start.Refused
		m.state.Detail = start.Detail
	}
	return m, nil
}

// State is what the model shows.
func (m *Model) State() State {
	s := m.state
	s.Pending = len(m.queue)
	if m.active != nil && m.active.of != nil {
		s.Pending++
	}
	return s
}

// Held is the accepted position; ok is false while there is none.
func (m *Model) Held() (p Position, ok bool) {
	if m.held == nil {
		return Position{Seq: NoSeq}, false
	}
	return *m.held, true
}

// IDs are the remembered event ids, oldest first.
func (m *Model) IDs() []string { return append([]string(nil), m.ids...) }

// Rows names the rows of Table that decided something since the last call, in order.
func (m *Model) Rows() []string {
	rows := m.rows
	m.rows = nil
	return rows
}

func (m *Model) row(id string) { m.rows = append(m.rows, id) }

// Take returns what is due since the last Take.
func (m *Model) Take() Due {
	due := Due{Abort: m.abort, Resolved: m.resolved}
	m.abort, m.resolved = false, nil
	if w := m.active; w != nil && !w.taken {
		w.taken = true
		if w.kind == "apply" {
			ev := w.of.Event
			due.Apply = &ev
		} else {
			held := *m.held
			due.Save = &held
		}
	}
	return due
}

func usable(seq int64) bool { return seq >= 0 && seq <= largest }
