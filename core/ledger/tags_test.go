package ledger

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var someTags = []string{"@a", "@b", "@c", "@GATE-001"}

func TestTagExpressions(t *testing.T) {
	for _, tc := range []struct {
		text, shape string
		tags        string
		want        bool
	}{
		{"@a", "@a", "@a @b", true},
		{"@a", "@a", "@b", false},
		{"not @a", "not @a", "@b", true},
		{"@a and not @b", "(@a and not @b)", "@a", true},
		{"@a and not @b", "(@a and not @b)", "@a @b", false},
		{"@a or @b and @c", "(@a or (@b and @c))", "@a", true},
		{"(@a or @b) and @c", "((@a or @b) and @c)", "@a", false},
		{"not @a or @b", "(not @a or @b)", "@a @b", true},
		{"not (@a or @b)", "not (@a or @b)", "@c", true},
		{"not not @a", "not not @a", "@a", true},
		{"@a and @b and @c", "((@a and @b) and @c)", "@a @b @c", true},
		{"\t( @GATE-001 )\n", "@GATE-001", "@GATE-001", true},
		{"not(@a)and(@b)", "(not @a and @b)", "@b", true},
	} {
		e, err := ParseTags(tc.text, someTags)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		if e.String() != tc.shape {
			t.Errorf("%q was read as %s, want %s", tc.text, e, tc.shape)
		}
		if got := e.Match(strings.Fields(tc.tags)); got != tc.want {
			t.Errorf("%q on %s is %v", tc.text, tc.tags, got)
		}
	}
	if !(*TagExpr)(nil).Match(nil) {
		t.Error("no expression must select everything")
	}
}

func TestTagMistakes(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "column 1: a tag is missing"},
		{"@a and", "column 7: a tag is missing"},
		{"@a && @b", `column 4: "&&" is one too many`},
		{"~@a", `column 1: "~@a" is no tag`},
		{"@a @b", `column 4: "@b" is one too many`},
		{"@a,@b", "unknown tag @a,@b"},
		{"@", `"@" is no tag`},
		{"a", `"a" is no tag`},
		{"@GATE-01", "column 1: unknown tag @GATE-01"},
		{"(@a", "column 4: a closing parenthesis is missing"},
		{"@a)", `column 3: ")" is one too many`},
		{"()", `column 2: ")" is no tag`},
		{"and @a", `column 1: "and" is no tag`},
		{"@a or or @b", `column 7: "or" is no tag`},
		{"not", "column 4: a tag is missing"},
		{strings.Repeat("(", MaxTagDepth+2) + "@a", "nested deeper than 64"},
		{strings.Repeat("not ", MaxTagDepth+2) + "@a", "nested deeper than 64"},
		{strings.Repeat(" ", MaxTagText+1), "limit 4096"},
	} {
		_, err := ParseTags(tc.text, someTags)
		if !errors.Is(err, ErrTags) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.30q: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

// TestTagsRoundTrip: what String writes is read back as the same expression, and means the same.
func TestTagsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var gen func(depth int) *TagExpr
		gen = func(depth int) *TagExpr {
			op := byte('t')
			if depth < 6 {
				op = rapid.SampledFrom([]byte("ttnao")).Draw(t, "op")
			}
			switch op {
			case 't':
				return &TagExpr{op: 't', tag: rapid.SampledFrom(someTags).Draw(t, "tag")}
			case 'n':
				return &TagExpr{op: 'n', left: gen(depth + 1)}
			}
			return &TagExpr{op: op, left: gen(depth + 1), right: gen(depth + 1)}
		}
		e := gen(0)
		back, err := ParseTags(e.String(), someTags)
		if err != nil {
			t.Fatal(err)
		}
		if back.String() != e.String() {
			t.Fatalf("%s was read as %s", e, back)
		}
		tags := rapid.SliceOf(rapid.SampledFrom(someTags)).Draw(t, "tags")
		if back.Match(tags) != e.Match(tags) {
			t.Fatalf("%s changed its meaning", e)
		}
	})
}

func FuzzParseTags(f *testing.F) {
	for _, s := range []string{"@a and not (@b or @c)", "((((", "not not", "@a)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := ParseTags(text, someTags); err == nil {
			e.Match([]string{"@a"})
		} else if !errors.Is(err, ErrTags) {
			t.Fatal(err)
		}
	})
}
