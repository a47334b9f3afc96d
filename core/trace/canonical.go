package trace

import (
	"maps"
	"strings"
)

// Canonical is the part of a trace that must be the same when the same schedule runs again (D-65): per actor, in order,
// everything but what dropped.go lists. Records are grouped by stream, streams in a fixed order, and renumbered from 1.
//
// In the virtual lane a stream is an actor. Where time is wall time, what one actor does at two ends is not ordered by the
// contract, so the gate's input, its state and its deliveries, the feed, and each connection of the server are streams of
// their own. Deliveries stand in the order of their tickets there: a queue that is answered at once is answered before
// the event that runs, and what queues depends on the batches.
func Canonical(records []Record, lane Lane) []Record {
	streams := map[string][]Record{}
	var names []string
	if !lane.Exact() {
		records = dropStates(records)
	}
	life := 0 // of the gate
	for i := range records {
		r := records[i]
		if !lane.Exact() && dropped(&r) {
			continue
		}
		if r.Actor == Gate && r.Kind == GateStart {
			life++
		}
		strip(&r, lane)
		name := stream(&r, lane, life)
		if _, ok := streams[name]; !ok {
			names = append(names, name)
		}
		streams[name] = append(streams[name], r)
	}
	sortStreams(names)
	out := make([]Record, 0, len(records))
	for _, name := range names {
		if !lane.Exact() {
			byTicket(streams[name])
		}
		for i := range streams[name] {
			r := streams[name][i]
			r.N = len(out) + 1
			out = append(out, r)
		}
	}
	return out
}

func dropped(r *Record) bool {
	for _, d := range dropKinds {
		if r.Actor == d.actor && r.Kind == d.kind && (d.status == "" || r.Status == d.status) {
			return true
		}
	}
	return false
}

// strip takes the dropped members out of r, which it owns but for Args.
func strip(r *Record, lane Lane) {
	for _, d := range drops {
		if d.clear != nil && (d.exact || !lane.Exact()) {
			d.clear(r)
		}
	}
	if !lane.Exact() {
		dropHangUp(r)
	}
	r.Detail = dropPorts(r.Detail)
	for name := range dropArgs {
		if _, ok := r.Args[name]; ok {
			r.Args = maps.Clone(r.Args)
			delete(r.Args, name)
		}
	}
	if len(r.Args) == 0 {
		r.Args = nil
	}
}

// dropPorts replaces the port of each loopback address in text: an error of the network names one that the kernel chose.
func dropPorts(text string) string {
	for _, host := range []string{"127.0.0.1:", "[::1]:", "localhost:"} {
		var b strings.Builder
		rest := text
		for {
			before, after, ok := strings.Cut(rest, host)
			b.WriteString(before)
			if !ok {
				break
			}
			rest = strings.TrimLeft(after, "0123456789")
			b.WriteString(host)
			if len(rest) < len(after) {
				b.WriteString("port")
			}
		}
		text = b.String()
	}
	return text
}
