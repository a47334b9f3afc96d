package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/judge"
	"github.com/conform-dev/conform/core/ledger"
)

// failing is a run of one row on one subject that ends with the verdict, having seen what stands there.
func failing(verdict judge.Verdict, seen ...string) Run {
	run := Run{Subjects: []Subject{{Name: "s"}}, Claimed: []Claim{{Row: "SSE-105", Level: ledger.Must, Subject: "s"}}}
	row := &ledger.Row{ID: "SSE-105", Level: ledger.Must}
	for i, text := range seen {
		run.Results = append(run.Results, Result{Row: row, Subject: "s", Scenario: fmt.Sprint("scenario ", i), File: "x.feature",
			Outcome: judge.Outcome{Verdict: verdict, Findings: []judge.Finding{{Check: judge.Expectation, Expected: "a", Seen: text}}}})
	}
	return run
}

// entry is a baseline with one deviation.
func entry(t *testing.T, fingerprint, expires string) *Baseline {
	t.Helper()
	b, err := ParseBaseline("known.yaml", fmt.Appendf(nil, "deviations:\n  - {row: SSE-105, subject: s, fingerprint: %s, issue: https://issues/7, owner: me, expires: %q}\n", fingerprint, expires))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var today = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// TestKnow: a known failure fails no run; on a pass, another failure, an expired day, too far a day and a row that is not there the entry is
// stale, and that fails the run.
func TestKnow(t *testing.T) {
	one := failing(judge.Failed, "gap")
	fp := one.Results[0].Fingerprint()
	second := failing(judge.Failed, "gap", "gap")
	for _, tc := range []struct {
		name, fingerprint, expires string
		run                        Run
		partly                     bool
		stale                      string
		code                       int
	}{
		{"known", fp, "2026-12-31", one, false, "", ExitPassed},
		{"known to the end of its day", fp, "2026-12-01", failing(judge.Failed, "gap"), false, "", ExitPassed},
		{"one of two", fp, "2026-12-31", second, false, "", ExitFailed},
		{"expired", fp, "2026-11-30", failing(judge.Failed, "gap"), false, "known.yaml:2: SSE-105 on s was to be dealt with by 2026-11-30 (me, https://issues/7)", ExitFailed},
		{"for ever", fp, "2028-01-01", failing(judge.Failed, "gap"), false, "more than a year ahead", ExitFailed},
		{"passes", fp, "2026-12-31", failing(judge.Passed, "gap"), false, "does not fail like that any more", ExitFailed},
		{"fails in another way", fp, "2026-12-31", failing(judge.Failed, "loss"), false, "fails in another way: fingerprint ", ExitFailed},
		{"broke", fp, "2026-12-31", failing(judge.Error, "gap"), false, "does not fail like that any more", ExitHarness},
		{"not there", fp, "2026-12-31", Run{Results: []Result{{Row: &ledger.Row{ID: "SSE-101", Level: ledger.Must}, Subject: "s", Outcome: judge.Outcome{Verdict: judge.Passed}}}}, false, "was not run", ExitFailed},
		{"left out", fp, "2026-12-31", Run{Results: []Result{{Row: &ledger.Row{ID: "SSE-101", Level: ledger.Must}, Subject: "s", Outcome: judge.Outcome{Verdict: judge.Passed}}}}, true, "", ExitPassed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := tc.run
			entry(t, tc.fingerprint, tc.expires).Know(&run, today, !tc.partly)
			said := strings.Join(run.Stale, "\n")
			if tc.stale == "" && said != "" || !strings.Contains(said, tc.stale) {
				t.Errorf("stale: %q, want %q", said, tc.stale)
			}
			if code := ExitCode(run, false); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
		})
	}
}

// TestKnownHidesNothing: what else happened to a row that fails as known counts as it would without the failure, and each view names the
// issue and the day beside the failure, which stays one.
func TestKnownHidesNothing(t *testing.T) {
	for rest, want := range map[judge.Verdict]int{judge.Passed: ExitPassed, judge.NotApplicable: ExitPassed, judge.Inconclusive: ExitInconclusive,
		judge.NotExercised: ExitFailed, judge.Error: ExitHarness} {
		run := failing(judge.Failed, "gap", "rest")
		run.Results[1].Outcome = judge.Outcome{Verdict: rest, Why: "because"}
		entry(t, run.Results[0].Fingerprint(), "2026-12-31").Know(&run, today, true)
		if code := ExitCode(run, false); code != want || run.Results[0].Known == nil {
			t.Errorf("known, and %s beside it: exit code %d, want %d", rest, code, want)
		}
	}
	run := failing(judge.Failed, "gap")
	entry(t, run.Results[0].Fingerprint(), "2026-12-31").Know(&run, today, true)
	for name, view := range map[string]func(Run, *Redactor) ([]byte, error){"JUnit": JUnit, "Markdown": Markdown} {
		text, err := view(run, nil)
		if err != nil || !strings.Contains(string(text), "(known: https://issues/7, me, until 2026-12-31)") || !strings.Contains(string(text), "known as") {
			t.Errorf("%s: %v, does not name the issue in\n%s", name, err, text)
		}
		if name == "JUnit" && !strings.Contains(string(text), `failures="1"`) {
			t.Errorf("JUnit: a known failure is none:\n%s", text)
		}
	}
}

// TestFingerprint: the same failure has the same one whatever port, moment or process; another one has another.
func TestFingerprint(t *testing.T) {
	of := func(seen string) string { run := failing(judge.Failed, seen); return run.Results[0].Fingerprint() }
	if of("GET http://127.0.0.1:4000/x at 1796132148450027") != of("GET http://127.0.0.1:51234/x at 1796139999999999") {
		t.Error("a port or a moment makes another failure")
	}
	if of("721 ms") != of("698 ms") || of("closed after 1.5s") != of("closed after 12s") {
		t.Error("a duration makes another failure")
	}
	limit := failing(judge.Failed, "700 ms")
	limit.Results[0].Outcome.Findings[0].Expected = "at least 1000 ms"
	before := limit.Results[0].Fingerprint()
	if limit.Results[0].Outcome.Findings[0].Expected = "at least 5000 ms"; limit.Results[0].Fingerprint() == before {
		t.Error("another limit is the same failure")
	}
	for _, other := range []string{"status 200", "status 410", "changes 2 to 3"} {
		if of(other) == of("status 404") {
			t.Errorf("%q is taken for status 404", other)
		}
	}
	run := failing(judge.Passed, "x")
	if fp := run.Results[0].Fingerprint(); fp != "" {
		t.Errorf("a pass has the fingerprint %s", fp)
	}
}

// TestBaselineFaults: what is missing or wrong is said with its line; the starter is refused until somebody fills it in.
func TestBaselineFaults(t *testing.T) {
	good := "{row: SSE-105, subject: s, fingerprint: 0123456789abcdef, issue: i, owner: o, expires: \"2026-12-31\"}"
	for text, want := range map[string]string{
		"deviations:\n  - " + strings.Replace(good, "row: SSE-105", "row: sse", 1): `x:2: row "sse" is not written like SSE-105`,
		"deviations:\n  - " + strings.Replace(good, "subject: s, ", "", 1):         "x:2: subject is missing",
		"deviations:\n  - " + strings.Replace(good, "0123456789abcdef", "abc", 1):  "x:2: fingerprint is missing",
		"deviations:\n  - " + strings.Replace(good, "issue: i", "issue: ''", 1):    "x:2: issue is missing",
		"deviations:\n  - " + strings.Replace(good, "owner: o", "owner: ' '", 1):   "x:2: owner is missing",
		"deviations:\n  - " + strings.Replace(good, "2026-12-31", "soon", 1):       "x:2: expires is no day",
		"deviations:\n  - " + good + "\n  - " + good:                               "x:3: the same failure stands there twice",
		"deviation: []":                       "field deviation not found",
		"a: [":                                "x: ",
		"deviations: []\n---\ndeviations: []": "more than one document",
		strings.Repeat("#", MaxBaseline+1):    "longer than 262144 bytes",
		"deviations: [" + strings.Repeat(good+",", MaxDeviations) + good + "]": "more than 500 deviations",
	} {
		if _, err := ParseBaseline("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
	if _, err := ParseBaseline("x", nil); err != nil {
		t.Errorf("an empty one: %v", err)
	}
	run := failing(judge.Failed, "gap\nand more")
	text := NewBaseline(&run)
	if _, err := ParseBaseline("x", []byte(text)); err == nil || !strings.Contains(err.Error(), "issue is missing") {
		t.Errorf("the starter: %v in\n%s", err, text)
	}
	filled := strings.NewReplacer(`issue: ""`, "issue: i", `owner: ""`, "owner: o", `expires: ""`, `expires: "2026-12-31"`).Replace(text)
	b, err := ParseBaseline("x", []byte(filled))
	if err != nil {
		t.Fatalf("%v in\n%s", err, filled)
	}
	if b.Know(&run, today, true); run.Results[0].Known == nil || len(run.Stale) > 0 {
		t.Errorf("filled in it knows nothing: %v", run.Stale)
	}
}
