package inspect

import (
	"encoding/json"

	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// answer is the line that follows an input.
type answer struct {
	Line       int         `json:"line"` // of the input, from 1
	Op         string      `json:"op"`
	Ticket     gate.Ticket `json:"ticket,omitempty"`    // of the event that was enqueued
	Refreshed  *bool       `json:"refreshed,omitempty"` // with a refresh: whether it counted
	Deliveries []delivery  `json:"deliveries"`
	State      state       `json:"state"`
	Due        due         `json:"due"`
}

// delivery is how one event ended; Sequence is the position held when that was decided.
type delivery struct {
	Ticket   gate.Ticket `json:"ticket"`
	Status   string      `json:"status"`
	Reason   string      `json:"reason,omitempty"`
	Sequence *event.Seq  `json:"sequence,omitempty"`
}

// state has the members of facts 1.5. CheckpointError stands in for a checkpoint that breaks a limit and cannot be written.
type state struct {
	Phase           string          `json:"phase"`
	Reason          string          `json:"reason,omitempty"`
	Detail          string          `json:"detail,omitempty"`
	Checkpoint      json.RawMessage `json:"checkpoint,omitempty"`
	CheckpointError string          `json:"checkpointError,omitempty"`
	Persisted       bool            `json:"checkpointPersisted"`
	Pending         int             `json:"pendingEvents"`
	Accepted        uint64          `json:"acceptedEventCount"`
	Duplicates      uint64          `json:"duplicateEventCount"`
	Gaps            uint64          `json:"gapCount"`
	Overflows       uint64          `json:"overflowCount"`
}

// due is what the driver owes the gate after this input. Abort: it was superseded, its result still counts as owed.
type due struct {
	Abort bool   `json:"abort,omitempty"`
	Apply *apply `json:"apply,omitempty"`
	Save  *save  `json:"save,omitempty"`
}

type apply struct {
	Ticket   gate.Ticket `json:"ticket"`
	Type     string      `json:"type"`
	Replace  *bool       `json:"replace,omitempty"` // only with a merging snapshot: false
	Sequence event.Seq   `json:"sequence"`
	EventID  string      `json:"eventId,omitempty"`
}

// save names the checkpoint to be written, which is the state's.
type save struct {
	Sequence event.Seq `json:"sequence"`
}

func told(d gate.Delivery) delivery {
	out := delivery{Ticket: d.Ticket, Status: d.Status.String(), Reason: d.Reason.String()}
	if d.Seq.Valid() {
		out.Sequence = &d.Seq
	}
	return out
}

// answer fills in what is the same for every input.
func (b *bench) answer(a *answer) {
	a.Deliveries = b.out
	if a.Deliveries == nil {
		a.Deliveries = []delivery{}
	}
	s := b.g.State()
	a.State = state{
		Phase: s.Phase.String(), Reason: s.Reason.String(), Detail: s.Detail, Persisted: s.Persisted, Pending: s.Pending,
		Accepted: s.Accepted, Duplicates: s.Duplicates, Gaps: s.Gaps, Overflows: s.Overflows,
	}
	if h, ok := b.g.Held(); ok {
		c := drive.Checkpoint(b.ctx, h, b.g.RecentIDs())
		doc, err := c.JSON()
		a.State.Checkpoint, a.State.CheckpointError = doc, message(err)
	}
	a.Due.Abort = b.aborted
	switch b.owed {
	case owesApply:
		a.Due.Apply = &b.apply
	case owesSave:
		a.Due.Save = &save{b.save}
	}
}
