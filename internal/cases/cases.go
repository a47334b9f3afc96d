// Package cases holds which row or test covers each defect seen in the field, for the families that the built wires touch,
// and what the words of those cases mean here. The map is data: see map.yaml. Its test fails on a case that nothing names,
// and on a name that leads nowhere.
package cases

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
)

//go:embed map.yaml
var data []byte

// Families are the families that must be covered without a hole, and how many cases each has.
var Families = map[string]int{"SSE": 17, "CON": 15, "GATE": 18, "CK": 8, "WS": 13, "OD": 19, "FW": 15}

// Map is all of map.yaml.
type Map struct {
	Labels []Label `yaml:"labels"`
	Cases  []Case  `yaml:"cases"`
}

// Label is a word of the field cases, and what it is called in traces and reports. A label may have several meanings, of
// which one holds for each input; which one is the product's documented answer.
type Label struct {
	Name  string `yaml:"label"`
	Means []Word `yaml:"means"`
}

// Word is one word of the product.
type Word struct {
	Status string `yaml:"status"` // of a delivery: applied, duplicate, resnapshot-required, error
	Reason string `yaml:"reason"` // of a delivery, a phase or a signal
	Ending string `yaml:"ending"` // of a session
	Detail string `yaml:"detail"` // first word of a detail
	Shows  string `yaml:"shows"`  // an observation
	Error  string `yaml:"error"`  // first word of an error of the simulator
	Found  string `yaml:"found"`  // what a load answers: nothing, record, discarded
	Screen string `yaml:"screen"` // what the screen says of a text
	Never  string `yaml:"never"`  // it is not offered to the gate at all, and why
}

// Case is one defect seen in the field, in our own words.
type Case struct {
	ID     string   `yaml:"id"`
	Title  string   `yaml:"title"`
	Labels []string `yaml:"labels"`
	Rows   []string `yaml:"rows"`  // ledger rows that cite the case
	Tests  []string `yaml:"tests"` // `package.TestName`; the package is a folder of the module
}

var idForm = regexp.MustCompile(`^P-([A-Z]+)-([0-9]{2})$`)

// Load reads the map. An error is a defect of it.
func Load() (*Map, error) {
	m := &Map{}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("map.yaml: %w", err)
	}
	return m, nil
}

// Missing lists the ids of the families that m does not have, in order.
func (m *Map) Missing() []string {
	have := map[string]bool{}
	for _, c := range m.Cases {
		have[c.ID] = true
	}
	var out []string
	for _, family := range []string{"SSE", "CON", "GATE", "CK", "WS", "OD"} {
		for n := 1; n <= Families[family]; n++ {
			if id := fmt.Sprintf("P-%s-%02d", family, n); !have[id] {
				out = append(out, id)
			}
		}
	}
	return out
}

// Faults lists what is wrong with m by itself: an unknown id, a case or label twice, a case that nothing names, a label
// that has no meaning or that no case has.
func (m *Map) Faults() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	labels, used, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, l := range m.Labels {
		if l.Name == "" || labels[l.Name] || len(l.Means) == 0 {
			say("label %q: no name, twice, or without a meaning", l.Name)
		}
		labels[l.Name] = true
		for _, w := range l.Means {
			if w == (Word{}) {
				say("label %q: an empty meaning", l.Name)
			}
		}
	}
	for _, c := range m.Cases {
		at := idForm.FindStringSubmatch(c.ID)
		switch {
		case at == nil || Families[at[1]] == 0 || at[2] == "00" || at[2] > fmt.Sprintf("%02d", Families[at[1]]):
			say("%s: no case of the families", c.ID)
		case seen[c.ID]:
			say("%s: twice", c.ID)
		case c.Title == "":
			say("%s: no title", c.ID)
		case len(c.Rows)+len(c.Tests) == 0:
			say("%s: neither a row nor a test names it", c.ID)
		}
		seen[c.ID] = true
		for _, l := range c.Labels {
			if !labels[l] {
				say("%s: label %q has no meaning", c.ID, l)
			}
			used[l] = true
		}
	}
	for _, l := range m.Labels {
		if !used[l.Name] {
			say("label %q: no case has it", l.Name)
		}
	}
	for _, id := range m.Missing() {
		say("%s: nothing names it", id)
	}
	return out
}
