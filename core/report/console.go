package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/judge"
)

// columns are the verdicts of a summary table with short names.
var columns = []struct {
	verdict judge.Verdict
	name    string
}{
	{judge.Passed, "passed"}, {judge.Failed, "failed"}, {judge.Error, "error"}, {judge.Inconclusive, "inconcl."},
	{judge.NotExercised, "not-exerc."}, {judge.NotApplicable, "n/a"}, {judge.Unsupported, "unsupp."},
}

// Summary writes a run for a terminal: rows by profile, what is not passed with its command, and what the run does not
// prove. red may be nil.
func Summary(w io.Writer, run Run, red *Redactor) error {
	if err := run.check(); err != nil {
		return err
	}
	var b strings.Builder
	for _, part := range []struct {
		title string
		self  bool
	}{{"profile", false}, {"self-check", true}} {
		names, sums := run.profiles(part.self)
		if len(names) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%-14s", part.title)
		for _, c := range columns {
			fmt.Fprintf(&b, "%11s", c.name)
		}
		b.WriteByte('\n')
		for _, name := range names {
			fmt.Fprintf(&b, "%-14s", name)
			for _, c := range columns {
				fmt.Fprintf(&b, "%11s", count(sums[name][c.verdict]))
			}
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
	for _, o := range run.Rows() {
		if bad(o.Verdict) {
			fmt.Fprintf(&b, "%-14s%s on %s: %s%s\n", o.Verdict, o.Row, o.Subject, oneLine(run.known(o)), oneLine(run.why(o)))
		}
	}
	for _, s := range run.Stale {
		fmt.Fprintf(&b, "%-14s%s\n", "stale", oneLine(s))
	}
	b.WriteString(run.closing())
	_, err := io.WriteString(w, red.Text(b.String()))
	return err
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// known is who deals with a row's failures; empty if no baseline knows them.
func (r *Run) known(o RowOutcome) string {
	for i := range r.Results {
		if res := &r.Results[i]; o.Known && res.Row.ID == o.Row && res.Subject == o.Subject && res.Known != nil {
			return "(" + res.Known.String() + ") "
		}
	}
	return ""
}

// why is the reason and the command of the first result that has a row's verdict.
func (r *Run) why(o RowOutcome) string {
	for i := range r.Results {
		res := &r.Results[i]
		if res.Row.ID == o.Row && res.Subject == o.Subject && res.Outcome.Verdict == o.Verdict {
			text := res.Outcome.Why
			if res.Repeat != "" {
				text += " [" + res.Repeat + "]"
			}
			return text
		}
	}
	return "claimed, and no scenario was run for it"
}

// closing is the last lines of a summary.
func (r *Run) closing() string {
	var b strings.Builder
	rows := r.Rows()
	passed, known := 0, 0
	for _, o := range rows {
		switch {
		case o.Verdict == judge.Passed:
			passed++
		case o.Known:
			known++
		}
	}
	var names []string
	for _, s := range r.Subjects {
		names = append(names, s.Name)
	}
	var lanes []string
	for _, l := range r.Lanes {
		lanes = append(lanes, string(l))
	}
	fmt.Fprintf(&b, "%d of %d rows passed (%d results), %s, %s, seed %d, %s\n", passed, len(rows), len(r.Results), list(names, "subject"), list(lanes, "lane"), r.Seed, r.Duration.Round(time.Millisecond))
	if known > 0 {
		fmt.Fprintf(&b, "%d rows failed as the baseline knows; they are failures all the same\n", known)
	}
	if len(r.Unproven) > 0 {
		unproven := slices.Clone(r.Unproven)
		slices.Sort(unproven)
		fmt.Fprintf(&b, "%d rows are unproven: no deliberate defect is known to break them (%s)\n", len(unproven), shorten(unproven, 6))
	}
	if r.Partial {
		b.WriteString("interrupted: this report is partial\n")
	}
	return b.String()
}

func list(names []string, what string) string {
	if len(names) == 0 {
		return "no " + what
	}
	if len(names) > 1 {
		what += "s"
	}
	return what + " " + strings.Join(names, ", ")
}

func shorten(ids []string, n int) string {
	if len(ids) <= n {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:n], ", "), len(ids)-n)
}
