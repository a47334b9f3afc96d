package simulator

import "github.com/conform-dev/conform/core/event"

var staleReplicaFault = Spec{
	Name:   "stale-replica",
	Doc:    "serves a snapshot of an older state under its older number, as a replica that is behind; waits until the history reaches back to it",
	At:     []string{"connection", "request"},
	Wires:  onOData,
	Params: []Param{{Name: "back", Kind: "integer", Doc: "how many changes older", Default: "1", Min: 1, Max: MaxRetention}},
	build:  func(a args) any { return staleReplica(a.int("back")) },
}

type staleReplica event.Seq

func (back staleReplica) answer(a *answer) bool {
	seq := a.sim.feed.head - event.Seq(back)
	if a.how != "snapshot" || a.status != 200 || seq < 0 || !a.sim.feed.resumable(seq) {
		return false
	}
	a.odata.stale = event.Seq(back)
	return true
}
