package sse

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
		class class
		doc   string // "" means the data itself
		wrong string
	}{
		{data: `{"type":"delta"}`, class: dataClass},
		{data: " {\"seq\":\n41, \"type\" : \"upsert\"} ", class: dataClass},
		{data: `{"type":"snapshot"}`, class: dataClass},
		{data: `{"type":"delete"}`, class: dataClass},
		{data: `{"\u0074ype":"del\u0074a"}`, class: dataClass},
		{data: `{"type":"status"}`, class: statusClass},
		{data: `{"type":"error"}`, class: errorClass},
		{data: `{"type":"gap"}`, class: gapClass},
		{data: `{"type":"heartbeat"}`, class: heartbeatClass},
		{data: `{"type":"bookmark","seq":null}`, class: heartbeatClass},
		{data: `{"type":"Delta"}`, class: heartbeatClass},
		{data: `{"type":"malformed"}`, class: heartbeatClass},
		{data: `{"type":""}`, class: heartbeatClass},
		{data: `{"type":"heartbeat","type":"delta"}`, class: dataClass},
		{data: `{"event":{"type":"delta","sequence":1}}`, class: dataClass, doc: `{"type":"delta","sequence":1}`},
		{data: `{"event":{"type":"error"},"type":7}`, class: errorClass, doc: `{"type":"error"}`},
		{data: `{"type":"delta","event":{"type":"error"}}`, class: dataClass},
		{data: `{"a":1, "kind" : "delta"}`, class: dataClass, doc: `{"a":1, "type" : "delta"}`},
		{data: `{"k\u0069nd":"delta"}`, class: dataClass, doc: `{"type":"delta"}`},
		{data: `{"kind":"delta","event":"x"}`, class: dataClass, doc: `{"type":"delta","event":"x"}`},
		{data: `{"kind":"delta","type":7}`, wrong: noType},
		{data: `{"event":{"kind":"delta"}}`, wrong: noType},
		{data: `{"nested":{"type":"delta"}}`, wrong: noType},
		{data: `{"type":null}`, wrong: noType},
		{data: `{}`, wrong: noType},
		{data: `[{"type":"delta"}]`, wrong: notObject},
		{data: `"delta"`, wrong: notObject},
		{data: `null`, wrong: notObject},
		{data: `{"type":"delta"`, wrong: notJSON},
		{data: `{"type":"delta"}}`, wrong: notJSON},
		{data: `{"type":"delta",}`, wrong: notJSON},
		{data: `{'type':'delta'}`, wrong: notJSON},
		{data: "{\"type\":\"del\nta\"}", wrong: notJSON},
		{data: `hello`, wrong: notJSON},
	} {
		var scratch []byte
		p := classify([]byte(c.data), &scratch)
		doc := c.doc
		if doc == "" && c.wrong == "" {
			doc = c.data
		}
		if p.class != c.class || string(p.doc) != doc || p.wrong != c.wrong {
			t.Errorf("%s: got class %d, %s, %q", c.data, p.class, p.doc, p.wrong)
		}
		// What is handed on must be to event.Parse what it is here.
		if name, ok := event.TypeOf(p.doc); p.wrong == "" && (!ok || (event.ParseKind(name) != event.Malformed) != (p.class == dataClass)) {
			t.Errorf("%s: is %q to core/event", p.doc, name)
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
		if p := classify(doc, &scratch); p.class != undecodable && !json.Valid(p.doc) {
			t.Fatalf("%q became %q", doc, p.doc)
		}
	})
}
