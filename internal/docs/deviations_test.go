// Package docs checks the project's documents against its sources.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const top = "../.."

// decision is one line of testdata/decisions.txt.
type decision struct {
	differs bool
	part    string // a path that may not exist yet
}

func decisions(t *testing.T) map[string]decision {
	t.Helper()
	text, err := os.ReadFile("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]decision{}
	last := ""
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) < 2 || !id.MatchString(f[0]) || f[1] != "differs" && f[1] != "same" || f[0] <= last {
			t.Fatalf("decisions.txt: %q is malformed or out of order", line)
		}
		last = f[0]
		out[f[0]] = decision{f[1] == "differs", strings.Join(f[2:], " ")}
	}
	if len(out) < 60 {
		t.Fatalf("decisions.txt: %d decisions", len(out))
	}
	return out
}

var (
	id    = regexp.MustCompile(`^D-[0-9]{2}$`)
	cited = regexp.MustCompile(`\bD-[0-9]{2,}\b`)
)

// deviation is one row of the table in docs/deviations.md.
type deviation struct {
	id     string
	later  bool
	fields []string
}

// parse reads the table, and says what is wrong with it.
func parse(text string) (rows []deviation, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| id ") || strings.HasPrefix(line, "| ---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 4 || slices.Contains(cells, "") {
			return nil, fmt.Errorf("not four filled cells: %s", line)
		}
		name, later := strings.CutSuffix(cells[0], " †")
		if !id.MatchString(name) {
			return nil, fmt.Errorf("%q is no decision id", cells[0])
		}
		if n := len(rows); n > 0 && rows[n-1].id >= name {
			return nil, fmt.Errorf("%s stands behind %s", name, rows[n-1].id)
		}
		rows = append(rows, deviation{name, later, cells[1:]})
	}
	return rows, nil
}

// TestDeviations: the table has exactly one line per decision that differs from the reference, in order, and the dagger
// stands where the part that it is about does not exist.
func TestDeviations(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "docs/deviations.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	known, listed := decisions(t), map[string]bool{}
	for _, r := range rows {
		listed[r.id] = true
		d, ok := known[r.id]
		if !ok || !d.differs {
			t.Errorf("%s is listed and is no decision that differs", r.id)
		}
		later := false
		if d.part != "" {
			_, err := os.Stat(filepath.Join(top, filepath.FromSlash(d.part)))
			later = err != nil
		}
		if r.later != later {
			t.Errorf("%s: dagger %v, but %q is missing: %v", r.id, r.later, d.part, later)
		}
	}
	for name, d := range known {
		if d.differs && !listed[name] {
			t.Errorf("%s differs from the reference and has no line", name)
		}
	}
}

// TestParseRefuses: the table's own rules can fail.
func TestParseRefuses(t *testing.T) {
	const good = "| D-01 | a | b | c |\n| D-02 † | a | b | c |\n"
	if rows, err := parse(good); err != nil || len(rows) != 2 || !rows[1].later {
		t.Errorf("%+v, %v", rows, err)
	}
	for _, bad := range []string{
		good + "| D-02 | a | b | c |", good + "| D-01 | a | b | c |", good + "| D-3 | a | b | c |", good + "| D-03 | a | b |",
		good + "| D-03 | a |  | c |", good + "| D-03 | a | b | c | d |", good + "| X-03 | a | b | c |",
	} {
		if _, err := parse(bad); err == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
}

// TestCitations: every decision that a source, a row, a scenario or a document cites exists, and whoever points to the
// list of deviations names a decision that is in it.
func TestCitations(t *testing.T) {
	known := decisions(t)
	files := 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != top && (strings.HasPrefix(name, ".") || name == "bin" || name == "out") {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".md", ".yaml", ".yml", ".feature", ".proto", ".txt"}, filepath.Ext(name)) || name == "deviations_test.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, c := range cited.FindAllString(string(text), -1) {
			if _, ok := known[c]; !ok {
				t.Errorf("%s cites %s, which is no decision", path, c)
			}
		}
		if strings.Contains(filepath.ToSlash(path), "ledger/rows/") {
			checkRows(t, path, string(text), known)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 30 {
		t.Fatalf("read %d files: the walk is broken", files)
	}
}

// checkRows: a ledger row that points to the list cites at least one decision that differs.
func checkRows(t *testing.T, path, text string, known map[string]decision) {
	for _, row := range strings.Split(text, "\n  - id: ")[1:] {
		if !strings.Contains(row, "docs/deviations.md") {
			continue
		}
		if !slices.ContainsFunc(cited.FindAllString(row, -1), func(c string) bool { return known[c].differs }) {
			t.Errorf("%s: row %.12s points to docs/deviations.md and cites no decision that differs", path, row)
		}
	}
}
