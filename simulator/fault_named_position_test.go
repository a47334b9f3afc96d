package simulator

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNamedPositionText: what no wire could write as a position is refused in the schedule.
func TestNamedPositionText(t *testing.T) {
	for _, c := range []struct {
		text string
		good bool
	}{
		{"https://feed.example/changes?token=s3cr", true}, {"Bearer s3cr3t-of-somebody", true}, {"a%3Ab%20c", true}, {"%25", true},
		{strings.Repeat("x", MaxPosition), true}, {strings.Repeat("x", MaxPosition+1), false},
		{"", false}, {"a%0Ab", false}, {"a%0D", false}, {"%00", false}, {"a\nb", false}, {"%ff", false}, {"%", false}, {"%2", false},
	} {
		_, err := New(Options{Schedule: Schedule{[]Fault{{Name: "named-position", With: map[string]string{"text": c.text}}}}})
		if (err == nil) != c.good || err != nil && !strings.Contains(err.Error(), "faults[0]: with.text: ") {
			t.Errorf("%.40q: %v", c.text, err)
		}
	}
}

// TestNamedPositionRoundTrip: a client that reads the query of the delta link as any client does has the text again.
func TestNamedPositionRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[ -~äß€]{1,40}`).Draw(rt, "text")
		r := newRig(t, Options{Rows: 1, Schedule: Schedule{[]Fault{{Name: "named-position", With: map[string]string{"text": url.PathEscape(text)}}}}})
		_, query, _ := strings.Cut(r.page(r.track()).link("deltaLink"), "?")
		values, err := url.ParseQuery(query)
		if err != nil || len(values) != 1 || values.Get("$deltatoken") != text {
			rt.Fatalf("%q: %q, %v", text, query, err)
		}
	})
}
