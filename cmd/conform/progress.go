package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/report"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/features"
	"github.com/conform-dev/conform/internal/certify"
)

// progress tells how far a run is: one line that is written over on a terminal, a line per scenario elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	done     int
	bad      int
	width    int // of the line that stands there
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return &progress{w: w}
	}
	info, err := f.Stat()
	return &progress{w: w, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"}
}

// scenario is told of a scenario that begins (no results) or is over.
func (p *progress) scenario(s certify.Subject, lane trace.Lane, sc features.Scenario, results []report.Result) {
	if results == nil {
		if p.terminal {
			p.over(fmt.Sprintf("%d done, %d not passed · %s %s · %s", p.done, p.bad, s.Name, lane, sc.Name))
		}
		return
	}
	p.done++
	for i := range results {
		res := &results[i]
		if !report.Good(res.Outcome.Verdict) {
			p.bad++
		}
		if !p.terminal || !report.Good(res.Outcome.Verdict) {
			p.over("")
			fmt.Fprintf(p.w, "%-13s %-9s %-8s %-8s %s (%v)\n", res.Outcome.Verdict, res.Row.ID, res.Subject, res.Lane, res.Scenario, res.Duration.Round(time.Millisecond))
		}
	}
}

// over writes over the line that stands there.
func (p *progress) over(line string) {
	if !p.terminal {
		return
	}
	const most = 100 // fits the terminals people have; a longer line would wrap and could not be written over
	if r := []rune(line); len(r) > most {
		line = string(r[:most-1]) + "…"
	}
	n := len([]rune(line))
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-n)))
	if n == 0 {
		fmt.Fprint(p.w, "\r")
	}
	p.width = n
}

// end removes the line.
func (p *progress) end() { p.over("") }
