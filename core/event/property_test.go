package event

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// agree compares Parse with the slow capture and checks what holds for every document.
func agree(t interface {
	Helper()
	Errorf(string, ...any)
}, doc []byte) {
	t.Helper()
	var got Event
	Parse(doc, &got)
	want := slow(doc)
	if got.Kind == Malformed && got.Detail == "" {
		t.Errorf("%s: malformed without a detail", doc)
	}
	if strings.Contains(got.Detail, "nested deeper") {
		return // encoding/json allows more
	}
	detail := got.Detail
	got.Detail = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (%s)\n-slow +Parse\n%s", doc, detail, diff)
	}
	if name, ok := TypeOf(doc); ok == got.Hole || ok && got.Kind != Malformed && name != got.Kind.String() {
		t.Errorf("%s: TypeOf = %q, %v, but the event is %v, hole %v", doc, name, ok, got.Kind, got.Hole)
	}
}

// Parse agrees with a capture written from the facts on encoding/json, over documents that are right, nearly right, and
// damaged (D-06, D-17, D-18).
func TestParseAgreesWithSlowCapture(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 40 {
			doc := []byte(drawDocument(t))
			agree(t, doc)
			var e Event
			Parse(doc, &e)
			seen[e.Kind.String()+" "+e.Fault.String()]++
		}
	})
	t.Log(seen)
	for _, kind := range []string{"snapshot ", "upsert ", "delete ", "delta ", "malformed invalid-event", "malformed checkpoint-conflict"} {
		if seen[kind] < 20 {
			t.Errorf("only %d documents became %q", seen[kind], kind)
		}
	}
}

var (
	anyNumber = []string{"0", "-0", "11", "11.0", "1.1e1", "110e-1", "12", "11.5", "-1", "1e400", "1e-400", "9007199254740991", "9007199254740992",
		"9007199254740993", "90071992547409910e-1", "0.0000011e7", "1E+1", "-0.0e5", "100000000000000000000", "0e999"}
	anyText  = []string{`""`, `"a"`, `"b"`, `"\u0061"`, `"é"`, `"\u00e9"`, `"\ud83d\ude00"`, `"😀"`, `"\ud800"`, `"\udc00\ud800"`, `"\\ud800"`, `"a\"\/\b\f\n\r\tb"`}
	anyOther = []string{"null", "true", "false", "{}", "[]", `{"a":[1,{"b":"}]"}]}`, "[[],[1,2]]"}
	damage   = []string{`{`, `}`, `"`, `,`, `:`, "\x01", "\xff", `\`, `[`, "nul", "01", "1.", "- 1", "\ufeff", `"\x"`, `"\u12g4"`}
)

func drawValue(t *rapid.T, m string) string {
	of := func(lists ...[]string) string {
		var all []string
		for _, l := range lists {
			all = append(all, l...)
		}
		return rapid.SampledFrom(all).Draw(t, m)
	}
	if rapid.IntRange(0, 24).Draw(t, "odd") == 7 {
		return of(anyNumber, anyText, anyOther)
	}
	switch m {
	case "type":
		return of([]string{`"snapshot"`, `"upsert"`, `"delete"`, `"delta"`, `"delta"`, `"\u0064elta"`})
	case "sequence":
		return of(anyNumber)
	case "receivedAt":
		return of(anyNumber)
	case "features", "upserts", "deletes":
		return of([]string{"[]", `[{"id":1}]`, "[null, 2]"})
	case "feature":
		return of([]string{"{}", `{"id":"x"}`, "[]"})
	case "id":
		return of(anyText[:8], anyNumber)
	case "replace":
		return of([]string{"true", "false"})
	case "checkpoint":
		return drawObject(t, []string{"cursor", "watermark", "timestamp", "sequence", "deltaToken", "other"}, 5)
	}
	return of(anyText[:3], anyText)
}

func drawObject(t *rapid.T, names []string, most int) string {
	var parts []string
	for _, m := range rapid.SliceOfN(rapid.SampledFrom(names), 0, most).Draw(t, "members") {
		key := m
		if rapid.IntRange(0, 40).Draw(t, "escaped") == 7 {
			key = `\u00` + string("0123456789abcdef"[m[0]>>4]) + string("0123456789abcdef"[m[0]&15]) + m[1:]
		}
		space := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r "}).Draw(t, "space")
		parts = append(parts, space+`"`+key+`"`+space+":"+space+drawValue(t, m)+space)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func drawDocument(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{"snapshot", "upsert", "delete", "delta"}).Draw(t, "kind")
	doc := drawObject(t, []string{"cursor", "watermark", "timestamp", "sequence", "deltaToken", "checkpoint", "eventId", "correlationId", "auditId", "replace", "other", "type"}, 6)
	needed := map[string]string{"snapshot": `"features":[]`, "upsert": `"feature":{}`, "delete": `"id":1`, "delta": `"upserts":[]`}[kind]
	if rapid.IntRange(0, 15).Draw(t, "needed") != 7 {
		doc = `{"type":"` + kind + `",` + needed + strings.Replace(","+doc[1:], ",}", "}", 1)
	}
	if rapid.IntRange(0, 9).Draw(t, "damaged") == 7 {
		at := rapid.IntRange(0, len(doc)).Draw(t, "at")
		doc = doc[:at] + rapid.SampledFrom(damage).Draw(t, "damage") + doc[at:]
	}
	return doc
}

func FuzzParse(f *testing.F) {
	for _, doc := range []string{
		`{"type":"delta","sequence":11,"eventId":"e11","cursor":"c11","upserts":[]}`,
		`{"type":"snapshot","features":[{"id":1}],"replace":false,"checkpoint":{"sequence":1.1e1,"deltaToken":"t"}}`,
		`{"type":"delete","id":"x","sequence":9007199254740993,"cursor":"\ud800"}`,
		`{"type":"upsert","feature":{},"type":"delta","\u0073equence":1e999999999999999999}`,
		`[[[[`, `"`, ``, "{\"type\":\"delta\"}\x00", `{"type":"status","status":"connected"}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if hugeExponent.Match(doc) { // the slow capture expands exponents
			var e Event
			Parse(doc, &e)
			return
		}
		agree(t, doc)
	})
}
