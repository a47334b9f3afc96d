package features_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/judge"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/features"
	"github.com/conform-dev/conform/features/stage/storeproc"
	"github.com/conform-dev/conform/plugins/fleetwake"
	"github.com/conform-dev/conform/plugins/odata"
	"github.com/conform-dev/conform/plugins/sse"
	"github.com/conform-dev/conform/plugins/websocket"
	"github.com/conform-dev/conform/simulator/world"
)

// TestMain makes this test binary its own plugin: a process of the process lane is the real transport in a real process.
func TestMain(m *testing.M) {
	if storeproc.ServeArgs(os.Args[1:]) {
		return
	}
	if plugin.ServeArgs(os.Args[1:], bundled) {
		return
	}
	os.Exit(m.Run())
}

// bundled are the transports whose scenarios are played here.
var bundled = map[string]func() transport.Transport{"sse": sse.New, "websocket": websocket.New, "odata": odata.New, "fleetwake": fleetwake.New}

func options(t *testing.T, lane trace.Lane, seed uint64) features.Options {
	return optionsOn(t, "sse", lane, seed)
}

func optionsOn(t *testing.T, wire string, lane trace.Lane, seed uint64) features.Options {
	t.Helper()
	self, err := host.Self(wire)
	if err != nil {
		t.Fatal(err)
	}
	opt := features.Options{Lane: lane, Wire: wire, Seed: seed, Plugin: self}
	if lane == trace.Process {
		opt.Parallel = 3 // as a run does; what a trace says must not depend on who else is playing
	}
	return opt
}

func run(t *testing.T, o features.Options) []features.ScenarioRun {
	t.Helper()
	runs, err := features.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// TestSuite: every scenario passes every row that it names, in every lane that it has.
func TestSuite(t *testing.T) {
	rows, err := ledger.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, wire := range slices.Sorted(maps.Keys(bundled)) {
		for _, lane := range []trace.Lane{trace.Virtual, trace.Process} {
			t.Run(wire+"/"+string(lane), func(t *testing.T) {
				for _, r := range run(t, optionsOn(t, wire, lane, 1)) {
					t.Logf("%6.1f ms  %s", r.Took.Seconds()*1000, r.Scenario.Where())
					t.Run(r.Scenario.Name, func(t *testing.T) { passes(t, rows, r) })
				}
			})
		}
	}
}

// TestLedgerFits: every row has its scenarios in every lane that it asks for, and every scenario a row.
func TestLedgerFits(t *testing.T) {
	rows, err := ledger.Load()
	if err != nil {
		t.Fatal(err)
	}
	found, err := features.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	var all []ledger.Scenario
	for _, s := range found {
		all = append(all, ledger.Scenario{Name: s.Name, File: s.File, Line: s.Line, Tags: s.Tags})
	}
	for _, p := range rows.Check(all) {
		t.Error(p)
	}
	for _, row := range rows.Rows {
		for _, wire := range row.Wires {
			if !slices.ContainsFunc(found, func(s features.Scenario) bool {
				return slices.Contains(s.Rows, row.ID) && slices.Contains(s.Wires, wire)
			}) {
				t.Errorf("%s claims %s, and no scenario of it is played there", row.ID, wire)
			}
		}
	}
	for _, s := range found { // it is evidence only for those of its rows that claim the wire
		for _, wire := range s.Wires {
			if !slices.ContainsFunc(s.Rows, func(id string) bool { row := rows.Find(id); return row != nil && row.On(wire) }) {
				t.Errorf("%s is played on %s, and no row of it claims that", s.Where(), wire)
			}
		}
	}
}

// TestSameTwice: the same schedule gives the same canonical trace, in both lanes (D-65).
func TestSameTwice(t *testing.T) {
	const seed = 7
	for _, wire := range slices.Sorted(maps.Keys(bundled)) {
		t.Run(wire+"/virtual", func(t *testing.T) {
			first := run(t, optionsOn(t, wire, trace.Virtual, seed))
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // neither may it depend on how many threads there are
			same(t, first, run(t, optionsOn(t, wire, trace.Virtual, seed)))
		})
	}
	for _, wire := range streams { // how often the other one polls depends on the clock
		t.Run(wire+"/process", func(t *testing.T) {
			o := optionsOn(t, wire, trace.Process, seed)
			o.Filter = func(s features.Scenario) bool { return !slices.Contains(s.Rows, "WS-010") } // what two connections bring twice is chance
			same(t, run(t, o), run(t, o))
		})
	}
}

func same(t *testing.T, first, second []features.ScenarioRun) {
	t.Helper()
	if len(first) != len(second) || len(first) == 0 {
		t.Fatalf("%d and %d runs", len(first), len(second))
	}
	for i := range first {
		a, b := text(trace.Canonical(first[i].Records, first[i].Lane)), text(trace.Canonical(second[i].Records, second[i].Lane))
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s differs:\n%s", first[i].Scenario.Where(), d)
		}
	}
}

func text(records []trace.Record) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = r.String()
	}
	return out
}

// TestSeeds: what a scenario expects holds under every schedule, not under a lucky one.
func TestSeeds(t *testing.T) {
	rows, err := ledger.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, wire := range slices.Sorted(maps.Keys(bundled)) {
		for seed := range uint64(10) {
			for _, r := range run(t, optionsOn(t, wire, trace.Virtual, 1000+seed)) {
				passes(t, rows, r)
			}
		}
	}
}

// TestReplay: a schedule written to a file gives the same trace again, without its seed and without the scenario.
func TestReplay(t *testing.T) {
	var runs []features.ScenarioRun
	for _, wire := range slices.Sorted(maps.Keys(bundled)) {
		runs = append(runs, run(t, optionsOn(t, wire, trace.Virtual, 3))...)
	}
	for _, r := range runs {
		r.Schedule.Seed = 0
		var file bytes.Buffer
		if err := r.Schedule.Write(&file); err != nil {
			t.Fatal(err)
		}
		s, err := world.ReadSchedule(&file)
		if err != nil {
			t.Fatalf("%s: %v", r.Scenario.Where(), err)
		}
		again, err := world.Run(s)
		if err != nil {
			t.Fatalf("%s: %v", r.Scenario.Where(), err)
		}
		// The steps and expectations are the scenario's; all else must be there.
		parts := func(all []trace.Record) []string {
			all = slices.DeleteFunc(slices.Clone(all), func(r trace.Record) bool { return r.Actor == trace.Stage })
			return text(trace.Canonical(all, trace.Virtual))
		}
		if d := cmp.Diff(parts(r.Records), parts(again)); d != "" {
			t.Errorf("%s differs:\n%s", r.Scenario.Where(), d)
		}
	}
}

func passes(t *testing.T, rows *ledger.Ledger, r features.ScenarioRun) {
	t.Helper()
	for _, e := range r.StepErrors {
		t.Errorf("%s: %s", r.Scenario.Where(), e)
	}
	for _, id := range r.Scenario.Rows {
		row := rows.Find(id)
		if row == nil {
			t.Errorf("%s: no row %s", r.Scenario.Where(), id)
			continue
		}
		if o := judge.Judge(r.Records, row, r.Lane); o.Verdict != judge.Passed {
			text := ""
			for _, rec := range r.Records {
				text += fmt.Sprintln(rec)
			}
			t.Errorf("%s: %s: %s: %s\n%s", r.Scenario.Where(), id, o.Verdict, o.Why, text)
		}
	}
}
