// Package ledger holds what conform proves, as data: one row per statement of the contract, with its authority, the
// scenarios that give evidence and the trace condition that shows the statement was put to the test. Rows live in
// rows/*.yaml; their ids are never reused.
package ledger

import "slices"

// Row is one statement of the contract. The comments below are the schema of rows/*.yaml: every member is required
// unless it says optional, and any other member is refused with its line.
type Row struct {
	// ID is the surface's prefix and a number, for example GATE-012. Scenarios name it by the tag @GATE-012.
	ID string `yaml:"id"`
	// Title is the statement in one line, as a user would put it. At most MaxTitle bytes.
	Title string `yaml:"title"`
	// Surface is the part of the contract: gate, transport, session, sse, plugin.
	Surface string `yaml:"surface"`
	// Authority is why the row exists, strongest first; at least one entry.
	Authority []Authority `yaml:"authority"`
	// Behaviour is what must be seen, Fallback what holds at the edge or instead.
	Behaviour string `yaml:"behaviour"`
	Fallback  string `yaml:"fallback"`
	// Level is MUST, SHOULD or MAY.
	Level Level `yaml:"level"`
	// Actor is who can break the row: gate, store, transport, server, plugin, report.
	Actor string `yaml:"actor"`
	// Profiles are the groups by which results are summed up; at least one.
	Profiles []string `yaml:"profiles"`
	// Docs are pages that tell users about it, relative to the repository.
	Docs []string `yaml:"docs"`
	// Lanes are where a scenario gives evidence for the row: virtual, process, container.
	Lanes []string `yaml:"lanes"`
	// Wires are the wires that claim the row.
	Wires []string `yaml:"wires"`
	// Requires, optional, are capabilities that the transport must have declared. One it did not declare makes the row
	// unsupported, provided its refusal was seen (D-62).
	Requires []string `yaml:"requires"`
	// Evidence are scenario names, or the row's own tag for every scenario that carries it. Empty only with Exclusion.
	Evidence []string `yaml:"evidence"`
	// Exclusion, optional, says why no scenario can give evidence.
	Exclusion string `yaml:"exclusion"`
	// Mutants are the deliberate defects that the row is known to catch. Empty lists the row as unproven (law 5).
	Mutants []string `yaml:"mutants"`
	// Exercised must all be found in a trace, in any order, or the path never happened and the outcome is not-exercised.
	// At least one.
	Exercised []Condition `yaml:"exercised"`
	// OrExercised, optional, are other ways to put the row to the test, for scenarios that show its other side; each is a list
	// of conditions that must all be found.
	OrExercised [][]Condition `yaml:"orExercised"`
	// MarginMs, optional, is how late the runner's own timer may be before a wait that ran out says nothing; DefaultMargin.
	MarginMs int64 `yaml:"marginMs"`
	// NotApplicable, optional, are the only conditions under which the row may be left out (D-60).
	NotApplicable []Absence `yaml:"notApplicable"`

	// File and Line are where the row begins.
	File string `yaml:"-"`
	Line int    `yaml:"-"`
}

// Level is how binding a row is. Only MUST decides the exit code, unless a run is strict (D-63).
type Level string

// The levels.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Authority is one source of a row; exactly one of Sentence, Standard, Decision, Case and Rule is set.
type Authority struct {
	Sentence string `yaml:"sentence"` // number of a sentence of the contract's text, S4-017
	Digest   string `yaml:"digest"`   // of that sentence, 16 hex digits; required with Sentence, refused otherwise
	Standard string `yaml:"standard"` // name and clause of a public standard
	Decision string `yaml:"decision"` // D-06
	Case     string `yaml:"case"`     // a defect seen in the field, P-GATE-01
	Rule     string `yaml:"rule"`     // a rule that conform sets itself where nobody else does; weaker than all others
}

// String names the source in reports.
func (a Authority) String() string {
	switch {
	case a.Sentence != "":
		return a.Sentence
	case a.Standard != "":
		return a.Standard
	case a.Decision != "":
		return a.Decision
	case a.Case != "":
		return a.Case
	}
	return "rule: " + a.Rule
}

// Condition is met by a trace that has at least Min records with the given actor and kind and, where set, one of the
// given values in each member.
type Condition struct {
	Actor  string  `yaml:"actor"`
	Kind   string  `yaml:"kind"`
	Status Strings `yaml:"status"`
	Reason Strings `yaml:"reason"`
	Detail Strings `yaml:"detail"`
	Type   Strings `yaml:"type"`
	Phase  Strings `yaml:"phase"`
	Seq    string  `yaml:"seq"` // some: the record has a sequence; none: it has not; empty: either
	Min    int     `yaml:"min"` // 1 if left out
}

// Absence is a condition under which a row does not apply: the set-up record of the trace has argument Arg with value Is.
type Absence struct {
	Arg string `yaml:"arg"`
	Is  string `yaml:"is"`
	Why string `yaml:"why"`
}

// Strings is one text, or a list of which any may hold.
type Strings []string

// Tag is the tag by which scenarios name the row.
func (r *Row) Tag() string { return "@" + r.ID }

// In says whether the row takes evidence from a lane.
func (r *Row) In(lane string) bool { return slices.Contains(r.Lanes, lane) }

// On says whether a wire claims the row.
func (r *Row) On(wire string) bool { return slices.Contains(r.Wires, wire) }

// Unproven says that no deliberate defect is known to break the row.
func (r *Row) Unproven() bool { return len(r.Mutants) == 0 }
