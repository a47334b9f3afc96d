package features_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/fixture"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/features"
)

// streams are the wires whose transports are driven by the same session: everything that a gate gets is comparable.
var streams = []string{"sse", "websocket"}

// TestSameGateTrace: what one scenario does to the gate, and what the gate answers, is the same on both streams (D-64). The mapping
// renames position values and nothing else. On the polled wire the moments differ at which events come, so it is held to the table
// of TestTable instead.
func TestSameGateTrace(t *testing.T) {
	var traces [2]map[string][]string
	for i, wire := range streams {
		traces[i] = map[string][]string{}
		for _, r := range run(t, optionsOn(t, wire, trace.Virtual, 1)) {
			traces[i][r.Scenario.Name] = gateTrace(r.Records)
		}
	}
	compared := 0
	for name, want := range traces[0] {
		got, ok := traces[1][name]
		if !ok {
			continue
		}
		compared++
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s differs between %s and %s:\n%s", name, streams[0], streams[1], d)
		}
	}
	if compared < 60 {
		t.Errorf("%d scenarios were compared", compared)
	}
	t.Logf("%d scenarios compared", compared)
}

// gateTrace is what happened to the gate without times and positions: events offered, deliveries, and what it had counted at the end.
func gateTrace(records []trace.Record) (out []string) {
	var last trace.Record
	for _, r := range records {
		if r.Actor == trace.Gate && r.Kind == trace.GateState {
			last = r
		}
		if r.Actor != trace.Gate || r.Kind != trace.GateEnqueue && r.Kind != trace.GateDelivery && r.Kind != trace.GateRequire {
			continue
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %d %s %s %s", r.Kind, r.Type, r.Seq, r.ID, r.Status, r.Reason)))
	}
	return append(out, fmt.Sprintf("%d accepted, %d duplicates, %d gaps, %d overflows", last.Accepted, last.Duplicates, last.Gaps, last.Overflows))
}

// TestTable: the ten scenarios of the cross-transport fixture have the tabulated results on every wire (facts 7.2). It prints the
// table.
func TestTable(t *testing.T) {
	table, err := fixture.CrossTransport()
	if err != nil {
		t.Fatal(err)
	}
	for _, wire := range []string{"sse", "websocket", "odata"} {
		o := optionsOn(t, wire, trace.Virtual, 1)
		o.Filter = func(s features.Scenario) bool { return slices.Contains(s.Rows, "XTC-001") }
		runs := map[string]features.ScenarioRun{}
		for _, r := range run(t, o) {
			runs[r.Scenario.Name] = r
		}
		for _, want := range table.Scenarios {
			name := want.ID
			if _, ok := runs[name]; !ok {
				name += ", of a service that stays away" // the fault as the polled wire has it
			}
			r, ok := runs[name]
			if !ok {
				t.Errorf("%s on %s: not played", want.ID, wire)
				continue
			}
			got := result(r.Records)
			if got.ids != strings.Join(want.IDs, ", ") || got.duplicates != want.Duplicates || got.gaps != want.Gaps || got.overflows != want.Overflows || got.resnapshots != want.Resnapshots || got.end != want.End {
				t.Errorf("%s on %s: %+v, want %+v", want.ID, wire, got, want)
			}
			t.Logf("%-28s %-10s %-50s dup %d  gap %d  overflow %d  resnapshots %d  %s", want.ID, wire, got.ids, got.duplicates, got.gaps, got.overflows, got.resnapshots, got.end)
		}
	}
}

type tabulated struct {
	ids, end                                 string
	duplicates, gaps, overflows, resnapshots int
}

func result(records []trace.Record) (out tabulated) {
	var ids []string
	for _, r := range records {
		switch {
		case r.Actor == trace.Consumer && r.Kind == trace.ConsumerSaw:
			ids = append(ids, r.ID)
			if r.Type == event.Snapshot.String() {
				out.resnapshots++
			}
		case r.Actor == trace.Session && r.Kind == trace.SessionEnd:
			if out.end = "error"; r.Status == "by-caller" {
				out.end = "complete"
			}
		case r.Actor == trace.Gate && r.Kind == trace.GateState:
			out.duplicates, out.gaps, out.overflows = int(r.Duplicates), int(r.Gaps), int(r.Overflows)
		}
	}
	out.resnapshots-- // the first one is none
	out.ids = strings.Join(ids, ", ")
	return out
}
