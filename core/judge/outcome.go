// Package judge turns a trace into outcomes. It is one pure function of the trace and the ledger (law 3): it sees neither the
// subject nor the clock, and whoever holds a report can run it again and get the same answer.
//
// What speaks against a row is looked for in this order of weight; the first that applies is the outcome:
//
//  1. error: the trace is not whole, the harness said that it broke, or the scenario expected nothing that can be judged
//  2. failed, if a planted secret is found anywhere
//  3. not-applicable, if the row lists the condition; unsupported, if a required capability is not declared and its refusal
//     was seen (without the refusal: failed)
//  4. failed: an expectation that does not hold, a wait that ran out, a gate that differs from the model, witnesses that
//     contradict each other
//  5. inconclusive: the same, where only lateness speaks against the row and the runner measured that its own timer was
//     later than the row's margin
//  6. not-exercised: nothing speaks against the row, but its path never happened
//  7. passed
package judge

import (
	"slices"

	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/trace"
)

// Verdict is the outcome of a row (D-60). Only Passed counts as passed.
type Verdict string

// The verdicts.
const (
	Passed        Verdict = "passed"
	Failed        Verdict = "failed"
	Error         Verdict = "error"
	Inconclusive  Verdict = "inconclusive"
	NotExercised  Verdict = "not-exercised"
	NotApplicable Verdict = "not-applicable"
	Unsupported   Verdict = "unsupported"
)

// Verdicts is every verdict, in the order of summaries.
var Verdicts = []Verdict{Passed, Failed, Error, Inconclusive, NotExercised, NotApplicable, Unsupported}

// Limits of an outcome: it is for reading; the trace file has the rest.
const (
	// MaxFindings bounds the findings kept: after the first few, one mistake repeats itself.
	MaxFindings = 20
	// MaxExcerpt bounds the lines of an excerpt: half a terminal.
	MaxExcerpt = 12
)

// Check names what found something.
type Check string

// The checks.
const (
	Broken      Check = "broken"      // the harness
	Canary      Check = "canary"      // a planted secret was found
	Refusal     Check = "refusal"     // an undeclared capability was not refused
	Expectation Check = "expectation" // what the scenario said should be true here
	Late        Check = "late"        // a wait ran out
	Model       Check = "model"       // the gate and the reference model differ
	Witness     Check = "witness"     // what went over the wire and what the consumer reported differ
	Exercised   Check = "exercised"   // the row's path did not happen
)

// Finding is one thing that speaks against a row.
type Finding struct {
	Check    Check
	Expected string
	Seen     string
	Record   int   // where it showed, 0 if nowhere in particular
	Related  []int // other records that count
	excess   int64 // if only lateness speaks: by how many milliseconds; else 0
}

// Outcome is what a trace says about a row.
type Outcome struct {
	Row     string
	Lane    trace.Lane
	Verdict Verdict
	// Why says it in one line: for passed nothing, for not-applicable and unsupported the condition.
	Why string
	// Findings speak against the row, in the order of their records; the first is the one to look at. At most MaxFindings;
	// More counts the rest.
	Findings []Finding
	More     int
	// Excerpt are the records around the first finding, as text.
	Excerpt []string
}

// Judge says what a scenario's trace means for a row. It never panics: a trace that makes no sense is an error.
func Judge(records []trace.Record, row *ledger.Row, lane trace.Lane) Outcome {
	out := Outcome{Row: row.ID, Lane: lane}
	if f := broken(records, row); len(f) > 0 {
		return out.settle(Error, f, records)
	}
	if f := leaks(records); len(f) > 0 {
		return out.settle(Failed, f, records)
	}
	setup := setupArgs(records)
	if why, ok := notApplicable(row, setup); ok {
		out.Verdict, out.Why = NotApplicable, why
		return out
	}
	if missing := undeclared(row, setup); missing != "" {
		if refusedCapability(records, missing) {
			out.Verdict, out.Why = Unsupported, "the transport does not declare "+missing+", and refused it"
			return out
		}
		return out.settle(Failed, []Finding{{Check: Refusal, Expected: missing + " is refused before the subscription opens: the transport does not declare it", Seen: "no refusal"}}, records)
	}
	found := expectations(records)
	unexercised := slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return f.Check != Exercised })
	found = slices.DeleteFunc(found, func(f Finding) bool { return f.Check == Exercised })
	found = append(found, waits(records)...)
	found = append(found, replay(records)...)
	found = append(found, witnesses(records)...)
	if len(found) > 0 {
		if excused(found, records, row, lane) {
			return out.settle(Inconclusive, found, records)
		}
		return out.settle(Failed, found, records)
	}
	unexercised = append(unexercised, exercised(records, row)...)
	if len(unexercised) > 0 {
		return out.settle(NotExercised, unexercised, records)
	}
	out.Verdict = Passed
	return out
}

// settle fills in the outcome from what was found.
func (o Outcome) settle(v Verdict, found []Finding, records []trace.Record) Outcome {
	slices.SortStableFunc(found, func(a, b Finding) int { return a.Record - b.Record })
	mask := masker(records)
	for i := range found {
		found[i].Expected, found[i].Seen = mask.Replace(found[i].Expected), mask.Replace(found[i].Seen)
	}
	o.Verdict = v
	o.Why = "expected " + found[0].Expected + "; seen " + found[0].Seen
	if len(found) > MaxFindings {
		o.More = len(found) - MaxFindings
		found = found[:MaxFindings]
	}
	o.Findings = found
	o.Excerpt = excerpt(records, found[0])
	return o
}

// excused says whether nothing but lateness speaks against the row, and the runner measured that it was itself late by more
// than the row's margin and by at least as much as was missed. What was expected behind an excused wait follows from it. An
// exact lane has no such excuse.
func excused(found []Finding, records []trace.Record, row *ledger.Row, lane trace.Lane) bool {
	if lane.Exact() {
		return false
	}
	var slow int64
	for i := range records {
		if records[i].Kind == trace.StageSlow {
			slow = max(slow, records[i].Ms)
		}
	}
	if slow <= row.MarginMs {
		return false
	}
	late := 0 // first excused wait
	for _, f := range found {
		if f.Check == Late && (late == 0 || f.Record < late) {
			late = f.Record
		}
	}
	for _, f := range found {
		follows := f.Check == Expectation && late > 0 && f.Record > late
		if !follows && (f.excess == 0 || f.excess > slow) {
			return false
		}
	}
	return true
}
