package envelope

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		data  string
		Class Class
		Doc   string // "" means the data itself
		Wrong string
	}{
		{data: `{"type":"delta"}`, Class: Data},
		{data: " {\"seq\":\n41, \"type\" : \"upsert\"} ", Class: Data},
		{data: `{"type":"snapshot"}`, Class: Data},
		{data: `{"type":"delete"}`, Class: Data},
		{data: `{"\u0074ype":"del\u0074a"}`, Class: Data},
		{data: `{"type":"status"}`, Class: Status},
		{data: `{"type":"error"}`, Class: Error},
		{data: `{"type":"gap"}`, Class: Gap},
		{data: `{"type":"heartbeat"}`, Class: Heartbeat},
		{data: `{"type":"bookmark","seq":null}`, Class: Heartbeat},
		{data: `{"type":"Delta"}`, Class: Heartbeat},
		{data: `{"type":"malformed"}`, Class: Heartbeat},
		{data: `{"type":""}`, Class: Heartbeat},
		{data: `{"type":"heartbeat","type":"delta"}`, Class: Data},
		{data: `{"event":{"type":"delta","sequence":1}}`, Class: Data, Doc: `{"type":"delta","sequence":1}`},
		{data: `{"event":{"type":"error"},"type":7}`, Class: Error, Doc: `{"type":"error"}`},
		{data: `{"type":"delta","event":{"type":"error"}}`, Class: Data},
		{data: `{"a":1, "kind" : "delta"}`, Class: Data, Doc: `{"a":1, "type" : "delta"}`},
		{data: `{"k\u0069nd":"delta"}`, Class: Data, Doc: `{"type":"delta"}`},
		{data: `{"kind":"delta","event":"x"}`, Class: Data, Doc: `{"type":"delta","event":"x"}`},
		{data: `{"kind":"delta","type":7}`, Wrong: noType},
		{data: `{"event":{"kind":"delta"}}`, Wrong: noType},
		{data: `{"nested":{"type":"delta"}}`, Wrong: noType},
		{data: `{"type":null}`, Wrong: noType},
		{data: `{}`, Wrong: noType},
		{data: `[{"type":"delta"}]`, Wrong: notObject},
		{data: `"delta"`, Wrong: notObject},
		{data: `null`, Wrong: notObject},
		{data: `{"type":"delta"`, Wrong: notJSON},
		{data: `{"type":"delta"}}`, Wrong: notJSON},
		{data: `{"type":"delta",}`, Wrong: notJSON},
		{data: `{'type':'delta'}`, Wrong: notJSON},
		{data: "{\"type\":\"del\nta\"}", Wrong: notJSON},
		{data: `hello`, Wrong: notJSON},
	} {
		var scratch []byte
		p := Classify([]byte(c.data), &scratch)
		doc := c.Doc
		if doc == "" && c.Wrong == "" {
			doc = c.data
		}
		if p.Class != c.Class || string(p.Doc) != doc || p.Wrong != c.Wrong {
			t.Errorf("%s: got class %d, %s, %q", c.data, p.Class, p.Doc, p.Wrong)
		}
		// What is handed on must be to event.Parse what it is here.
		if name, ok := event.TypeOf(p.Doc); p.Wrong == "" && (!ok || (event.ParseKind(name) != event.Malformed) != (p.Class == Data)) {
			t.Errorf("%s: is %q to core/event", p.Doc, name)
		}
	}
}

func TestScanDepth(t *testing.T) {
	nest := func(n int) []byte {
		return []byte(`{"type":"delta","x":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}")
	}
	if _, wrong := scan(nest(event.MaxDepth)); wrong != "" {
		t.Errorf("%d levels: %s", event.MaxDepth, wrong)
	}
	if _, wrong := scan(nest(event.MaxDepth + 1)); wrong != notJSON {
		t.Errorf("%d levels: %q, want %q", event.MaxDepth+1, wrong, notJSON)
	}
	if _, wrong := scan([]byte(strings.Repeat("[", 1<<20))); wrong != notJSON {
		t.Errorf("a million brackets: %q", wrong)
	}
}

// agree compares scan with encoding/json: both take a text or both refuse it, and they see the same type.
func agree(t *testing.T, doc []byte) {
	t.Helper()
	o, wrong := scan(doc)
	if valid := json.Valid(doc); valid != (wrong != notJSON) && strings.Count(string(doc), "[")+strings.Count(string(doc), "{") < event.MaxDepth {
		t.Fatalf("%q: scan says %q, encoding/json says valid=%v", doc, wrong, valid)
	}
	if wrong != "" {
		return
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatalf("%q: %v", doc, err)
	}
	raw, there := m["type"]
	if there != o.typ.there() || there && string(raw) != string(o.typ.in(doc)) {
		t.Fatalf("%q: type is %s, scan found %s", doc, raw, doc[o.typ.from:o.typ.to])
	}
}

// Random texts, most of them nearly JSON.
func TestScanAgreesWithEncodingJSON(t *testing.T) {
	pieces := []string{"{", "}", "[", "]", ":", ",", `"type"`, `"kind"`, `"event"`, `"a\n"`, `"\u00e9"`, `"\ud800"`, `"\x"`, `"plain text of some length"`, "\"\x01\"",
		"0", "-0", "01", "-", "1.", ".5", "1e5", "1E+9", "1e", "-12.50e-3", "true", "false", "null", "nul", " ", "\t", "\n", "\"", "\\", "é", `{"type":"delta"}`, `{"a":[1,{}],"type":"x"}`}
	r := rand.New(rand.NewPCG(3, 4))
	for range 300_000 {
		var b strings.Builder
		for range r.IntN(9) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		agree(t, []byte(b.String()))
		agree(t, []byte(`{"type":`+b.String()+"}"))
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"type":"delta","x":[1,2.5e3,"a\u00e9\\"],"event":{"type":null}}`))
	f.Add([]byte(`{"kind":"delta"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if len(doc) < event.MaxDepth { // deeper nesting is refused here, and only here
			agree(t, doc)
		}
		var scratch []byte
		if p := Classify(doc, &scratch); p.Class != Undecodable && !json.Valid(p.Doc) {
			t.Fatalf("%q became %q", doc, p.Doc)
		}
	})
}
