package cases

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport/web"
	"github.com/conform-dev/conform/simulator"
)

// TestEveryCaseIsCovered: each case of the families is named by a row that cites it or by a test that speaks of it, and
// every name leads somewhere.
func TestEveryCaseIsCovered(t *testing.T) {
	m, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(m.Faults(), leads(m, l, filepath.Join("..", ".."))...) {
		t.Error(f)
	}
}

// leads lists the names of m that lead nowhere: no such row or test, or one that does not speak of the case.
func leads(m *Map, l *ledger.Ledger, root string) []string {
	var out []string
	packages := map[string]*source{}
	for _, c := range m.Cases {
		for _, id := range c.Rows {
			row := l.Find(id)
			switch {
			case row == nil:
				out = append(out, fmt.Sprintf("%s: row %s does not exist", c.ID, id))
			case !slices.ContainsFunc(row.Authority, func(a ledger.Authority) bool { return a.Case == c.ID }):
				out = append(out, fmt.Sprintf("%s: row %s does not cite it", c.ID, id))
			}
		}
		for _, name := range c.Tests {
			dir, test, _ := strings.Cut(name, ".")
			if packages[dir] == nil {
				packages[dir] = read(root, dir)
			}
			if why := packages[dir].lacks(test, c.ID); why != "" {
				out = append(out, fmt.Sprintf("%s: %s: %s", c.ID, name, why))
			}
		}
	}
	return out
}

// source is what the test files of one package say.
type source struct {
	dir   string
	tests map[string]string // text of each test function, comment included
	data  []string          // files below testdata that the package names
}

func read(root, dir string) *source {
	s := &source{dir: dir, tests: map[string]string{}}
	files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			from := f.Pos()
			if f.Doc != nil {
				from = f.Doc.Pos()
			}
			s.tests[f.Name.Name] = string(text[set.Position(from).Offset:set.Position(f.End()).Offset])
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if path, err := strconv.Unquote(lit.Value); err == nil && strings.HasPrefix(path, "testdata/") {
					s.data = append(s.data, filepath.Join(root, filepath.FromSlash(dir), filepath.FromSlash(path)))
				}
			}
			return true
		})
	}
	return s
}

// lacks says why a test does not cover a case: it does not exist, or neither its own text nor the data of its package
// speaks of the case.
func (s *source) lacks(test, id string) string {
	text, ok := s.tests[test]
	if !ok {
		return "no such test in " + s.dir
	}
	if strings.Contains(text, id) {
		return ""
	}
	for _, path := range s.data {
		if strings.Contains(text, "testdata/") && !strings.Contains(text, filepath.Base(path)) {
			continue // the test names another file
		}
		found := false
		_ = filepath.WalkDir(path, func(p string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				data, _ := os.ReadFile(p)
				found = found || strings.Contains(string(data), id)
			}
			return nil
		})
		if found {
			return ""
		}
	}
	return "it does not speak of the case"
}

// TestLabelsSpeakOurWords: what a label means is a word that the product really says.
func TestLabelsSpeakOurWords(t *testing.T) {
	m, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	statuses := []string{gate.Applied.String(), gate.Duplicate.String(), gate.Resnapshot.String(), gate.Errored.String()}
	endings := map[string]bool{}
	for c := session.NotEnded + 1; c <= session.PluginCrashed; c++ {
		endings[c.String()] = true
	}
	details := append([]string{"head-behind-position", session.MessageTooLarge, "cross-origin-redirect", "connection-reset", web.AbnormalEnd.Error(), checkpoint.DetailExpired, checkpoint.DetailTime, checkpoint.DetailFormat}, drive.Holes...)
	founds := []string{checkpoint.Nothing.String(), checkpoint.Stored.String(), checkpoint.Discarded.String()}
	verdicts := []string{checkpoint.Accepted.String(), checkpoint.CredentialShaped.String(), checkpoint.URLShaped.String()}
	for _, l := range m.Labels {
		for _, w := range l.Means {
			if w.Found != "" && !slices.Contains(founds, w.Found) {
				t.Errorf("%s: no answer %q of a load", l.Name, w.Found)
			}
			if w.Screen != "" && !slices.Contains(verdicts, w.Screen) {
				t.Errorf("%s: no verdict %q of the screen", l.Name, w.Screen)
			}
			if _, ok := event.ParseReason(w.Reason); w.Reason != "" && !ok {
				t.Errorf("%s: no reason %q", l.Name, w.Reason)
			}
			if w.Status != "" && !slices.Contains(statuses, w.Status) {
				t.Errorf("%s: no status %q of a delivery", l.Name, w.Status)
			}
			if w.Ending != "" && !endings[w.Ending] {
				t.Errorf("%s: no ending %q", l.Name, w.Ending)
			}
			if w.Detail != "" && !slices.Contains(details, w.Detail) {
				t.Errorf("%s: no detail %q", l.Name, w.Detail)
			}
			if w.Shows != "" && w.Shows != session.Unconfirmed.String() {
				t.Errorf("%s: no observation %q", l.Name, w.Shows)
			}
			if w.Error != "" && !strings.HasPrefix(simulator.ErrInvalidField.Error(), w.Error) {
				t.Errorf("%s: no error %q", l.Name, w.Error)
			}
		}
	}
}

// TestAHoleIsFound: the check of the map says each thing that can be wrong with it.
func TestAHoleIsFound(t *testing.T) {
	l, err := ledger.Load()
	if err != nil {
		t.Fatal(err)
	}
	whole := func() *Map {
		m, err := Load()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		name  string
		spoil func(*Map)
		want  string
	}{
		{"a case is left out", func(m *Map) { m.Cases = slices.Delete(m.Cases, 3, 4) }, "nothing names it"},
		{"a case names nothing", func(m *Map) { m.Cases[0].Rows, m.Cases[0].Tests = nil, nil }, "neither a row nor a test"},
		{"a case twice", func(m *Map) { m.Cases = append(m.Cases, m.Cases[0]) }, "twice"},
		{"no such case", func(m *Map) { m.Cases[0].ID = "P-SSE-18" }, "no case of the families"},
		{"no such row", func(m *Map) { m.Cases[0].Rows = []string{"SSE-999"} }, "does not exist"},
		{"a row that does not cite it", func(m *Map) { m.Cases[0].Rows = []string{"PLUG-001"} }, "does not cite it"},
		{"no such test", func(m *Map) { m.Cases[0].Tests = []string{"core/gate.TestOfNothing"} }, "no such test"},
		{"no such package", func(m *Map) { m.Cases[0].Tests = []string{"core/moon.TestTable"} }, "no such test"},
		{"a test of something else", func(m *Map) { m.Cases[0].Tests = []string{"core/gate.TestSettings"} }, "does not speak of the case"},
		{"a label without a meaning", func(m *Map) { m.Cases[0].Labels = []string{"odd"} }, "has no meaning"},
		{"a label that nobody has", func(m *Map) { m.Labels = append(m.Labels, Label{Name: "odd", Means: []Word{{Status: "applied"}}}) }, "no case has it"},
	} {
		m := whole()
		c.spoil(m)
		found := append(m.Faults(), leads(m, l, filepath.Join("..", ".."))...)
		if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, c.want) }) {
			t.Errorf("%s: %q, want one with %q", c.name, found, c.want)
		}
	}
}
