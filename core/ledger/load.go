package ledger

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of a row file.
const (
	// MaxFile bounds a row file: the embedded ones are under 20 KiB; the reader also serves tests and, later, files of users.
	MaxFile = 1 << 20
	// MaxTitle bounds a title: it is one line of a terminal and of a CI annotation.
	MaxTitle = 100
	// MaxMin bounds the count of a condition: no scenario repeats one thing more often.
	MaxMin = 1000
	// DefaultMargin is half a second: a loaded two-core machine delays a timer by less, a stopped one by more.
	DefaultMargin = 500
	// MaxMargin is the ceiling of a row's margin: above a minute a late timer excuses everything.
	MaxMargin = 60000
)

//go:embed rows/*.yaml rows/sentences.tsv
var files embed.FS

// Ledger is the rows and what they answer to.
type Ledger struct {
	Rows       []Row // sorted by file, in file order
	Sentences  []Sentence
	Exclusions []Exclusion
	Labels     []Label
}

// Load reads the ledger that is built into the binary. An error is a defect of the build: the first problem with file and
// line.
func Load() (*Ledger, error) {
	l := &Ledger{}
	entries, err := files.ReadDir("rows")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := files.ReadFile("rows/" + e.Name())
		if err != nil {
			return nil, err
		}
		if e.Name() == "sentences.tsv" {
			if l.Sentences, err = ParseSentences(e.Name(), data); err != nil {
				return nil, err
			}
			continue
		}
		if e.Name() == "labels.yaml" {
			if l.Labels, err = ParseLabels(e.Name(), data); err != nil {
				return nil, err
			}
			continue
		}
		if err := l.add(e.Name(), data); err != nil {
			return nil, err
		}
	}
	if len(l.Labels) == 0 {
		return nil, errors.New("rows/labels.yaml is missing")
	}
	return l, nil
}

// Find is the row with the given id, nil if there is none.
func (l *Ledger) Find(id string) *Row {
	for i := range l.Rows {
		if l.Rows[i].ID == id {
			return &l.Rows[i]
		}
	}
	return nil
}

func (l *Ledger) add(name string, data []byte) error {
	rows, excluded, err := Parse(name, data)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if other := l.Find(r.ID); other != nil {
			return fmt.Errorf("%s:%d: id %s is taken by %s:%d", name, r.Line, r.ID, other.File, other.Line)
		}
		l.Rows = append(l.Rows, r)
	}
	l.Exclusions = append(l.Exclusions, excluded...)
	return nil
}

// document is a whole row file.
type document struct {
	Rows       []Row       `yaml:"rows"`
	Exclusions []Exclusion `yaml:"exclusions"`
}

// Parse reads one row file. It refuses unknown members, repeated members, wrong types and values outside the schema of
// Row, each with file and line; it returns the first one.
func Parse(name string, data []byte) ([]Row, []Exclusion, error) {
	if len(data) > MaxFile {
		return nil, nil, fmt.Errorf("%s: %d bytes, limit %d", name, len(data), MaxFile)
	}
	var doc document
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%s: more than one document", name)
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, line := range lines(&tree, "rows") {
		r := &doc.Rows[i]
		r.File, r.Line = name, line
		r.defaults()
		if err := r.validate(); err != nil {
			return nil, nil, fmt.Errorf("%s:%d: row %s: %w", name, line, r.ID, err)
		}
		if slices.ContainsFunc(doc.Rows[:i], func(o Row) bool { return o.ID == r.ID }) {
			return nil, nil, fmt.Errorf("%s:%d: id %s is taken in this file", name, line, r.ID)
		}
	}
	for i, line := range lines(&tree, "exclusions") {
		if err := doc.Exclusions[i].validate(); err != nil {
			return nil, nil, fmt.Errorf("%s:%d: exclusion: %w", name, line, err)
		}
	}
	return doc.Rows, doc.Exclusions, nil
}

// lines are the lines at which the entries of a top-level list begin.
func lines(tree *yaml.Node, list string) []int {
	var out []int
	if len(tree.Content) == 0 || tree.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	top := tree.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		if top[i].Value == list && top[i+1].Kind == yaml.SequenceNode {
			for _, n := range top[i+1].Content {
				out = append(out, n.Line)
			}
		}
	}
	return out
}

func (r *Row) defaults() {
	r.Behaviour, r.Fallback = strings.TrimSpace(r.Behaviour), strings.TrimSpace(r.Fallback)
	if r.MarginMs == 0 {
		r.MarginMs = DefaultMargin
	}
	for _, way := range append([][]Condition{r.Exercised}, r.OrExercised...) {
		for i := range way {
			if way[i].Min == 0 {
				way[i].Min = 1
			}
		}
	}
}

// UnmarshalYAML takes one text or a list of texts.
func (s *Strings) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		*s = Strings{n.Value}
		return nil
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a list of texts was expected", c.Line)
			}
			*s = append(*s, c.Value)
		}
		return nil
	}
	return fmt.Errorf("line %d: a text or a list of texts was expected", n.Line)
}
