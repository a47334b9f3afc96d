package features

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/trace"
)

// written makes feature files of one scenario with the given steps, and a second one that is whole.
func written(steps string) fstest.MapFS {
	return fstest.MapFS{"x.feature": {Data: []byte(`@sse @virtual @process @GATE-001
Feature: f
  Scenario: first
` + steps + `
  Scenario: second
    When the client follows the feed
    And everything published has arrived
    Then the gate is live
`)}}
}

// TestStepsThatBreak: what godog alone would read as success, or as nothing, is a fault of the harness here, and no other
// scenario pays for it.
func TestStepsThatBreak(t *testing.T) {
	for _, c := range []struct{ name, steps, want string }{
		{"undefined", "    When the moon is full\n", `step "the moon is full": undefined`},
		{"undefined behind a good one", "    When the client follows the feed\n    And the moon is full\n    Then the gate is live\n", `"the moon is full": undefined`},
		{"no such fault", "    Given these faults:\n      | fault |\n      | rain  |\n    When the client follows the feed\n", `unknown fault "rain"`},
		{"no such column", "    Given these faults:\n      | fault | when |\n      | gap   | now  |\n    When the client follows the feed\n", `unknown column "when"`},
		{"no such setting", "    Given these settings:\n      | setting | value |\n      | mood    | good  |\n    When the client follows the feed\n", `unknown setting "mood"`},
		{"no such event", "    When the client follows the feed\n    Then the consumer has seen exactly: nonsense 5\n", `not written like`},
		{"above a ceiling", "    Given these settings:\n      | setting     | value  |\n      | max pending | 100000 |\n    When the client follows the feed\n", `above its ceiling`},
		{"a verb of another lane", "    When the client follows the feed\n    And the plugin process is killed\n", `this lane cannot do that`},
		{"nothing runs yet", "    Then the gate is live\n", `nothing has happened yet`},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs, err := runFrom(context.Background(), written(c.steps), parse, Options{Lane: trace.Virtual, Wire: "sse"})
			if err != nil || len(runs) != 2 {
				t.Fatalf("%d runs, %v", len(runs), err)
			}
			if got := strings.Join(runs[0].StepErrors, "\n"); !strings.Contains(got, c.want) {
				t.Errorf("step errors %q, want one with %q", got, c.want)
			}
			if len(runs[1].StepErrors) > 0 {
				t.Errorf("the other scenario: %q", runs[1].StepErrors)
			}
		})
	}
}

// TestFilter: what was not chosen leaves nothing behind, and is told to nobody.
func TestFilter(t *testing.T) {
	var told []string
	opt := Options{Lane: trace.Virtual, Wire: "sse", Filter: func(s Scenario) bool { return s.Name == "second" },
		Progress: func(s Scenario, done *ScenarioRun) {
			if done != nil {
				told = append(told, s.Name)
			}
		}}
	runs, err := runFrom(context.Background(), written("    When the moon is full\n"), parse, opt)
	if err != nil || len(runs) != 1 || runs[0].Scenario.Name != "second" || len(runs[0].StepErrors) > 0 {
		t.Fatalf("%+v, %v", runs, err)
	}
	if len(told) != 1 || told[0] != "second" {
		t.Errorf("told of %q", told)
	}
	opt.Wire = "websocket"
	if runs, err := runFrom(context.Background(), written(""), parse, opt); err == nil && len(runs) > 0 {
		t.Errorf("%d runs on a wire that no scenario names", len(runs))
	}
}

// TestInterrupt: what is done when the context ends is kept; what was running is not.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	steps := "    When the client follows the feed\n    Then the gate is live\n"
	opt := Options{Lane: trace.Virtual, Wire: "sse", Progress: func(s Scenario, done *ScenarioRun) {
		if done == nil && s.Name == "second" {
			cancel()
		}
	}}
	runs, err := runFrom(ctx, written(steps), parse, opt)
	if err != context.Canceled || len(runs) != 1 || runs[0].Scenario.Name != "first" {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
}

// TestPluginThatIsNotThere: every scenario says so in one line, and the run goes on to its end.
func TestPluginThatIsNotThere(t *testing.T) {
	opt := Options{Lane: trace.Process, Wire: "sse", Plugin: host.Command{Name: "nobody", Path: "testdata/no-such-plugin"}}
	runs, err := runFrom(context.Background(), written("    When the client follows the feed\n"), parse, opt)
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		if got := strings.Join(r.StepErrors, "\n"); !strings.Contains(got, "does not exist") || strings.Contains(got, "\n") {
			t.Errorf("step errors %q", got)
		}
	}
}

// TestWaitsRunOut: something that never comes is recorded as late, in virtual time, and the scenario goes on.
func TestWaitsRunOut(t *testing.T) {
	steps := "    When the client follows the feed\n    And the server has been asked 2 times\n    Then the gate is live\n"
	begin := time.Now()
	runs, err := runFrom(context.Background(), written(steps), parse, Options{Lane: trace.Virtual, Wire: "sse"})
	if err != nil || len(runs) != 2 || len(runs[0].StepErrors) > 0 {
		t.Fatalf("%+v, %v", runs, err)
	}
	late, expects := 0, 0
	for _, r := range runs[0].Records {
		switch r.Kind {
		case trace.StageLate:
			late++
		case trace.StageExpect:
			expects++
		}
	}
	if late != 1 || expects != 1 {
		t.Errorf("%d late waits, %d expectations", late, expects)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("%v for waits in virtual time", took)
	}
}
