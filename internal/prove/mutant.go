// Command prove breaks the product on purpose, once per rule, and checks that each break is found by a named row of
// `conform run`, and one in the gate by the comparison with the reference model as well. A check that cannot fail is a
// defect; this is the check of the checks. The mutants are data: see mutants.yaml.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed mutants.yaml
var data []byte

// Mutant is one deliberate defect.
type Mutant struct {
	Name        string `yaml:"name"`
	Rule        string `yaml:"rule"` // what it breaks, with the clause
	File        string `yaml:"file"` // relative to the module
	Text        string `yaml:"text"` // occurs exactly once in File
	Replacement string `yaml:"replacement"`
	Row         string `yaml:"row"` // must fail
	// Model, true if left out, says that the comparison with the reference model must find it too. A mutant in the gate has
	// no choice: the model knows all of the gate, and nothing else.
	Model *bool `yaml:"model"`
}

// InGate says whether m breaks the gate itself.
func (m *Mutant) InGate() bool { return strings.HasPrefix(m.File, "core/gate/") }

// ByModel says whether the comparison with the model must find m.
func (m *Mutant) ByModel() bool { return m.Model == nil || *m.Model }

// Mutants reads the list. An error is a defect of the list.
func Mutants() ([]Mutant, error) {
	var doc struct {
		Mutants []Mutant `yaml:"mutants"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("mutants.yaml: %w", err)
	}
	if len(doc.Mutants) == 0 {
		return nil, errors.New("mutants.yaml is empty")
	}
	return doc.Mutants, nil
}

// Apply writes the broken file and the overlay that puts it in place of the real one into dir, and returns the overlay's
// path. root is the module. An error says that the mutant does not fit the code any more.
func (m Mutant) Apply(root, dir string) (overlay string, err error) {
	path := filepath.Join(root, filepath.FromSlash(m.File))
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.Text); n != 1 {
		return "", fmt.Errorf("mutant %s: its text occurs %d times in %s, want once", m.Name, n, m.File)
	}
	broken := filepath.Join(dir, m.Name+".go")
	if err := os.WriteFile(broken, []byte(strings.Replace(string(source), m.Text, m.Replacement, 1)), 0o600); err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, m.Name+".json")
	return overlay, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace":{%q:%q}}`, path, broken), 0o600)
}
