package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/conform-dev/conform/core/ledger"
)

// TestMutantsFit: every mutant still fits the code, changes it, and is claimed by the row that must catch it; and no row
// claims a mutant that is not here.
func TestMutantsFit(t *testing.T) {
	mutants, err := Mutants()
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Load()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..")
	names := map[string]bool{}
	for _, m := range mutants {
		if names[m.Name] || m.Name == "" || m.Rule == "" || m.Text == m.Replacement {
			t.Errorf("mutant %q: needs a name of its own, a rule and a change", m.Name)
		}
		names[m.Name] = true
		dir := t.TempDir()
		if _, err := m.Apply(root, dir); err != nil {
			t.Error(err)
			continue
		}
		if broken, _ := os.ReadFile(filepath.Join(dir, m.Name+".go")); len(broken) == 0 {
			t.Errorf("mutant %s leaves an empty file", m.Name)
		}
		if m.InGate() != m.ByModel() {
			t.Errorf("mutant %s: the model finds what is broken in core/gate, and nothing else; say model: false there", m.Name)
		}
		row := l.Find(m.Row)
		if row == nil {
			t.Errorf("mutant %s names row %s, which does not exist", m.Name, m.Row)
		} else if !slices.Contains(row.Mutants, m.Name) {
			t.Errorf("row %s does not list its mutant %s", m.Row, m.Name)
		}
	}
	for i := range l.Rows {
		for _, name := range l.Rows[i].Mutants {
			if !names[name] {
				t.Errorf("row %s lists mutant %s, which does not exist", l.Rows[i].ID, name)
			}
		}
	}
}
