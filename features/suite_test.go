package features_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/judge"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/features"
	"github.com/conform-dev/conform/plugins/sse"
)

// TestMain makes this test binary its own plugin: a process of the process lane is the real transport in a real process.
func TestMain(m *testing.M) {
	if plugin.ServeArgs(os.Args[1:], map[string]func() transport.Transport{"sse": sse.New}) {
		return
	}
	os.Exit(m.Run())
}

func options(t *testing.T, lane trace.Lane, seed uint64) features.Options {
	t.Helper()
	self, err := host.Self("sse")
	if err != nil {
		t.Fatal(err)
	}
	return features.Options{Lane: lane, Wire: "sse", Seed: seed, Plugin: self}
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
	for _, lane := range []trace.Lane{trace.Virtual, trace.Process} {
		t.Run(string(lane), func(t *testing.T) {
			for _, r := range run(t, options(t, lane, 1)) {
				t.Run(r.Scenario.Name, func(t *testing.T) { passes(t, rows, r) })
			}
		})
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
