package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// actorOrder is the order of the streams in a canonical trace: from the scenario down to the wire.
var actorOrder = []Actor{Stage, Consumer, Gate, Session, Store, Plugin, Server, Examiner}

// stream names the ordered line of records that r belongs to; life counts the starts of the gate so far. Names sort by
// actor first.
func stream(r *Record, lane Lane, life int) string {
	place := slices.Index(actorOrder, r.Actor) + 1
	if lane.Exact() {
		return fmt.Sprintf("%d", place)
	}
	switch {
	case r.Actor == Gate && r.Kind == GateEnqueue:
		return fmt.Sprintf("%d in", place)
	case r.Actor == Gate && r.Kind == GateState:
		return fmt.Sprintf("%d state", place)
	case r.Actor == Gate && r.Kind == GateDelivery:
		return fmt.Sprintf("%d delivery %10d", place, life)
	case r.Actor == Server && (r.Kind == ServerRequest || r.Kind == ServerSent || r.Kind == ServerReceived || r.Kind == ServerClosed):
		return fmt.Sprintf("%d connection %10d", place, r.Epoch)
	}
	if r.Actor == Examiner && r.Kind != ExaminerHook {
		return fmt.Sprintf("%d connection %10d", place, r.Epoch)
	}
	return fmt.Sprintf("%d", place)
}

func sortStreams(names []string) { slices.SortFunc(names, cmp.Compare[string]) }

// byTicket puts deliveries in the order of their tickets and leaves every other stream as it is.
func byTicket(records []Record) {
	if len(records) > 0 && records[0].Actor == Gate && records[0].Kind == GateDelivery {
		slices.SortStableFunc(records, func(a, b Record) int { return cmp.Compare(a.Ticket, b.Ticket) })
	}
}
