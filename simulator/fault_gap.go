package simulator

import "github.com/conform-dev/conform/core/event"

var gapFault = Spec{
	Name:   "gap",
	Doc:    "leaves out events on the wire; the feed has them",
	At:     []string{"connection", "request", "sequence", "event"},
	Params: []Param{{Name: "skip", Kind: "integer", Doc: "events left out", Default: "1", Min: 1, Max: MaxRetention}},
	build:  func(a args) any { return &gap{skip: int(a.int("skip"))} },
}

type gap struct{ skip int }

func (g *gap) send(d *dispatch) bool {
	if d.entry == nil {
		return false // a missing snapshot is no gap
	}
	d.drop = true
	if d.cycle != nil && d.seq+event.Seq(g.skip) > d.st.sim.feed.head {
		d.cycle.hide = true // nothing is shown yet of what will be left out: there is no round that a client could miss
		return false
	}
	d.st.skip = g.skip - 1
	return true
}
