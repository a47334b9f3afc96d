package steps

import (
	"regexp"
	"testing"
)

// TestPhrases: a person learns the vocabulary once; it stays small, and no phrase is written twice.
func TestPhrases(t *testing.T) {
	if n := len(Phrases()); n > MaxPhrases {
		t.Errorf("%d phrases, at most %d", n, MaxPhrases)
	}
	if n := len(LanePhrases()); n > MaxLanePhrases {
		t.Errorf("%d phrases of the lane, at most %d", n, MaxLanePhrases)
	}
	all := append(Phrases(), LanePhrases()...)
	seen := map[string]bool{}
	for _, p := range all {
		if _, err := regexp.Compile(p); err != nil {
			t.Error(err)
		}
		if seen[p] {
			t.Errorf("%q is there twice", p)
		}
		seen[p] = true
	}
	t.Logf("%d phrases", len(all))
}
