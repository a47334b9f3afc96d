// Package storeproc puts a shipped file store into a process of its own, so that a scenario can kill what holds the store and not
// only forget about it. It is for the process lane: applications open the store themselves.
package storeproc

import (
	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
)

// Args are the words that make a program this process: see ServeArgs.
var Args = []string{"stage", "store"}

// MaxLine bounds one message, in bytes: a checkpoint of the longest texts, each escaped.
const MaxLine = 4 << 20

// ask is one call; the answer to it follows before the next one.
type ask struct {
	Do         string                `json:"do"` // load, save, forget, records
	Scope      checkpoint.Context    `json:"scope"`
	Checkpoint checkpoint.Checkpoint `json:"checkpoint"`
}

// answer is what became of it.
type answer struct {
	Found      checkpoint.Found      `json:"found"`
	Checkpoint checkpoint.Checkpoint `json:"checkpoint"`
	Reason     string                `json:"reason,omitempty"`
	Detail     string                `json:"detail,omitempty"`
	Error      string                `json:"error,omitempty"`
	Sources    []string              `json:"sources,omitempty"` // records: source ids, the least recently written first
	Held       []held                `json:"held,omitempty"`    // records: what lies in the file, in the same order
	Reports    []report              `json:"reports,omitempty"` // what the store reported meanwhile
}

// held is one record of the file: whose it is, and the place it names.
type held struct {
	Key string    `json:"key"`
	Seq event.Seq `json:"seq"`
}

// report is a diagnostic in the two words that a trace has for it.
type report struct {
	Operation string `json:"operation"`
	Reason    string `json:"reason"`
}

func (a *answer) loaded(found store.Answer) {
	a.Found, a.Checkpoint, a.Detail = found.Found, found.Checkpoint, found.Detail
	a.Reason = found.Reason.String()
}

func (a *answer) found() store.Answer {
	out := store.Answer{Found: a.Found, Checkpoint: a.Checkpoint, Detail: a.Detail}
	out.Reason, _ = event.ParseReason(a.Reason)
	return out
}
