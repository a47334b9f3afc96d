package report

import (
	"github.com/conform-dev/conform/core/judge"
	"github.com/conform-dev/conform/core/ledger"
)

// The exit codes (D-63).
const (
	ExitPassed       = 0
	ExitFailed       = 1
	ExitUsage        = 2
	ExitHarness      = 3
	ExitInconclusive = 4
	ExitInterrupted  = 130
)

// ExitCode is what a run comes to, the first that applies: ExitInterrupted for a partial run, whatever was seen so far,
// since the rest is unknown; ExitUsage for one that selected nothing; ExitHarness if the harness broke in any scenario;
// ExitFailed if a MUST row failed in a way that no baseline knows, or was not exercised, or an entry of the baseline is
// stale; ExitInconclusive if one was inconclusive; else ExitPassed. With strict, SHOULD rows count like MUST rows; MAY rows never do. Mistakes on the command line never get here: they are
// ExitUsage at once.
func ExitCode(run Run, strict bool) int {
	if run.Partial {
		return ExitInterrupted
	}
	rows := run.Rows()
	if len(rows) == 0 {
		return ExitUsage
	}
	code := ExitPassed
	if len(run.Stale) > 0 {
		code = ExitFailed
	}
	for _, r := range rows {
		counts := r.Level == ledger.Must || strict && r.Level == ledger.Should
		switch {
		case r.Verdict == judge.Error:
			return ExitHarness
		case !counts:
		case r.Rest == judge.Failed, r.Rest == judge.NotExercised:
			code = ExitFailed
		case r.Rest == judge.Inconclusive && code == ExitPassed:
			code = ExitInconclusive
		}
	}
	return code
}
