// Package report renders the outcomes of a run. There is one envelope; the terminal, JUnit, the summary and the bundle are
// views of the same results, so that none can be kinder than another.
package report

import (
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/judge"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/trace"
)

// MaxResults bounds a run: every scenario of the suite on every wire and lane is a few hundred results.
const MaxResults = 20000

// Run is everything that a report tells.
type Run struct {
	Version  string // of conform
	Started  time.Time
	Duration time.Duration
	Command  string // repeats the whole run
	Seed     uint64
	Subjects []Subject
	Lanes    []trace.Lane
	Strict   bool // SHOULD rows count for the exit code
	Partial  bool // interrupted: what is missing was not run
	// Claimed are the rows that the run was to give an outcome for, by subject; one without a result is not-exercised.
	Claimed  []Claim
	Results  []Result
	Unproven []string // row ids that no known defect breaks, of the rows in this run
	Stale    []string // entries of a baseline that do not hold any more, a line each: they fail the run
}

// Subject is a transport under test.
type Subject struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Wire    string `json:"wire"`
}

// Claim is a row that a subject claims.
type Claim struct {
	Row     string
	Level   ledger.Level
	Subject string // name
}

// Result is the outcome of one row in one scenario, on one subject and lane.
type Result struct {
	Row      *ledger.Row
	Scenario string
	File     string // feature file
	Line     int
	Subject  string // name of the transport under test
	Wire     string
	Lane     trace.Lane
	// SelfCheck says that nothing of the subject's own process or bytes took part: the suite proves itself. Such results
	// are summed up apart and certify nothing.
	SelfCheck bool
	Outcome   judge.Outcome
	Seed      uint64
	Duration  time.Duration
	Repeat    string // command that repeats just this case
	// Records are the scenario's trace. Results of one scenario, subject and lane share one.
	Records []trace.Record
	// Known is the entry of a baseline that knows of this failure; nil for none. The failure stays one, and does not fail the run.
	Known *Deviation
	// Stderr are the last lines of a crashed plugin, if there are any.
	Stderr []string
}

// Where is the place of the scenario as people write it.
func (r *Result) Where() string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// check finds what makes a run unfit for a report: a mistake of the caller.
func (r *Run) check() error {
	if len(r.Results) > MaxResults {
		return fmt.Errorf("report: %d results, limit %d", len(r.Results), MaxResults)
	}
	for i := range r.Results {
		if r.Results[i].Row == nil {
			return fmt.Errorf("report: result %d (%s) has no row", i, r.Results[i].Scenario)
		}
	}
	return nil
}
