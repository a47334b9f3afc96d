package report

import (
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/judge"
	"github.com/conform-dev/conform/core/ledger"
)

// RowOutcome is the outcome of a row on a subject: the heaviest of its results.
type RowOutcome struct {
	Row     string
	Level   ledger.Level
	Subject string
	Verdict judge.Verdict
	Results int
	Known   bool // it failed, and each of its failures is known by a baseline
	// Rest is what is left of the row without the failures that a baseline knows, so that a known failure does not hide that another
	// scenario of the row was inconclusive or not exercised. Passed if nothing is left.
	Rest judge.Verdict
}

// weight orders verdicts for summing up: what speaks against a row outweighs what speaks for it, and one that was passed
// somewhere outweighs one that did not apply elsewhere.
var weight = map[judge.Verdict]int{
	judge.NotApplicable: 1, judge.Unsupported: 2, judge.Passed: 3, judge.NotExercised: 4, judge.Inconclusive: 5, judge.Failed: 6,
	judge.Error: 7,
}

// Rows sums up a run by row and subject, in the order of the results; claimed rows without any result come last, as
// not-exercised (D-61).
func (r *Run) Rows() []RowOutcome {
	var out []RowOutcome
	at, unknown := map[[2]string]int{}, map[int]bool{}
	for i := range r.Results {
		res := &r.Results[i]
		key := [2]string{res.Row.ID, res.Subject}
		k, ok := at[key]
		if !ok {
			k = len(out)
			at[key] = k
			out = append(out, RowOutcome{Row: res.Row.ID, Level: res.Row.Level, Subject: res.Subject, Verdict: res.Outcome.Verdict})
		}
		if out[k].Results++; res.Outcome.Verdict == judge.Failed {
			unknown[k] = unknown[k] || res.Known == nil
		}
		if res.Known == nil && weight[res.Outcome.Verdict] > weight[out[k].Rest] {
			out[k].Rest = res.Outcome.Verdict
		}
		if weight[res.Outcome.Verdict] > weight[out[k].Verdict] {
			out[k].Verdict = res.Outcome.Verdict
		}
	}
	for k := range out {
		out[k].Known = out[k].Verdict == judge.Failed && !unknown[k]
		if out[k].Rest == "" {
			out[k].Rest = judge.Passed
		}
	}
	for _, c := range r.Claimed {
		if _, ok := at[[2]string{c.Row, c.Subject}]; !ok {
			at[[2]string{c.Row, c.Subject}] = len(out)
			out = append(out, RowOutcome{Row: c.Row, Level: c.Level, Subject: c.Subject, Verdict: judge.NotExercised, Rest: judge.NotExercised})
		}
	}
	return out
}

// tally counts results by verdict.
type tally map[judge.Verdict]int

// profiles are the profiles of a run, sorted, each with the rows' outcomes (not the results': a row that needs ten scenarios
// is one row).
func (r *Run) profiles(selfCheck bool) ([]string, map[string]tally) {
	part := *r
	part.Results = nil
	part.Claimed = nil
	of := map[string][]string{}
	for _, res := range r.Results {
		if res.SelfCheck == selfCheck {
			part.Results = append(part.Results, res)
			of[res.Row.ID] = res.Row.Profiles
		}
	}
	sums := map[string]tally{}
	for _, o := range part.Rows() {
		for _, p := range of[o.Row] {
			if sums[p] == nil {
				sums[p] = tally{}
			}
			sums[p][o.Verdict]++
		}
	}
	var names []string
	for name := range sums {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, sums
}

// authorities is a row's authority in one line.
func authorities(row *ledger.Row) string {
	var all []string
	for _, a := range row.Authority {
		all = append(all, a.String())
	}
	return strings.Join(all, ", ")
}
