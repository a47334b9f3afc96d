package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/judge"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/trace"
)

const planted = "pl4nted-canary-value"

func row(id string, level ledger.Level) *ledger.Row {
	return &ledger.Row{ID: id, Title: "Title of " + id, Level: level, Surface: "gate", Actor: "gate", Profiles: []string{"resume"},
		Authority: []ledger.Authority{{Decision: "D-01"}, {Case: "P-GATE-01"}}, Behaviour: "It behaves."}
}

func records(t *testing.T, detail string) []trace.Record {
	t.Helper()
	log, err := trace.NewLog(0)
	if err != nil {
		t.Fatal(err)
	}
	setup := trace.New(trace.Stage, trace.StageSetup)
	setup.Args = map[string]string{"canary": planted}
	log.Append(setup)
	step := trace.New(trace.Stage, trace.StageStep)
	step.Detail = detail
	log.Append(step)
	return log.Records()
}

func result(t *testing.T, id string, level ledger.Level, v judge.Verdict) Result {
	t.Helper()
	r := Result{Row: row(id, level), Scenario: "A change is <lost> & \"gone\" " + id, File: "gate.feature", Line: 12, Subject: "sse", Wire: "sse", Lane: trace.Process,
		Outcome: judge.Outcome{Row: id, Lane: trace.Process, Verdict: v}, Seed: 7, Duration: 1500 * time.Millisecond, Repeat: "conform run --row " + id + " --seed 7",
		Records: records(t, id)}
	if v != judge.Passed {
		r.Outcome.Why = "expected x; seen y"
	}
	if bad(v) {
		r.Outcome.Findings = []judge.Finding{{Check: judge.Model, Expected: "upsert 8 ends as resnapshot-required", Seen: "upsert 8 ends as applied", Record: 2, Related: []int{1}}}
		r.Outcome.Excerpt = []string{"#1 0.000s stage setup", "#2 0.000s stage step \x1b[31m"}
	}
	return r
}

func run(results ...Result) Run {
	for i := range results {
		results[i].Line = 10 + i
	}
	return Run{Version: "v0.1.0", Started: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC), Duration: 2500 * time.Millisecond, Command: "conform run --seed 7", Seed: 7,
		Subjects: []Subject{{"sse", "v0.1.0", "sse"}}, Lanes: []trace.Lane{trace.Virtual, trace.Process}, Results: results, Unproven: []string{"GATE-001"}}
}

// every verdict once.
func mixed(t *testing.T) Run {
	var all []Result
	for i, v := range judge.Verdicts {
		all = append(all, result(t, fmt.Sprintf("GATE-%03d", i+1), ledger.Must, v))
	}
	return run(all...)
}

// TestExitCode is D-63, line by line.
func TestExitCode(t *testing.T) {
	type rs = []Result
	r := func(level ledger.Level, v judge.Verdict) Result { return result(t, "GATE-001", level, v) }
	other := func(level ledger.Level, v judge.Verdict) Result { return result(t, "GATE-002", level, v) }
	must, should, may := ledger.Must, ledger.Should, ledger.May
	for _, tc := range []struct {
		name    string
		results rs
		partial bool
		claimed []Claim
		want    int
		strict  int
	}{
		{"nothing selected", nil, false, nil, 2, 2},
		{"all passed", rs{r(must, judge.Passed), other(must, judge.Passed)}, false, nil, 0, 0},
		{"MUST failed", rs{r(must, judge.Failed), other(must, judge.Passed)}, false, nil, 1, 1},
		{"MUST not exercised", rs{r(must, judge.NotExercised)}, false, nil, 1, 1},
		{"MUST inconclusive", rs{r(must, judge.Inconclusive)}, false, nil, 4, 4},
		{"failed goes before inconclusive", rs{r(must, judge.Inconclusive), other(must, judge.Failed)}, false, nil, 1, 1},
		{"in either order", rs{other(must, judge.Failed), r(must, judge.Inconclusive)}, false, nil, 1, 1},
		{"error goes before failed", rs{r(must, judge.Failed), other(must, judge.Error)}, false, nil, 3, 3},
		{"the harness broke in a MAY row", rs{r(may, judge.Error)}, false, nil, 3, 3},
		{"SHOULD failed", rs{r(should, judge.Failed)}, false, nil, 0, 1},
		{"SHOULD inconclusive", rs{r(should, judge.Inconclusive)}, false, nil, 0, 4},
		{"MAY failed", rs{r(may, judge.Failed)}, false, nil, 0, 0},
		{"does not apply", rs{r(must, judge.NotApplicable)}, false, nil, 0, 0},
		{"unsupported", rs{r(must, judge.Unsupported)}, false, nil, 0, 0},
		{"one scenario of a row failed", rs{r(must, judge.Passed), r(must, judge.Failed)}, false, nil, 1, 1},
		{"interrupted, though something failed", rs{r(must, judge.Failed)}, true, nil, 130, 130},
		{"interrupted before the first", nil, true, nil, 130, 130},
		{"claimed and never run", rs{r(must, judge.Passed)}, false, []Claim{{"GATE-002", must, "sse"}}, 1, 1},
		{"claimed and run", rs{r(must, judge.Passed)}, false, []Claim{{"GATE-001", must, "sse"}}, 0, 0},
		{"claimed of another subject", rs{r(must, judge.Passed)}, false, []Claim{{"GATE-001", must, "mine"}}, 1, 1},
		{"claimed SHOULD and never run", rs{r(must, judge.Passed)}, false, []Claim{{"GATE-002", should, "sse"}}, 0, 1},
	} {
		rn := run(tc.results...)
		rn.Partial, rn.Claimed = tc.partial, tc.claimed
		if got := ExitCode(rn, false); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
		if got := ExitCode(rn, true); got != tc.strict {
			t.Errorf("%s, strict: %d, want %d", tc.name, got, tc.strict)
		}
	}
}

func TestEnvelopeFitsItsSchema(t *testing.T) {
	for name, rn := range map[string]Run{"mixed": mixed(t), "empty": {Started: time.Unix(0, 0)}} {
		doc, err := Envelope(rn, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := Envelope(rn, nil)
		if err != nil || !bytes.Equal(doc, again) {
			t.Errorf("%s: a second rendering differs", name)
		}
	}
}

// TestSchemaRefuses changes one thing of a good envelope.
func TestSchemaRefuses(t *testing.T) {
	doc, err := Envelope(mixed(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(m map[string]any){
		"unknown member":   func(m map[string]any) { m["extra"] = 1 },
		"missing member":   func(m map[string]any) { delete(m, "exitCode") },
		"another format":   func(m map[string]any) { m["format"] = "conform.report/2" },
		"unknown outcome":  func(m map[string]any) { m["results"].([]any)[0].(map[string]any)["outcome"] = "skipped" },
		"path in a trace":  func(m map[string]any) { m["results"].([]any)[0].(map[string]any)["trace"] = "traces/../x.ndjson" },
		"no time":          func(m map[string]any) { m["started"] = "yesterday" },
		"row out of form":  func(m map[string]any) { m["rows"].([]any)[0].(map[string]any)["row"] = "gate-1" },
		"negative seconds": func(m map[string]any) { m["durationMs"] = -1 },
	} {
		var m map[string]any
		if err := json.Unmarshal(doc, &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		bad, _ := json.Marshal(m)
		if Validate(bad) == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := Validate(doc); err != nil {
		t.Error(err)
	}
	if Validate([]byte("{")) == nil {
		t.Error("half a document was taken")
	}
}

func TestJUnitIsHonest(t *testing.T) {
	doc, err := JUnit(mixed(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var s junitSuites
	if err := xml.Unmarshal(doc, &s); err != nil {
		t.Fatal(err)
	}
	if s.Tests != 7 || s.Failures != 3 || s.Errors != 1 || s.Skipped != 2 {
		t.Errorf("%d tests, %d failures, %d errors, %d skipped", s.Tests, s.Failures, s.Errors, s.Skipped)
	}
	for _, c := range s.Suites[0].Cases {
		var verdict string
		for _, p := range c.Properties {
			if p.Name == "outcome" {
				verdict = p.Value
			}
		}
		var kind string
		for name, x := range map[string]*junitText{"failure": c.Failure, "error": c.Error, "skipped": c.Skipped} {
			if x != nil {
				kind += name
				if x.Message == "" {
					t.Errorf("%s says nothing", verdict)
				}
			}
		}
		want := map[string]string{"passed": "", "failed": "failure", "error": "error", "inconclusive": "failure", "not-exercised": "failure",
			"not-applicable": "skipped", "unsupported": "skipped"}[verdict]
		if kind != want {
			t.Errorf("%s is written as %q", verdict, kind)
		}
		if c.Failure != nil && (c.Failure.Type != verdict || !strings.Contains(c.Failure.Text, "repeat     conform run --row")) {
			t.Errorf("%s: %+v", verdict, c.Failure)
		}
	}
}

func TestFailureText(t *testing.T) {
	r := result(t, "GATE-001", ledger.Must, judge.Failed)
	for i := range MaxStderr + 5 {
		r.Stderr = append(r.Stderr, fmt.Sprintf("line %d", i))
	}
	r.Outcome.More = 3
	var b strings.Builder
	if err := Failure(&b, &r, NewRedactor("applied-secret")); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"FAILED  GATE-001  Title of GATE-001\n",
		"gate.feature:12), sse over sse, process lane\n",
		"authority  D-01, P-GATE-01\n",
		"expected   upsert 8 ends as resnapshot-required\n",
		"seen       upsert 8 ends as applied\n",
		"where      record 2 of traces/gate-12-a-change-is-lost-gone-gate-001.sse.process.ndjson\n",
		"    #1 0.000s stage setup\n",
		"more       3 further findings\n",
		"stderr     line 5\n",
		"line 24\n",
		"repeat     conform run --row GATE-001 --seed 7\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("a terminal sequence came through")
	}
	if strings.Contains(text, "line 4\n") {
		t.Error("more stderr than its limit")
	}
}

func TestSummaryByProfile(t *testing.T) {
	rn := mixed(t)
	self := result(t, "GATE-008", ledger.Must, judge.Passed)
	self.SelfCheck, self.Line = true, 99
	rn.Results = append(rn.Results, self)
	rn.Claimed = []Claim{{"GATE-009", ledger.Must, "sse"}}
	rn.Partial = true
	var b strings.Builder
	if err := Summary(&b, rn, nil); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"profile            passed     failed      error   inconcl. not-exerc.        n/a    unsupp.\n" +
			"resume                  1          1          1          1          1          1          1\n",
		"self-check         passed     failed      error   inconcl. not-exerc.        n/a    unsupp.\n" +
			"resume                  1          -          -          -          -          -          -\n",
		"failed        GATE-002 on sse: expected x; seen y [conform run --row GATE-002 --seed 7]\n",
		"not-exercised GATE-009 on sse: claimed, and no scenario was run for it\n",
		"2 of 9 rows passed (8 results), subject sse, lanes virtual, process, seed 7, 2.5s\n",
		"1 rows are unproven: no deliberate defect is known to break them (GATE-001)\n",
		"interrupted: this report is partial\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestTraceNamesAreSafe(t *testing.T) {
	for scenario, want := range map[string]string{
		"Ünïcode / ../../etc":    "traces/gate-1-n-code-etc.sse.process.ndjson",
		"":                       "traces/gate-1-x.sse.process.ndjson",
		strings.Repeat("ab", 99): "traces/gate-1-" + strings.Repeat("ab", 40) + ".sse.process.ndjson",
	} {
		r := Result{File: "gate.feature", Line: 1, Scenario: scenario, Subject: "sse", Lane: trace.Process}
		if got := traceName(&r); got != want {
			t.Errorf("%q: %s", scenario, got)
		}
	}
}

func TestRunIsChecked(t *testing.T) {
	for _, rn := range []Run{{Results: make([]Result, MaxResults+1)}, {Results: []Result{{Scenario: "x"}}}} {
		if _, err := Envelope(rn, nil); err == nil {
			t.Error("taken")
		}
		if Summary(&strings.Builder{}, rn, nil) == nil || Write(t.TempDir(), rn, nil) == nil {
			t.Error("taken")
		}
	}
}

// TestMarkdown: the page has the tables and a bounded number of failures.
func TestMarkdown(t *testing.T) {
	rn := mixed(t)
	for range MaxShownFailures {
		r := result(t, "GATE-002", ledger.Must, judge.Failed)
		r.Line = 1000 + len(rn.Results)
		rn.Results = append(rn.Results, r)
	}
	doc, err := Markdown(rn, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| resume | 1 | 1 | 1 | 1 | 1 | 1 | 1 |", "| GATE-002 | MUST | sse | failed | 51 |", "exit code 3", "and 4 more in envelope.json"} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if d := cmp.Diff(strings.Count(string(doc), "~~~text"), MaxShownFailures); d != "" {
		t.Error(d)
	}
}

// TestMostSecrets: a redactor knows MaxSecrets secrets, the last of them too; one more is not taken.
func TestMostSecrets(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("secret-number-%08d", i) }
	var all []string
	for i := range MaxSecrets + 1 {
		all = append(all, name(i))
	}
	red := NewRedactor(all...)
	if got := red.Text(name(MaxSecrets - 1)); got != Redacted {
		t.Errorf("%q", got)
	}
	if red.known != MaxSecrets || MaxSecrets != 10000 {
		t.Errorf("%d secrets are known of %d", red.known, MaxSecrets)
	}
}
