package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/conform-dev/conform/core/judge"
)

// Limits of a baseline.
const (
	// MaxBaseline is how long the file may be, in bytes.
	MaxBaseline = 256 << 10
	// MaxDeviations bounds its entries: whoever knows of more deviations has another problem.
	MaxDeviations = 500
	// MaxAhead is how far ahead an entry may expire: what nobody looks at for longer is forgotten.
	MaxAhead = 366 * 24 * time.Hour
)

// Deviation is one failure that somebody knows of: a row on a subject that fails in one way, until a day.
type Deviation struct {
	Row         string `yaml:"row"`
	Subject     string `yaml:"subject"`
	Fingerprint string `yaml:"fingerprint"` // of the failure, as `conform run` prints it
	Issue       string `yaml:"issue"`       // where it is being dealt with: a link
	Owner       string `yaml:"owner"`       // who deals with it
	Expires     string `yaml:"expires"`     // the last day on which it counts, 2026-12-31
	Why         string `yaml:"why"`         // optional, for people

	Line  int `yaml:"-"`
	until time.Time
}

// Baseline is a file of known deviations.
type Baseline struct {
	File       string
	Deviations []Deviation
}

var (
	fingerprintForm = regexp.MustCompile(`^[0-9a-f]{16}$`)
	rowForm         = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,9}-[0-9]{3}$`)
)

// ParseBaseline reads a baseline. An error names file, line and what is wrong: an unknown key, an entry without an issue, an owner or a
// day, two entries for one failure.
func ParseBaseline(name string, data []byte) (*Baseline, error) {
	if len(data) > MaxBaseline {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, MaxBaseline)
	}
	var doc struct {
		Deviations []Deviation `yaml:"deviations"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s", name, strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document", name)
	}
	if len(doc.Deviations) > MaxDeviations {
		return nil, fmt.Errorf("%s: more than %d deviations", name, MaxDeviations)
	}
	b := &Baseline{File: name, Deviations: doc.Deviations}
	lines := entryLines(data)
	seen := map[string]bool{}
	for i := range b.Deviations {
		d := &b.Deviations[i]
		if i < len(lines) {
			d.Line = lines[i]
		}
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, d.Line, err)
		}
		key := d.Row + " " + d.Subject + " " + d.Fingerprint
		if seen[key] {
			return nil, fmt.Errorf("%s:%d: the same failure stands there twice", name, d.Line)
		}
		seen[key] = true
	}
	return b, nil
}

// entryLines are the lines on which the entries begin.
func entryLines(data []byte) (out []int) {
	var tree yaml.Node
	if yaml.Unmarshal(data, &tree) != nil || len(tree.Content) == 0 || len(tree.Content[0].Content) < 2 {
		return nil
	}
	for _, n := range tree.Content[0].Content[1].Content {
		out = append(out, n.Line)
	}
	return out
}

func (d *Deviation) check() (err error) {
	switch {
	case !rowForm.MatchString(d.Row):
		return fmt.Errorf("row %q is not written like SSE-105", d.Row)
	case d.Subject == "":
		return errors.New("subject is missing")
	case !fingerprintForm.MatchString(d.Fingerprint):
		return errors.New("fingerprint is missing: conform run prints it with the failure, 16 hex digits")
	case strings.TrimSpace(d.Issue) == "":
		return errors.New("issue is missing: a deviation that nobody works on is no known one")
	case strings.TrimSpace(d.Owner) == "":
		return errors.New("owner is missing: who deals with it")
	}
	if d.until, err = time.Parse(time.DateOnly, d.Expires); err != nil {
		return errors.New("expires is no day like 2026-12-31")
	}
	return nil
}

// port is the port of a loopback address, long a number that names a moment or a process, and took a duration: none is part of how
// something fails. A limit in what was expected stays.
var (
	port = regexp.MustCompile(`(127\.0\.0\.1|\[::1\]|localhost):[0-9]+`)
	long = regexp.MustCompile(`[0-9]{6,}`)
	took = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)? ?(ns|µs|ms|s)\b`)
)

// Fingerprint tells one failure of a row in a scenario from another: what was expected and what was seen, without what differs from run to
// run. Empty for an outcome that is not failed.
func (r *Result) Fingerprint() string {
	if r.Outcome.Verdict != judge.Failed || len(r.Outcome.Findings) == 0 {
		return ""
	}
	f := r.Outcome.Findings[0]
	text := strings.Join([]string{r.Row.ID, r.File, r.Scenario, string(f.Check), f.Expected, took.ReplaceAllString(f.Seen, "n $2")}, "\n")
	text = long.ReplaceAllString(port.ReplaceAllString(text, "$1:port"), "n")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// String is how a report names the entry beside the failure it knows of.
func (d *Deviation) String() string {
	return fmt.Sprintf("known: %s, %s, until %s", d.Issue, d.Owner, d.Expires)
}

// Know marks the failures of run that b knows, and finds the entries of b that are stale on today: they fail the run. whole says that
// nothing was left out of the run; else an entry about what was not run is left alone.
func (b *Baseline) Know(run *Run, today time.Time, whole bool) {
	for i := range b.Deviations {
		d := &b.Deviations[i]
		stale := func(format string, args ...any) {
			run.Stale = append(run.Stale, fmt.Sprintf("%s:%d: %s on %s ", b.File, d.Line, d.Row, d.Subject)+fmt.Sprintf(format, args...))
		}
		matched, ran, other := false, false, ""
		for k := range run.Results {
			res := &run.Results[k]
			if res.Row.ID != d.Row || res.Subject != d.Subject {
				continue
			}
			ran = true
			switch fp := res.Fingerprint(); {
			case fp == d.Fingerprint:
				res.Known, matched = d, true
			case fp != "" && !b.has(d.Row, d.Subject, fp):
				other = fp
			}
		}
		switch {
		case matched && today.After(d.until.Add(24*time.Hour)):
			stale("was to be dealt with by %s (%s, %s)", d.Expires, d.Owner, d.Issue)
			b.forget(run, d)
		case d.until.After(today.Add(MaxAhead)):
			stale("expires on %s, more than a year ahead", d.Expires)
			b.forget(run, d)
		case matched:
		case ran && other != "":
			stale("fails in another way: fingerprint %s", other)
		case ran:
			stale("does not fail like that any more: remove the entry")
		case whole:
			stale("was not run: there is no such row on that subject")
		}
	}
}

func (b *Baseline) has(row, subject, fingerprint string) bool {
	for _, d := range b.Deviations {
		if d.Row == row && d.Subject == subject && d.Fingerprint == fingerprint {
			return true
		}
	}
	return false
}

// forget takes back what a stale entry excused.
func (b *Baseline) forget(run *Run, d *Deviation) {
	for k := range run.Results {
		if run.Results[k].Known == d {
			run.Results[k].Known = nil
		}
	}
}

// NewBaseline is the text of a baseline for the failures of run, with an issue, an owner and a day to be filled in by somebody: as it is it
// is refused.
func NewBaseline(run *Run) string {
	var b strings.Builder
	b.WriteString("# Known deviations. Each needs an issue, an owner and a last day; conform run --baseline refuses one without.\ndeviations:\n")
	for i := range run.Results {
		res := &run.Results[i]
		if fp := res.Fingerprint(); fp != "" {
			fmt.Fprintf(&b, "  # %s\n  - row: %s\n    subject: %s\n    fingerprint: %s\n    issue: \"\"\n    owner: \"\"\n    expires: \"\"\n",
				oneLine(res.Outcome.Why), res.Row.ID, res.Subject, fp)
		}
	}
	return b.String()
}
