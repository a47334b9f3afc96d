package simulator

import "github.com/conform-dev/conform/core/event"

var jumpFault = Spec{
	Name: "jump",
	Doc:  "skips numbers in the same epoch: the history ends, and streams that had caught up go on behind the new head without a word",
	At:   []string{"sequence"},
	Params: []Param{{Name: "to", Kind: "integer", Doc: "the new head; left out, one more than it was", Default: "-1",
		Min: 1, Max: int64(event.MaxSeq) - MaxRetention}},
	build: func(a args) any { return jumpTo(a.int("to")) },
}

type jumpTo event.Seq

func (to jumpTo) feed(s *Simulator) bool {
	if to < 0 {
		to = jumpTo(s.feed.head) + 1
	}
	return s.jump(Jump{To: event.Seq(to)}) == nil
}
