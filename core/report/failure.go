package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/conform-dev/conform/core/judge"
)

// MaxStderr bounds the lines of a crashed plugin that are shown.
const MaxStderr = 20

// Good says whether a verdict speaks against nobody. Good is not passed: not-applicable and unsupported prove nothing.
func Good(v judge.Verdict) bool {
	return v == judge.Passed || v == judge.NotApplicable || v == judge.Unsupported
}

// bad says whether a verdict has to be looked at.
func bad(v judge.Verdict) bool { return !Good(v) }

// Failure writes what somebody needs who has to find out why a result is not passed: the row and its authority, what was
// expected and what was seen, the trace around it, and the command that repeats just this case. red may be nil.
func Failure(w io.Writer, r *Result, red *Redactor) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", strings.ToUpper(string(r.Outcome.Verdict)), r.Row.ID, r.Row.Title)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", name, oneLine(text))
		}
	}
	line("scenario", fmt.Sprintf("%s (%s), %s over %s, %s lane", r.Scenario, r.Where(), r.Subject, r.Wire, r.Lane))
	line("level", string(r.Row.Level))
	line("authority", authorities(r.Row))
	line("rule", r.Row.Behaviour)
	if len(r.Outcome.Findings) > 0 {
		f := r.Outcome.Findings[0]
		line("found by", string(f.Check))
		if fp := r.Fingerprint(); fp != "" {
			line("known as", fp)
		}
		if r.Known != nil {
			line("baseline", r.Known.String())
		}
		line("expected", f.Expected)
		line("seen", f.Seen)
		if f.Record > 0 {
			line("where", fmt.Sprintf("record %d of %s", f.Record, traceName(r)))
		}
	} else {
		line("why", r.Outcome.Why)
	}
	if len(r.Outcome.Excerpt) > 0 {
		b.WriteString("  trace\n")
		for _, l := range r.Outcome.Excerpt {
			fmt.Fprintf(&b, "    %s\n", oneLine(l))
		}
	}
	if more := len(r.Outcome.Findings) - 1 + r.Outcome.More; more > 0 {
		line("more", fmt.Sprintf("%d further findings", more))
	}
	for i, l := range tail(r.Stderr, MaxStderr) {
		line([]string{"stderr", ""}[min(i, 1)], l)
	}
	line("repeat", r.Repeat)
	_, err := io.WriteString(w, red.Text(b.String()))
	return err
}

// oneLine keeps a text that came from elsewhere from drawing on a terminal.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x20 || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return ' '
		}
		return c
	}, text)
}

func tail(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }
