package simulator

import (
	"strconv"

	"github.com/conform-dev/conform/core/event"
)

// The faults of the feed itself. They strike when its head reaches the sequence, or at once.

var trimFault = Spec{
	Name:   "trim",
	Doc:    "forgets history",
	At:     []string{"sequence"},
	Params: []Param{{Name: "keep", Kind: "integer", Doc: "newest events that stay", Default: "0", Min: 0, Max: MaxRetention}},
	build:  func(a args) any { return trim(a.int("keep")) },
}

type trim int

func (t trim) feed(s *Simulator) bool {
	s.trim(int(t))
	return true
}

var restartFault = Spec{
	Name: "restart",
	Doc:  "restarts the server: every connection ends; it comes back from an older backup, or as a new stream epoch; waits until that is possible",
	At:   []string{"sequence"},
	Params: []Param{
		{Name: "head", Kind: "integer", Doc: "sequence it comes back with; left out, the one it had", Default: "-1", Min: 0, Max: int64(event.MaxSeq) - MaxRetention},
		{Name: "epoch", Kind: "boolean", Doc: "a new stream epoch: rows stay, numbers start at head, no history", Default: "false"},
		{Name: "as", Kind: "text", Doc: "how connections end", Default: "cut", Values: []string{"cut", "eof", "reset"}},
	},
	build: func(a args) any {
		head, _ := strconv.ParseInt(a.text("head"), 10, 64)
		return &restart{Restart{event.Seq(head), a.flag("epoch"), CloseKind(a.text("as"))}}
	},
}

type restart struct{ Restart }

func (r *restart) feed(s *Simulator) bool { return s.restart(r.Restart) == nil }
