package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Label is what became of test labels of a reference implementation: the rows that hold them, or why none does. Exactly one of Rows
// and Reason is set.
type Label struct {
	Labels []string `yaml:"labels"`
	Rows   []string `yaml:"rows"`
	Reason string   `yaml:"reason"`
}

// suites are the suites of the fleet-wake lane's reference implementation and how many labels each has.
var suites = []struct {
	letter string
	most   int
}{{"C", 7}, {"F", 15}, {"W", 12}, {"A", 33}, {"P", 19}, {"D", 7}, {"R", 13}}

// labels lists all of them.
func labels() []string {
	var out []string
	for _, s := range suites {
		for n := range s.most {
			out = append(out, fmt.Sprintf("%s%d", s.letter, n+1))
		}
	}
	return out
}

func (l Label) validate() error {
	switch {
	case len(l.Labels) == 0:
		return errors.New("needs labels")
	case (len(l.Rows) == 0) == (l.Reason == ""):
		return errors.New("needs either rows or a reason")
	}
	return nil
}

// ParseLabels reads labels.yaml. An error names the file and the entry.
func ParseLabels(name string, data []byte) ([]Label, error) {
	var doc struct {
		Labels []Label `yaml:"labels"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, l := range doc.Labels {
		if err := l.validate(); err != nil {
			return nil, fmt.Errorf("%s: entry %d: %w", name, i+1, err)
		}
	}
	return doc.Labels, nil
}

// checkLabels finds labels that nobody speaks of, that are spoken of twice or are unknown, and rows that are not there.
func (l *Ledger) checkLabels() []Problem {
	var out []Problem
	all, done := labels(), map[string]bool{}
	for _, e := range l.Labels {
		for _, name := range e.Labels {
			switch {
			case !slices.Contains(all, name):
				out = append(out, Problem{"labels", name + " does not exist"})
			case done[name]:
				out = append(out, Problem{"labels", name + " stands there twice"})
			}
			done[name] = true
		}
		for _, id := range e.Rows {
			if l.Find(id) == nil {
				out = append(out, Problem{"labels", fmt.Sprintf("%v: row %s does not exist", e.Labels, id)})
			}
		}
	}
	for _, name := range all {
		if !done[name] {
			out = append(out, Problem{"labels", name + " has neither a row nor a reason"})
		}
	}
	return out
}
