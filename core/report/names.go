package report

import (
	"fmt"
	"strings"
)

// MaxName bounds the part of a trace's file name that comes from the scenario's name: with the rest it stays under the 255
// bytes that file systems allow.
const MaxName = 80

// traceName is the path of a result's trace in the bundle. It tells scenario, subject and lane apart, and holds only
// small letters, digits, dots and hyphens, whatever the scenario is called.
func traceName(r *Result) string {
	return fmt.Sprintf("traces/%s-%d-%s.%s.%s.ndjson", slug(strings.TrimSuffix(r.File, ".feature")), r.Line, slug(r.Scenario), slug(r.Subject), slug(string(r.Lane)))
}

// slug is text as a part of a file name; never empty.
func slug(text string) string {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(text) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(c)
		} else {
			gap = true
		}
		if b.Len() >= MaxName {
			break
		}
	}
	if b.Len() == 0 {
		return "x"
	}
	return b.String()
}
