package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func load(t *testing.T) *Ledger {
	t.Helper()
	l, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// one scenario per row, in every lane: the smallest set that fits the ledger.
func complete(l *Ledger) []Scenario {
	var out []Scenario
	for i := range l.Rows {
		out = append(out, Scenario{Name: "shows " + l.Rows[i].ID, File: "x.feature", Line: i + 1, Tags: []string{l.Rows[i].Tag()}})
	}
	return out
}

func TestShippedLedgerFits(t *testing.T) {
	l := load(t)
	if n := len(l.Rows); n < 20 {
		t.Fatalf("%d rows", n)
	}
	for _, p := range l.Check(complete(l)) {
		t.Error(p)
	}
	per := map[string]int{}
	for _, r := range l.Rows {
		per[r.ID[:strings.Index(r.ID, "-")]]++
	}
	for prefix, least := range map[string]int{"GATE": 12, "SESS": 6, "SSE": 5, "PLUG": 3} {
		if per[prefix] < least {
			t.Errorf("%d %s rows, want at least %d", per[prefix], prefix, least)
		}
	}
	if r := l.Find("GATE-001"); r == nil || r.File != "gate.yaml" || r.Line != 3 {
		t.Errorf("GATE-001 is at %+v", r)
	}
	if l.Find("GATE-999") != nil {
		t.Error("found a row that is not there")
	}
}

// TestDocsExist: a row never points at a page that is not there.
func TestDocsExist(t *testing.T) {
	for _, r := range load(t).Rows {
		for _, page := range r.Docs {
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(page))); err != nil {
				t.Errorf("%s: %v", r.ID, err)
			}
		}
	}
}

func TestAuthorityNames(t *testing.T) {
	for want, a := range map[string]Authority{"S4-001": {Sentence: "S4-001", Digest: "0"}, "RFC 1": {Standard: "RFC 1"}, "D-01": {Decision: "D-01"},
		"P-GATE-01": {Case: "P-GATE-01"}, "rule: r": {Rule: "r"}} {
		if a.String() != want {
			t.Errorf("%s, want %s", a, want)
		}
	}
}

func TestUnprovenRowsAreListed(t *testing.T) {
	l := &Ledger{Rows: []Row{{ID: "A-001"}, {ID: "A-002", Mutants: []string{"m"}}, {ID: "A-003"}}}
	if got := fmt.Sprint(l.Unproven()); got != "[A-001 A-003]" {
		t.Errorf("unproven %s", got)
	}
}

// TestCheckFinds changes one thing of a ledger that fits, and expects the problem by its text.
func TestCheckFinds(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(l *Ledger, s []Scenario) []Scenario
		want   string
	}{
		{"row without scenario", func(l *Ledger, s []Scenario) []Scenario { return s[1:] }, "gate.yaml:3: row GATE-001 has neither a scenario nor an exclusion"},
		{"scenario without row", func(l *Ledger, s []Scenario) []Scenario {
			return append(s, Scenario{Name: "lost", File: "y.feature", Line: 9, Tags: []string{"@sse"}})
		}, `y.feature:9: scenario "lost" names no row`},
		{"unknown tag", func(l *Ledger, s []Scenario) []Scenario { s[0].Tags = append(s[0].Tags, "@GATE-01"); return s }, "x.feature:1: unknown tag @GATE-01"},
		{"one name twice", func(l *Ledger, s []Scenario) []Scenario { s[1].Name = s[0].Name; return s }, "has the name of x.feature:1"},
		{"lane without scenario", func(l *Ledger, s []Scenario) []Scenario { s[0].Tags = append(s[0].Tags, "@virtual"); return s }, "row GATE-001 has no scenario in lane process"},
		{"named scenario without the tag", func(l *Ledger, s []Scenario) []Scenario {
			l.Rows[0].Evidence = []string{s[1].Name}
			return s
		}, "which does not carry @GATE-001"},
		{"sentence changed", func(l *Ledger, s []Scenario) []Scenario {
			l.Rows[0].Authority[0].Digest = "0000000000000000"
			return s
		}, "row GATE-001 needs a review: the text of S4-017 has changed"},
		{"sentence unknown", func(l *Ledger, s []Scenario) []Scenario {
			l.Rows[0].Authority[0].Sentence = "S4-999"
			return s
		}, "row GATE-001 cites S4-999, which does not exist"},
		{"sentence forgotten", func(l *Ledger, s []Scenario) []Scenario { l.Exclusions = l.Exclusions[1:]; return s }, "normative sentence without a row, an exclusion or the name of later work"},
		{"exclusion of a cited sentence", func(l *Ledger, s []Scenario) []Scenario {
			l.Exclusions = append(l.Exclusions, Exclusion{Sentences: []string{"S4-017"}, Reason: "x"})
			return s
		}, "S4-017 has a row, or another exclusion"},
		{"exclusion of a sample", func(l *Ledger, s []Scenario) []Scenario {
			l.Exclusions = append(l.Exclusions, Exclusion{Sentences: []string{"S4-005"}, Reason: "x"})
			return s
		}, "S4-005 is not normative"},
	} {
		l := load(t)
		first := slices.IndexFunc(l.Rows, func(r Row) bool { return r.ID == "GATE-001" })
		l.Rows[0], l.Rows[first] = l.Rows[first], l.Rows[0]
		problems := l.Check(tc.change(l, complete(l)))
		if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.String(), tc.want) }) {
			t.Errorf("%s: %q is not among %v", tc.name, tc.want, problems)
		}
	}
}

// TestCount: each sentence is counted once, by the strongest thing that answers for it.
func TestCount(t *testing.T) {
	l := &Ledger{
		Rows: []Row{{Authority: []Authority{{Sentence: "S4-001"}, {Sentence: "S4-002"}}}, {Authority: []Authority{{Sentence: "S4-001"}, {Decision: "D-01"}}}},
		Exclusions: []Exclusion{{Sentences: []string{"S4-003"}, Reason: "r"}, {Sentences: []string{"S4-004", "S4-005"}, Later: "servers"},
			{Sentences: []string{"S4-006"}, Later: "fleet-wake"}},
	}
	for i := range 8 {
		l.Sentences = append(l.Sentences, Sentence{ID: fmt.Sprintf("S4-%03d", i+1), Normative: i < 7})
	}
	c := l.Count()
	want := Counts{Rows: 2, Normative: 7, WithRow: 2, Excluded: 1, Later: []Topic{{"fleet-wake", 1}, {"servers", 2}}, Open: 1}
	if fmt.Sprint(c) != fmt.Sprint(want) || c.Waiting() != 3 {
		t.Errorf("%+v, %d waiting; want %+v", c, c.Waiting(), want)
	}
	shipped := load(t).Count()
	if shipped.WithRow+shipped.Excluded+shipped.Waiting() != shipped.Normative || shipped.Open != 0 {
		t.Errorf("the shipped ledger does not add up: %+v", shipped)
	}
}

func TestExcludedRowNeedsNoScenario(t *testing.T) {
	l := load(t)
	l.Rows[0].Evidence, l.Rows[0].Exclusion = nil, "needs a browser"
	if p := l.Check(complete(l)[1:]); len(p) != 0 {
		t.Error(p)
	}
}

const goodRow = `rows:
  - id: GATE-001
    title: One line
    surface: gate
    authority: [{decision: D-01}]
    behaviour: b
    fallback: f
    level: MUST
    actor: gate
    profiles: [resume]
    docs: []
    lanes: [virtual]
    wires: [sse]
    evidence: ["@GATE-001"]
    mutants: []
    exercised: [{actor: gate, kind: delivery, reason: sequence-gap}]
`

func TestParse(t *testing.T) {
	rows, _, err := Parse("a.yaml", []byte(goodRow))
	if err != nil {
		t.Fatal(err)
	}
	c := rows[0].Exercised[0]
	if c.Min != 1 || len(c.Reason) != 1 || c.Reason[0] != "sequence-gap" {
		t.Errorf("condition %+v", c)
	}
	for _, tc := range []struct{ old, new, want string }{
		{"    title: One line", "    titel: One line", "line 3: field titel not found"},
		{"    title: One line", "    title: a\n    title: b", "line 4"},
		{"title: One line", "title: ''", "a.yaml:2: row GATE-001: title is empty"},
		{"title: One line", "title: " + strings.Repeat("x", MaxTitle+1), "longer than 100 bytes"},
		{"id: GATE-001", "id: gate-1", `id "gate-1" is not written like GATE-012`},
		{"level: MUST", "level: must", `level "must" is none of`},
		{"surface: gate", "surface: gait", `surface "gait" is none of`},
		{"actor: gate\n", "actor: nobody\n", `actor "nobody" is none of`},
		{"behaviour: b", "behaviour: ''", "behaviour is missing"},
		{"fallback: f", "fallback: ''", "fallback is missing"},
		{"lanes: [virtual]", "lanes: [orbit]", `lane "orbit" is none of`},
		{"lanes: [virtual]", "lanes: [virtual, virtual]", "virtual stands there twice"},
		{"wires: [sse]", "wires: []", "wires is missing"},
		{"wires: [sse]", "wires: [S S E]", "is no word"},
		{`evidence: ["@GATE-001"]`, `evidence: ["@GATE-002"]`, "only the row's own tag"},
		{`evidence: ["@GATE-001"]`, `evidence: []`, "neither evidence nor exclusion"},
		{`evidence: ["@GATE-001"]`, "evidence: [x]\n    exclusion: y", "exclude each other"},
		{"[{decision: D-01}]", "[]", "authority is missing"},
		{"[{decision: D-01}]", "[{decision: D-1}]", `decision "D-1" is not written like`},
		{"[{decision: D-01}]", "[{decision: D-01, case: P-GATE-01}]", "exactly one of"},
		{"[{decision: D-01}]", "[{case: GATE-01}]", `case "GATE-01" is not written like`},
		{"[{decision: D-01}]", "[{sentence: S4-001}]", "needs its digest"},
		{"[{decision: D-01}]", "[{decision: D-01, digest: 0123456789abcdef}]", "a digest belongs to a sentence"},
		{"reason: sequence-gap", "reasons: sequence-gap", "field reasons not found"},
		{"reason: sequence-gap", "reason: {a: b}", "a text or a list of texts"},
		{"reason: sequence-gap", "reason: [[a]]", "a list of texts"},
		{"reason: sequence-gap", "seq: maybe", `seq "maybe"`},
		{"reason: sequence-gap", "min: -1", "min -1 is not in 1 to 1000"},
		{"reason: sequence-gap", "min: 1001", "min 1001 is not in 1 to 1000"},
		{"    exercised: [{actor: gate, kind: delivery, reason: sequence-gap}]\n", "    exercised: []\n", "exercised is missing"},
		{"    mutants: []\n", "    mutants: []\n    notApplicable: [{arg: a}]\n", "needs arg, is and why"},
		{"    mutants: []\n", "    mutants: []\n    orExercised: [[]]\n", "orExercised has an empty way"},
		{"    mutants: []\n", "    mutants: []\n    orExercised: [[{actor: A, kind: b}]]\n", "must be words of the trace"},
		{"    mutants: []\n", "    mutants: []\n    marginMs: 60001\n", "marginMs 60001 is not in 1 to 60000"},
	} {
		text := strings.Replace(goodRow, tc.old, tc.new, 1)
		if text == goodRow {
			t.Fatalf("%q is not in the row", tc.old)
		}
		if _, _, err := Parse("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want %q", tc.new, err, tc.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	twice := goodRow + strings.TrimPrefix(goodRow, "rows:\n")
	for _, tc := range []struct{ text, want string }{
		{twice, "a.yaml:17: id GATE-001 is taken in this file"},
		{goodRow + "---\nrows: []\n", "more than one document"},
		{"rows: [", "a.yaml"},
		{"rows: 3\n", "a.yaml"},
		{"", "a.yaml"},
		{"exclusions: [{sentences: [S4-1], reason: r}]\n", "a.yaml:1: exclusion: sentence"},
		{"exclusions: [{sentences: [S4-001]}]\n", "needs either a reason or the name of later work"},
		{"exclusions: [{sentences: [S4-001], reason: r, later: fleet-wake}]\n", "needs either a reason or the name of later work"},
		{"exclusions: [{sentences: [S4-001], later: some-day}]\n", `later "some-day" is none of [durable-stores`},
		{"exclusions: [{reason: r}]\n", "needs sentences"},
		{strings.Repeat("#", MaxFile+1), "limit 1048576"},
	} {
		if _, _, err := Parse("a.yaml", []byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.40q: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestSameIDInTwoFiles(t *testing.T) {
	l := load(t)
	if err := l.add("b.yaml", []byte(goodRow)); err == nil || !strings.Contains(err.Error(), "b.yaml:2: id GATE-001 is taken by gate.yaml:3") {
		t.Errorf("error %v", err)
	}
}

func TestParseSentences(t *testing.T) {
	for _, text := range []string{"S4-001\tnormative\n", "S4-001\tmaybe\t0123456789abcdef\n", "x\tother\t0123456789abcdef\n", "S4-001\tother\t0123\n",
		"S4-001\tother\t0123456789abcdef\nS4-001\tother\t0123456789abcdef\n"} {
		if _, err := ParseSentences("s", []byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
