package event

import (
	"strings"
	"testing"
)

// TestFrame: the wire's framing stands in for what the document lacks; a contradiction is malformed (D-43).
func TestFrame(t *testing.T) {
	for _, c := range []struct {
		doc, cursor, id string
		want            string // cursor/id, or the reason
	}{
		{`{"type":"delta"}`, "f", "", "f/"},
		{`{"type":"delta"}`, "", "f", "/f"},
		{`{"type":"delta","cursor":"c","eventId":"e"}`, "", "", "c/e"},
		{`{"type":"delta","cursor":"c","eventId":"e"}`, "c", "e", "c/e"},
		{`{"type":"delta","cursor":"","eventId":""}`, "f", "g", "f/g"},
		{`{"type":"delta","checkpoint":{"cursor":"c"}}`, "f", "", "checkpoint-conflict"},
		{`{"type":"delta","cursor":"c"}`, "f", "", "checkpoint-conflict"},
		{`{"type":"delta","eventId":"e"}`, "", "f", "invalid-event"},
		{`{"type":"delta","cursor":"c","eventId":"e"}`, "f", "f", "invalid-event"},
		{`{"type":"delta"}`, "", strings.Repeat("x", MaxIDBytes+1), "invalid-event"},
		{`{"type":"delta","cursor":5}`, "f", "f", "checkpoint-conflict"},
	} {
		var e Event
		Parse([]byte(c.doc), &e)
		e.Frame(c.cursor, c.id)
		got := e.Pos.Cursor + "/" + e.ID
		if e.Kind == Malformed {
			got = e.Fault.String()
			if e.Detail == "" || e.Pos != NoPosition || e.ID != "" || string(e.Payload) != c.doc {
				t.Errorf("%s: malformed as %+v", c.doc, e)
			}
		}
		if got != c.want {
			t.Errorf("%s framed by %q, %.10q: %s, want %s", c.doc, c.cursor, c.id, got, c.want)
		}
	}
}
