package features

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/features/steps"
)

// TestScenarios: the list is known without running anything, and a scenario is named by its place.
func TestScenarios(t *testing.T) {
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Fatalf("%d scenarios", len(all))
	}
	seen, texts := map[string]bool{}, map[string]bool{}
	sources, err := Sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if seen[s.Where()] {
			t.Errorf("two scenarios at %s", s.Where())
		}
		seen[s.Where()] = true
		key := s.Feature + "\n" + s.Name
		if texts[key] {
			t.Errorf("%s: the name %q is taken in its feature", s.Where(), s.Name)
		}
		texts[key] = true
		if n := strings.Count(string(sources[s.File]), "\n"); s.Line < 1 || s.Line > n {
			t.Errorf("%s: the file has %d lines", s.Where(), n)
		}
	}
}

// TestScenarioFaults: a feature file that would read as success by accident is refused.
func TestScenarioFaults(t *testing.T) {
	const head = "Feature: f\n"
	for _, c := range []struct{ name, text, want string }{
		{"no row", "@sse @virtual\nScenario: a\nGiven b\n", `no tag that names a ledger row`},
		{"no wire", "@GATE-001 @virtual\nScenario: a\nGiven b\n", `no tag that names a wire`},
		{"no lane", "@GATE-001 @sse\nScenario: a\nGiven b\n", `no tag that names a lane`},
		{"unknown tag", "@GATE-001 @sse @virtual @wip\nScenario: a\nGiven b\n", `x.feature:3: unknown tag @wip`},
		{"misspelt row", "@GATE-1 @sse @virtual\nScenario: a\nGiven b\n", `unknown tag @GATE-1`},
		{"no steps", "@GATE-001 @sse @virtual\nScenario: a\n", `has no steps`},
		{"no Gherkin", "Scenario: a\nNow b\n", `x.feature`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := list(fstest.MapFS{"x.feature": {Data: []byte(head + c.text)}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestPhrasesAreUsed: a phrase that no scenario needs is one too many to learn.
func TestPhrasesAreUsed(t *testing.T) {
	sources, err := Sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range steps.Phrases() {
		re := regexp.MustCompile(`(?m)^\s*(?:Given|When|Then|And) ` + p + `$`)
		used := false
		for _, text := range sources {
			used = used || re.Match(text)
		}
		if !used {
			t.Errorf("nobody says %q", p)
		}
	}
}

// TestOutline: each row of an outline is a scenario of its own, named by its line.
func TestOutline(t *testing.T) {
	got, err := list(fstest.MapFS{"x.feature": {Data: []byte(`@sse
Feature: f
  @GATE-001 @process @virtual
  Scenario Outline: it <does>
    Given a
    Examples:
      | does |
      | this |
      | that |
`)}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Scenario{
		{Name: "it this", Feature: "f", File: "x.feature", Line: 8, Tags: []string{"@sse", "@GATE-001", "@process", "@virtual"}, Rows: []string{"GATE-001"}, Wires: []string{"sse"}, Lanes: []trace.Lane{trace.Virtual, trace.Process}},
		{Name: "it that", Feature: "f", File: "x.feature", Line: 9, Tags: []string{"@sse", "@GATE-001", "@process", "@virtual"}, Rows: []string{"GATE-001"}, Wires: []string{"sse"}, Lanes: []trace.Lane{trace.Virtual, trace.Process}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Scenario{})); d != "" {
		t.Error(d)
	}
}

// TestOnly: a scenario that is only about some wires is taken off the others of its feature; a wire that nobody knows is refused.
func TestOnly(t *testing.T) {
	feature := func(tags string) fstest.MapFS {
		return fstest.MapFS{"x.feature": {Data: []byte("@sse @websocket\nFeature: f\n\n  @GATE-001 @virtual " + tags + "\n  Scenario: s\n    When this\n")}}
	}
	for tags, want := range map[string][]string{
		"": {"sse", "websocket"}, "@only-sse": {"sse"}, "@only-odata": {"odata"}, "@only-websocket @only-sse": {"sse", "websocket"},
	} {
		got, err := list(feature(tags))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got[0].Wires); d != "" {
			t.Errorf("%q: %s", tags, d)
		}
	}
	if _, err := list(feature("@only-telegraph")); err == nil || !strings.Contains(err.Error(), "unknown tag @only-telegraph") {
		t.Errorf("an unknown wire: %v", err)
	}
}
