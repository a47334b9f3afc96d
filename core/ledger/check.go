package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Scenario is what the ledger knows about a scenario: where it stands and what it is tagged with. Name is unique.
type Scenario struct {
	Name string
	File string
	Line int
	Tags []string // with @, those of the feature included
}

// Problem is one thing that does not fit. Where is a file and line, or a row.
type Problem struct {
	Where string
	Text  string
}

// String is the problem in one line.
func (p Problem) String() string { return p.Where + ": " + p.Text }

// Tags lists every tag that a scenario may carry: the rows, lanes, wires, profiles and levels, sorted.
func (l *Ledger) Tags() []string {
	var out []string
	for i := range l.Rows {
		r := &l.Rows[i]
		out = append(out, r.Tag(), "@"+string(r.Level))
		for _, list := range [][]string{r.Lanes, r.Wires, r.Profiles} {
			for _, w := range list {
				out = append(out, "@"+w)
			}
		}
		for _, w := range r.Wires {
			out = append(out, "@only-"+w) // takes a scenario off the other wires of its feature
		}
	}
	for _, lane := range Lanes {
		out = append(out, "@"+lane)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// RowsOf are the rows that a scenario names, in ledger order.
func (l *Ledger) RowsOf(s Scenario) []*Row {
	var out []*Row
	for i := range l.Rows {
		if slices.Contains(s.Tags, l.Rows[i].Tag()) {
			out = append(out, &l.Rows[i])
		}
	}
	return out
}

// LanesOf are the lanes that a scenario's tags name, all if they name none.
func LanesOf(s Scenario) []string {
	var out []string
	for _, lane := range Lanes {
		if slices.Contains(s.Tags, "@"+lane) {
			out = append(out, lane)
		}
	}
	if out == nil {
		return Lanes
	}
	return out
}

// Unproven are the ids of the rows that no known defect breaks, in ledger order. They are listed, never hidden (law 5).
func (l *Ledger) Unproven() []string {
	var out []string
	for i := range l.Rows {
		if l.Rows[i].Unproven() {
			out = append(out, l.Rows[i].ID)
		}
	}
	return out
}

// Check finds everything that keeps rows, scenarios and sentences from fitting together: a row without a scenario in one
// of its lanes, a scenario without a row, an unknown tag, two scenarios of one name, a sentence that is unknown, has
// another digest, or, being normative, neither a row nor an exclusion nor the name of later work. Sorted by place.
func (l *Ledger) Check(scenarios []Scenario) []Problem {
	var out []Problem
	out = append(out, l.checkScenarios(scenarios)...)
	for i := range l.Rows {
		out = append(out, l.Rows[i].checkEvidence(scenarios)...)
	}
	out = append(out, l.checkSentences()...)
	if len(l.Labels) > 0 { // Load refuses a ledger without them
		out = append(out, l.checkLabels()...)
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return cmp.Compare(a.Where, b.Where) })
	return out
}

func (l *Ledger) checkScenarios(scenarios []Scenario) []Problem {
	var out []Problem
	known := l.Tags()
	names := map[string]string{}
	for _, s := range scenarios {
		where := fmt.Sprintf("%s:%d", s.File, s.Line)
		if other, ok := names[s.Name]; ok {
			out = append(out, Problem{where, fmt.Sprintf("scenario %q has the name of %s", s.Name, other)})
		}
		names[s.Name] = where
		if len(l.RowsOf(s)) == 0 {
			out = append(out, Problem{where, fmt.Sprintf("scenario %q names no row", s.Name)})
		}
		for _, t := range s.Tags {
			if !slices.Contains(known, t) {
				out = append(out, Problem{where, "unknown tag " + t})
			}
		}
	}
	return out
}

func (r *Row) checkEvidence(scenarios []Scenario) []Problem {
	if r.Exclusion != "" {
		return nil
	}
	var mine []Scenario
	for _, s := range scenarios {
		if slices.Contains(s.Tags, r.Tag()) {
			mine = append(mine, s)
		}
	}
	where := fmt.Sprintf("%s:%d", r.File, r.Line)
	if len(mine) == 0 {
		return []Problem{{where, fmt.Sprintf("row %s has neither a scenario nor an exclusion", r.ID)}}
	}
	var out []Problem
	for _, e := range r.Evidence {
		if !strings.HasPrefix(e, "@") && !slices.ContainsFunc(mine, func(s Scenario) bool { return s.Name == e }) {
			out = append(out, Problem{where, fmt.Sprintf("row %s counts on scenario %q, which does not carry %s", r.ID, e, r.Tag())})
		}
	}
	for _, lane := range r.Lanes {
		if !slices.ContainsFunc(mine, func(s Scenario) bool { return slices.Contains(LanesOf(s), lane) }) {
			out = append(out, Problem{where, fmt.Sprintf("row %s has no scenario in lane %s", r.ID, lane)})
		}
	}
	return out
}

func (l *Ledger) checkSentences() []Problem {
	var out []Problem
	done := map[string]bool{}
	byID := map[string]Sentence{}
	for _, s := range l.Sentences {
		byID[s.ID] = s
	}
	for i := range l.Rows {
		r := &l.Rows[i]
		where := fmt.Sprintf("%s:%d", r.File, r.Line)
		for _, a := range r.Authority {
			s, ok := byID[a.Sentence]
			switch {
			case a.Sentence == "":
			case !ok:
				out = append(out, Problem{where, fmt.Sprintf("row %s cites %s, which does not exist", r.ID, a.Sentence)})
			case s.Digest != a.Digest:
				out = append(out, Problem{where, fmt.Sprintf("row %s needs a review: the text of %s has changed", r.ID, a.Sentence)})
			}
			done[a.Sentence] = true
		}
	}
	for _, e := range l.Exclusions {
		for _, id := range e.Sentences {
			switch s, ok := byID[id]; {
			case !ok:
				out = append(out, Problem{"exclusions", id + " does not exist"})
			case !s.Normative:
				out = append(out, Problem{"exclusions", id + " is not normative and needs no exclusion"})
			case done[id]:
				out = append(out, Problem{"exclusions", id + " has a row, or another exclusion"})
			}
			done[id] = true
		}
	}
	for _, s := range l.Sentences {
		if s.Normative && !done[s.ID] {
			out = append(out, Problem{s.ID, "normative sentence without a row, an exclusion or the name of later work"})
		}
	}
	return out
}
