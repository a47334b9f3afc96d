package report

import (
	"fmt"
	"strings"
	"time"
)

// Markdown is summary.md: the same tables for a page, and every result that is not passed with its command. red may be
// nil.
func Markdown(run Run, red *Redactor) ([]byte, error) {
	if err := run.check(); err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# conform %s\n\n", cell(run.Version))
	if run.Partial {
		b.WriteString("**Interrupted: this report is partial.**\n\n")
	}
	fmt.Fprintf(&b, "Started %s, took %s, exit code %d. Repeat with `%s`.\n\n", run.Started.UTC().Format(time.RFC3339), run.Duration.Round(time.Millisecond),
		ExitCode(run, run.Strict), code(run.Command))
	for _, part := range []struct {
		title string
		self  bool
	}{{"Profiles", false}, {"Self-check (the suite proves itself; certifies nothing)", true}} {
		names, sums := run.profiles(part.self)
		if len(names) == 0 {
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n| profile |", part.title)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", c.verdict)
		}
		b.WriteString("\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
		for _, name := range names {
			fmt.Fprintf(&b, "| %s |", cell(name))
			for _, c := range columns {
				fmt.Fprintf(&b, " %s |", count(sums[name][c.verdict]))
			}
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	b.WriteString("## Rows\n\n| row | level | subject | outcome | results |\n|---|---|---|---|---:|\n")
	for _, o := range run.Rows() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d |\n", o.Row, o.Level, cell(o.Subject), cell(strings.TrimSpace(string(o.Verdict)+" "+run.known(o))), o.Results)
	}
	for _, s := range run.Stale {
		fmt.Fprintf(&b, "\nstale: %s\n", cell(s))
	}
	if err := run.markdownFailures(&b); err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "\n%s", cell2(run.closing()))
	return []byte(red.Text(b.String())), nil
}

// MaxShownFailures bounds the failures written out: a page is for reading, the envelope has all.
const MaxShownFailures = 50

func (r *Run) markdownFailures(b *strings.Builder) error {
	n := 0
	for i := range r.Results {
		if !bad(r.Results[i].Outcome.Verdict) {
			continue
		}
		n++
		switch {
		case n == 1:
			b.WriteString("\n## Not passed\n")
		case n > MaxShownFailures:
			continue
		}
		var text strings.Builder
		if err := Failure(&text, &r.Results[i], nil); err != nil {
			return err
		}
		fmt.Fprintf(b, "\n~~~text\n%s~~~\n", strings.ReplaceAll(text.String(), "~~~", "~ ~ ~"))
	}
	if n > MaxShownFailures {
		fmt.Fprintf(b, "\nand %d more in envelope.json\n", n-MaxShownFailures)
	}
	return nil
}

// cell keeps a text from ending a table cell or starting markup.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'", "\n", " ").Replace(oneLine(text))
}

// cell2 is cell for several lines.
func cell2(text string) string {
	return strings.NewReplacer("<", "&lt;", "`", "'").Replace(text)
}

func code(text string) string { return strings.ReplaceAll(oneLine(text), "`", "'") }
