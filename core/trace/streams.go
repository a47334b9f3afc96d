package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// actorOrder is the order of the streams in a canonical trace: from the scenario down to the wire.
var actorOrder = []Actor{Stage, Consumer, Gate, Session, Store, Plugin, Server}

// stream names the ordered line of records that r belongs to. Names sort by actor first.
func stream(r *Record, lane Lane) string {
	place := slices.Index(actorOrder, r.Actor) + 1
	if lane.Exact() {
		return fmt.Sprintf("%d", place)
	}
	switch {
	case r.Actor == Gate && r.Kind == GateEnqueue:
		return fmt.Sprintf("%d in", place)
	case r.Actor == Gate && r.Kind == GateState:
		return fmt.Sprintf("%d state", place)
	case r.Actor == Server && (r.Kind == ServerRequest || r.Kind == ServerSent || r.Kind == ServerClosed):
		return fmt.Sprintf("%d connection %10d", place, r.Epoch)
	}
	return fmt.Sprintf("%d", place)
}

func sortStreams(names []string) { slices.SortFunc(names, cmp.Compare[string]) }
