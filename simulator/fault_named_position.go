package simulator

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

var namedPositionFault = Spec{
	Name: "named-position",
	Doc: "gives an event's position out as a text that the server never reads back, such as an address or a credential: nobody may store it; " +
		"on OData the delta token behind it",
	At:     []string{"connection", "request", "sequence", "event"},
	Params: []Param{{Name: "text", Kind: "escaped", Doc: "the position", Default: "https://feed.example/changes?token=s3cr"}},
	build: func(a args) any {
		text, _ := unescape(a.text("text")) // checked
		return namedPosition(text)
	},
}

type namedPosition string

func (n namedPosition) send(d *dispatch) bool {
	if d.cycle != nil && !d.cycle.track {
		return false // its pages give no position out
	}
	d.shape.named = string(n)
	return true
}

// unescape reads a text in which %20 is a space and %25 the sign itself. The result can stand in every position that a wire has: one line,
// valid UTF-8, neither empty nor longer than MaxPosition.
func unescape(text string) (string, error) {
	s, err := url.PathUnescape(text)
	if err != nil || s == "" || len(s) > MaxPosition || strings.ContainsAny(s, "\r\n\x00") || !utf8.ValidString(s) {
		return "", fmt.Errorf("one line of UTF-8, 1 to %d bytes, a space may be %%20 and a percent sign is %%25", MaxPosition)
	}
	return s, nil
}
