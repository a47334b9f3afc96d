package judge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/trace"
)

func ref(r *trace.Record) string { return trace.EventRef{Type: r.Type, Seq: r.Seq}.String() }

func refs(records []*trace.Record) string {
	if len(records) == 0 {
		return "nothing"
	}
	const shown = 20
	var names []string
	for _, r := range records {
		if len(names) == shown {
			names = append(names, fmt.Sprintf("and %d more", len(records)-shown))
			break
		}
		names = append(names, ref(r))
	}
	return strings.Join(names, ", ")
}

func consumerSaw(p prefix, args map[string]string) seen {
	saw := p.all(trace.Consumer, trace.ConsumerSaw)
	want, _ := trace.ParseEvents(args["events"])
	holds := len(saw) == len(want)
	for i := 0; holds && i < len(want); i++ {
		holds = ref(saw[i]) == want[i].String()
	}
	text := args["events"]
	if text == "" {
		text = "nothing"
	}
	return seen{holds: holds, want: "the consumer has seen exactly " + text, got: refs(saw), at: numbers(saw)}
}

func consumerNotSaw(p prefix, args map[string]string) seen {
	for _, r := range p.all(trace.Consumer, trace.ConsumerSaw) {
		bySeq := args["seq"] != "" && args["seq"] == strconv.FormatInt(int64(r.Seq), 10)
		byID := args["id"] != "" && args["id"] == r.ID
		if bySeq || byID {
			return seen{want: fmt.Sprintf("the consumer has never seen %s%s", args["seq"], args["id"]), got: r.String(), at: one(r)}
		}
	}
	return seen{holds: true}
}

func delivery(p prefix, args map[string]string) seen {
	offered := map[uint64]*trace.Record{}
	var ends []*trace.Record
	for i := range p {
		r := &p[i]
		if r.Actor != trace.Gate {
			continue
		}
		switch r.Kind {
		case trace.GateStart:
			offered = map[uint64]*trace.Record{}
		case trace.GateEnqueue:
			if args["event"] == ref(r) || args["id"] != "" && args["id"] == r.ID {
				offered[r.Ticket] = r
			}
		case trace.GateDelivery:
			if offered[r.Ticket] == nil {
				continue
			}
			reason, asked := args["reason"]
			if r.Status == args["status"] && (!asked || r.Reason == reason) {
				return seen{holds: true}
			}
			ends = append(ends, r)
		}
	}
	want := fmt.Sprintf("a delivery of %s%s that ended as %s", args["event"], args["id"], args["status"])
	if reason := args["reason"]; reason != "" {
		want += " with " + reason
	}
	got := "it was never answered"
	if len(ends) > 0 {
		var all []string
		for _, r := range ends {
			all = append(all, strings.TrimSpace(r.Status+" "+r.Reason))
		}
		got = strings.Join(all, ", ")
	}
	return seen{want: want, got: got, at: numbers(ends)}
}

// state is the gate's last state.
func (p prefix) state() *trace.Record { return p.last(trace.Gate, trace.GateState, trace.GateStart) }

func phase(p prefix, args map[string]string) seen {
	want := strings.TrimSpace("phase " + args["phase"] + " " + args["reason"])
	s := p.state()
	if s == nil {
		return seen{want: want, got: "no gate"}
	}
	reason, asked := args["reason"]
	detail, askedDetail := args["detail"]
	holds := s.Phase == args["phase"] && (!asked || s.Reason == reason) && (!askedDetail || s.Detail == detail)
	return seen{holds: holds, want: want, got: strings.TrimSpace("phase " + s.Phase + " " + s.Reason + " " + s.Detail), at: one(s)}
}

func counts(p prefix, args map[string]string) seen {
	s := p.state()
	if s == nil {
		return seen{want: "the gate's counters", got: "no gate"}
	}
	var want, got []string
	for _, c := range []struct {
		name string
		n    uint64
	}{{"accepted", s.Accepted}, {"duplicates", s.Duplicates}, {"gaps", s.Gaps}, {"overflows", s.Overflows}} {
		if text, asked := args[c.name]; asked && text != strconv.FormatUint(c.n, 10) {
			want = append(want, text+" "+c.name)
			got = append(got, fmt.Sprintf("%d %s", c.n, c.name))
		}
	}
	return seen{holds: len(want) == 0, want: "the gate has counted " + strings.Join(want, ", "), got: strings.Join(got, ", "), at: one(s)}
}

func persisted(p prefix, args map[string]string) seen {
	s := p.state()
	if s == nil {
		return seen{want: "persisted " + args["value"], got: "no gate"}
	}
	got := strconv.FormatBool(s.Persisted)
	return seen{holds: got == args["value"], want: "persisted " + args["value"], got: "persisted " + got, at: one(s)}
}

func stateOf(p prefix, args map[string]string) seen {
	want := "the consumer's rows equal the feed's at " + args["seq"]
	var feed *trace.Record
	for i := range p {
		r := &p[i]
		if r.Actor == trace.Server && (r.Kind == trace.ServerPublish || r.Kind == trace.ServerRestart) && r.Args["rows"] != "" &&
			strconv.FormatInt(int64(r.Seq), 10) == args["seq"] {
			feed = r
		}
	}
	return sameRows(p, feed, want)
}

func converged(p prefix, _ map[string]string) seen {
	var feed *trace.Record
	for i := range p {
		r := &p[i]
		if r.Actor == trace.Server && (r.Kind == trace.ServerPublish || r.Kind == trace.ServerRestart) {
			feed = r
		}
	}
	return sameRows(p, feed, "the consumer's rows equal the feed's at its head")
}

func sameRows(p prefix, feed *trace.Record, want string) seen {
	saw := p.last(trace.Consumer, trace.ConsumerSaw)
	switch {
	case feed == nil || feed.Args["rows"] == "":
		return seen{want: want, got: "the feed's rows are not in the trace"}
	case saw == nil:
		return seen{want: want, got: "the consumer has seen nothing", at: one(feed)}
	}
	return seen{holds: saw.Args["rows"] == feed.Args["rows"], want: want + " (" + feed.Args["rows"] + ")",
		got: saw.Args["rows"] + " after " + ref(saw), at: []int{feed.N, saw.N}}
}
