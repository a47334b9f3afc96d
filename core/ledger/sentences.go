package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Sentence is a numbered statement of the contract's text. The text itself is not shipped, only its digest: when a passage
// changes, the rows that cite it need a review.
type Sentence struct {
	ID        string
	Normative bool
	Digest    string
}

// Exclusion says why normative sentences have no row: for good, with a reason, or until a piece of work is done that has a
// name. Exactly one of Reason and Later is set.
type Exclusion struct {
	Sentences []string `yaml:"sentences"`
	Reason    string   `yaml:"reason"`
	Later     string   `yaml:"later"` // one of Topics
}

// Topics are the pieces of work that rows may wait for. One that is done leaves this list, and every sentence that still
// names it fails the check.
var Topics = []string{"durable-stores", "fleet-wake", "servers", "websocket-odata"}

func (e Exclusion) validate() error {
	switch {
	case len(e.Sentences) == 0:
		return errors.New("needs sentences")
	case (e.Reason == "") == (e.Later == ""):
		return errors.New("needs either a reason or the name of later work")
	case e.Later != "" && !slices.Contains(Topics, e.Later):
		return fmt.Errorf("later %q is none of %v", e.Later, Topics)
	}
	for _, s := range e.Sentences {
		if !sentenceForm.MatchString(s) {
			return fmt.Errorf("sentence %q is not written like S4-017", s)
		}
	}
	return nil
}

// ParseSentences reads lines of id, class (normative or other) and digest, separated by tabs.
func ParseSentences(name string, data []byte) ([]Sentence, error) {
	var out []Sentence
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 || !sentenceForm.MatchString(f[0]) || !digestForm.MatchString(f[2]) || (f[1] != "normative" && f[1] != "other") {
			return nil, fmt.Errorf("%s:%d: not an id, normative or other, and a digest", name, n)
		}
		if seen[f[0]] {
			return nil, fmt.Errorf("%s:%d: %s stands there twice", name, n, f[0])
		}
		seen[f[0]] = true
		out = append(out, Sentence{f[0], f[1] == "normative", f[2]})
	}
	return out, nil
}
