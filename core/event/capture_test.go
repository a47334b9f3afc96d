package event

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChecks is the table of facts 2.2: each check by its number, and the detail that names the member and never a value.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		check, doc string
		fault      Reason // None: it passes
		detail     string
	}{
		{"1 an object", `null`, InvalidEvent, "document: not an object"},
		{"1 an object", `"secret"`, InvalidEvent, "document: not an object"},
		{"1 an array is an object without a type", `[]`, InvalidEvent, "document: not an object"},
		{"2 type", `{}`, InvalidEvent, "type: not a string"},
		{"2 type", `{"type":1}`, InvalidEvent, "type: not a string"},
		{"2 type", `{"type":"secret"}`, InvalidEvent, "type: none of snapshot, upsert, delete, delta"},
		{"2 type, a control frame", `{"type":"heartbeat"}`, InvalidEvent, "type: none of snapshot, upsert, delete, delta"},
		{"2 case counts", `{"type":"Delta"}`, InvalidEvent, "type: none of snapshot, upsert, delete, delta"},
		{"3 eventId", `{"type":"delta","eventId":null}`, InvalidEvent, "eventId: not a string"},
		{"3 eventId", `{"type":"delta","eventId":7}`, InvalidEvent, "eventId: not a string"},
		{"3 an empty eventId is none", `{"type":"delta","eventId":""}`, None, ""},
		{"4 operationInstanceId", `{"type":"delta","operationInstanceId":1}`, InvalidEvent, "operationInstanceId: not a string"},
		{"4 correlationId", `{"type":"delta","correlationId":null}`, InvalidEvent, "correlationId: not a string"},
		{"4 auditId", `{"type":"delta","auditId":{}}`, InvalidEvent, "auditId: not a string"},
		{"4 proposalId", `{"type":"delta","proposalId":true}`, InvalidEvent, "proposalId: not a string"},
		{"5 checkpoint", `{"type":"delta","checkpoint":null}`, InvalidEvent, "checkpoint: not an object"},
		{"5 checkpoint", `{"type":"delta","checkpoint":"c"}`, InvalidEvent, "checkpoint: not an object"},
		{"5 an array passes and holds nothing", `{"type":"delta","checkpoint":[1]}`, None, ""},
		{"6 receivedAt", `{"type":"delta","receivedAt":"now"}`, InvalidEvent, "receivedAt: not a number"},
		{"7 snapshot", `{"type":"snapshot"}`, InvalidEvent, "features: not an array"},
		{"7 snapshot", `{"type":"snapshot","features":{}}`, InvalidEvent, "features: not an array"},
		{"7 snapshot", `{"type":"snapshot","features":[],"replace":null}`, InvalidEvent, "replace: not a boolean"},
		{"7 snapshot", `{"type":"snapshot","features":[],"replace":true}`, None, ""},
		{"7 upsert", `{"type":"upsert"}`, InvalidEvent, "feature: not an object"},
		{"7 upsert", `{"type":"upsert","feature":null}`, InvalidEvent, "feature: not an object"},
		{"7 upsert, an array passes", `{"type":"upsert","feature":[]}`, None, ""},
		{"7 delete", `{"type":"delete"}`, InvalidEvent, "id: neither a string nor a number"},
		{"7 delete", `{"type":"delete","id":null}`, InvalidEvent, "id: neither a string nor a number"},
		{"7 delete, other members of a wrong type are of no interest", `{"type":"delete","id":1,"sourceId":2,"version":"x","updatedAt":3,"deletedAt":"y"}`, None, ""},
		{"7 delta", `{"type":"delta","upserts":{}}`, InvalidEvent, "upserts: not an array"},
		{"7 delta", `{"type":"delta","deletes":null}`, InvalidEvent, "deletes: not an array"},
		{"7 members of another type are of no interest", `{"type":"delta","features":1,"feature":2,"id":null,"replace":3}`, None, ""},
		{"8 cursor", `{"type":"delta","cursor":null}`, CheckpointConflict, "cursor: not a string"},
		{"8 cursor", `{"type":"delta","checkpoint":{"cursor":1}}`, CheckpointConflict, "cursor: not a string"},
		{"8 cursor", `{"type":"delta","cursor":"a","checkpoint":{"cursor":"b"}}`, CheckpointConflict, "cursor: differs between the event and its checkpoint"},
		{"8 watermark", `{"type":"delta","watermark":"a","checkpoint":{"watermark":"b"}}`, CheckpointConflict, "watermark: differs between the event and its checkpoint"},
		{"8 timestamp", `{"type":"delta","timestamp":5}`, CheckpointConflict, "timestamp: not a string"},
		{"8 sequence", `{"type":"delta","sequence":"11"}`, CheckpointConflict, "sequence: not a number"},
		{"8 sequence", `{"type":"delta","sequence":null}`, CheckpointConflict, "sequence: not a number"},
		{"8 sequence", `{"type":"delta","sequence":11,"checkpoint":{"sequence":12}}`, CheckpointConflict, "sequence: differs between the event and its checkpoint"},
		{"8 sequences differ beyond the safe ones, too", `{"type":"delta","sequence":9007199254740993,"checkpoint":{"sequence":9007199254740992}}`, CheckpointConflict, "sequence: differs between the event and its checkpoint"},
		{"8 deltaToken", `{"type":"delta","deltaToken":[],"sequence":11}`, CheckpointConflict, "deltaToken: not a string"},
		{"8 in this order", `{"type":"delta","deltaToken":1,"sequence":"1","timestamp":1,"watermark":1,"cursor":1}`, CheckpointConflict, "cursor: not a string"},
		{"3 before 8", `{"type":"delta","cursor":1,"eventId":1}`, InvalidEvent, "eventId: not a string"},
		{"8 an empty position is absent (D-17)", `{"type":"delta","cursor":"","checkpoint":{"cursor":"c"}}`, None, ""},
		{"D-17 a lone surrogate", `{"type":"delta","cursor":"\ud800"}`, InvalidEvent, "cursor: holds a lone surrogate"},
		{"D-17 a lone surrogate", `{"type":"delta","eventId":"a\udc00b"}`, InvalidEvent, "eventId: holds a lone surrogate"},
		{"D-17 also where the top level hides it", `{"type":"delta","cursor":"c","checkpoint":{"cursor":"\ud800"}}`, InvalidEvent, "cursor: holds a lone surrogate"},
		{"D-17 elsewhere it is none of our business", `{"type":"delta","upserts":["\ud800"]}`, None, ""},
		{"the last of two members counts", `{"type":"x","type":"delta","cursor":1,"cursor":"c","checkpoint":{"cursor":"d"},"checkpoint":{}}`, None, ""},
		{"an id that nobody could remember", `{"type":"delta","eventId":"` + strings.Repeat("x", MaxIDBytes+1) + `"}`, InvalidEvent, DetailLongID},
		{"the longest id", `{"type":"delta","eventId":"` + strings.Repeat("x", MaxIDBytes) + `"}`, None, ""},
	} {
		var e Event
		Parse([]byte(c.doc), &e)
		if e.Fault != c.fault || e.Detail != c.detail || (e.Kind == Malformed) != (c.fault != None) {
			t.Errorf("check %s: %.80s\ngot %v %v %q, want %v %q", c.check, c.doc, e.Kind, e.Fault, e.Detail, c.fault, c.detail)
		}
	}
}

// TestStrictJSON: what is no JSON document is malformed, whatever its beginning looks like, and may be a hole (D-44).
func TestStrictJSON(t *testing.T) {
	deep := func(n int) string {
		return `{"type":"delta","upserts":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	for doc, want := range map[string]string{
		``:                                              "not JSON",
		` `:                                             "not JSON",
		`{`:                                             "not JSON",
		`{"type":"delta"`:                               "not JSON",
		`{"type":"delta",}`:                             "not JSON",
		`{"type":"delta"}x`:                             "not JSON",
		`{"type":"delta"}{}`:                            "not JSON",
		"{\"type\":\"delta\"}\x00":                      "not JSON",
		`{"type":"delta" "x":1}`:                        "not JSON",
		`{"type":"delta","x"}`:                          "not JSON",
		`{'type':'delta'}`:                              "not JSON",
		`{"type":"delta","x":01}`:                       "not JSON",
		`{"type":"delta","x":+1}`:                       "not JSON",
		`{"type":"delta","x":1.}`:                       "not JSON",
		`{"type":"delta","x":.5}`:                       "not JSON",
		`{"type":"delta","x":1e}`:                       "not JSON",
		`{"type":"delta","x":NaN}`:                      "not JSON",
		`{"type":"delta","x":tru}`:                      "not JSON",
		`{"type":"delta","x":"\x"}`:                     "not JSON",
		`{"type":"delta","x":"\u12"}`:                   "not JSON",
		"{\"type\":\"delta\",\"x\":\"\n\"}":             "not JSON",
		`{"type":"delta","x":[1,]}`:                     "not JSON",
		`{"type":"delta","x":[1}}`:                      "not JSON",
		"\ufeff{\"type\":\"delta\"}":                    "not JSON",
		"{\"type\":\"delta\",\"x\":\"\xff\"}":           "not UTF-8",
		`{"type":"delta","x":"` + "\xed\xa0\x80" + `"}`: "not UTF-8",
		deep(MaxDepth):                                  "nested deeper than 512 levels",
		deep(1_000_000):                                 "nested deeper than 512 levels",
		deep(MaxDepth - 1):                              "",
	} {
		var e Event
		Parse([]byte(doc), &e)
		if want != "" {
			want = "document: " + want
		}
		if e.Detail != want || e.Hole != (want != "") || want == "" && e.Kind != Delta {
			t.Errorf("%.60q: %v %q, hole %v; want %q", doc, e.Kind, e.Detail, e.Hole, want)
		}
	}
	for doc, hole := range map[string]bool{`[]`: true, `{"type":7}`: true, `{"x":1}`: true, `{"type":"bookmark"}`: false, `{"type":"delta","cursor":1}`: false} {
		var e Event
		if Parse([]byte(doc), &e); e.Hole != hole {
			t.Errorf("%s: hole %v", doc, e.Hole)
		}
	}
}

// TestSequences: D-06 and P-GATE-11. One JSON number is one integer however it is written, and none is ever rounded.
func TestSequences(t *testing.T) {
	long := strings.Repeat("0", 1_000_000)
	for text, want := range map[string]Seq{
		"11": 11, "11.0": 11, "1.1e1": 11, "1.1E+1": 11, "110e-1": 11, "0.11e2": 11, "11.000000000000000000000": 11,
		"0": 0, "-0": 0, "-0.0": 0, "0e5": 0, "-0e-999999999999999999999": 0, "0.0e999999999999999999999": 0,
		"9007199254740991": MaxSeq, "9007199254740991.0": MaxSeq, "9.007199254740991e15": MaxSeq, "90071992547409910e-1": MaxSeq,
		"9007199254740992": NoSeq, "9007199254740993": NoSeq, "9007199254740991.5": NoSeq, "9007199254740991.0000000000000000001": NoSeq,
		"11.5": NoSeq, "-1": NoSeq, "-11.0": NoSeq, "1e-1": NoSeq, "1e400": NoSeq, "1e-400": NoSeq, "18446744073709551627": NoSeq,
		"1e999999999999999999999": NoSeq, "1e-999999999999999999999": NoSeq, "1e9223372036854775807": NoSeq,
		"0." + long + "1e1000001": 1, "1" + long + "e-1000000": 1, "1" + long: NoSeq,
	} {
		var e Event
		Parse([]byte(`{"type":"delta","sequence":`+text+`}`), &e)
		if e.Kind != Delta || e.Pos.Seq != want {
			t.Errorf("sequence %.40s: %v %d, want %d", text, e.Kind, e.Pos.Seq, want)
		}
		Parse([]byte(`{"type":"delta","checkpoint":{"sequence":`+text+`},"sequence":`+text+`}`), &e)
		if e.Kind != Delta || e.Pos.Seq != want {
			t.Errorf("sequence %.40s at both levels: %v %d (%s), want %d", text, e.Kind, e.Pos.Seq, e.Detail, want)
		}
	}
	var e Event
	if Parse([]byte(`{"type":"delta","checkpoint":{"sequence":1.1e1},"sequence":11.0}`), &e); e.Pos.Seq != 11 {
		t.Errorf("11 in two spellings: %+v", e)
	}
}

// TestCaptured: what an event keeps of its document.
func TestCaptured(t *testing.T) {
	doc := []byte(`{"type":"snapshot","features":[{"id":1}],"replace":false,"eventId":"e\u00e91","sequence":11,"cursor":"c\/1",
		"checkpoint":{"cursor":"","watermark":"w","timestamp":"t","deltaToken":"\ud83d\ude00","secret":"s"},
		"operationInstanceId":"o","correlationId":"c","auditId":"a","proposalId":"p","receivedAt":1.5,"token":"secret"}`)
	var e Event
	Parse(doc, &e)
	want := Event{Kind: Snapshot, Merge: true, ID: "eé1", Payload: doc, Trace: &Correlation{"o", "c", "a", "p"},
		Pos: Position{Seq: 11, Cursor: "c/1", Watermark: "w", Timestamp: "t", DeltaToken: "😀"}}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for i := range doc {
		doc[i] = 'x'
	}
	if e.ID != "eé1" || e.Pos.Cursor != "c/1" || e.Trace.Proposal != "p" {
		t.Errorf("the event changed with its document: %+v", e)
	}
}

// TestParseAllocations: one allocation for all strings of an event, none for its size.
func TestParseAllocations(t *testing.T) {
	var e Event
	if n := testing.AllocsPerRun(100, func() { Parse(document300, &e) }); n > 1 {
		t.Errorf("%v allocations for a document of 300 bytes", n)
	}
}

func TestTypeOf(t *testing.T) {
	for doc, want := range map[string]string{`{"type":"status","status":"connected"}`: "status", `{"type":"\u0064elta","cursor":1}`: "delta", `{"type":1}`: "", `{"type":"x"`: "", `[]`: ""} {
		if got, ok := TypeOf([]byte(doc)); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v", doc, got, ok)
		}
	}
}
