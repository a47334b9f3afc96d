package odata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// This file holds an independent and slow reading of a round: encoding/json for the pages, plain maps for the state. It shares no code with
// the decoder, the reader or the round.

// slowRound is the last state of each key after the pages, by the contract's id as JSON text: a feature, or nil for gone.
func slowRound(pages []string) (map[string]any, error) {
	state := map[string]any{}
	for _, p := range pages {
		var page struct{ Value []json.RawMessage }
		if err := slowJSON([]byte(p), &page); err != nil {
			return nil, err
		}
		for _, raw := range page.Value {
			id, feature, err := slowEntry(raw)
			if err != nil {
				return nil, err
			}
			state[id] = feature
		}
	}
	return state, nil
}

func slowJSON(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(into)
}

func slowEntry(raw []byte) (id string, feature any, err error) {
	var all map[string]any
	if err := slowJSON(raw, &all); err != nil {
		return "", nil, err
	}
	own, gone, ref := map[string]any{}, false, ""
	for name, v := range all {
		switch {
		case strings.HasSuffix(name, "removed") && name[0] == '@':
			gone = true
		case name == "@id" || name == "@odata.id":
			ref = v.(string)
		case name == "@odata.context" && strings.HasSuffix(v.(string), "/$deletedEntity"):
			gone = true
		case !strings.Contains(name, "@"):
			own[name] = v
		}
	}
	if gone && own["Id"] == nil {
		if ref == "" {
			ref = own["id"].(string)
		}
		key := ref[strings.Index(ref, "(")+1 : len(ref)-1]
		if strings.HasPrefix(key, "'") {
			own["Id"] = strings.ReplaceAll(strings.Trim(key, "'"), "''", "'")
		} else {
			own["Id"] = json.Number(key)
		}
	}
	text, err := json.Marshal(own["Id"])
	if gone {
		return string(text), nil, err
	}
	return string(text), own, err
}

// slowDocument is the state that a document of the contract's leads to.
func slowDocument(doc string) (map[string]any, error) {
	var d struct {
		Type              string
		Features, Upserts []struct {
			ID      any
			Feature map[string]any
		}
		Deletes []struct{ ID any }
	}
	if err := slowJSON([]byte(doc), &d); err != nil {
		return nil, err
	}
	state := map[string]any{}
	put := func(id any, v any) error {
		text, _ := json.Marshal(id)
		if _, twice := state[string(text)]; twice {
			return fmt.Errorf("%s is there twice", text)
		}
		state[string(text)] = v
		return nil
	}
	for _, p := range append(d.Features, d.Upserts...) {
		if err := put(p.ID, p.Feature); err != nil {
			return nil, err
		}
	}
	for _, p := range d.Deletes {
		if err := put(p.ID, nil); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// page draws a page with entries of few keys, in any dialect and any order of members, with white space where it may be.
func page(t *rapid.T, snapshot bool, link string) string {
	gap := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	object := func(members ...string) string {
		members = rapid.Permutation(members).Draw(t, "order")
		var b strings.Builder
		b.WriteString("{" + gap.Draw(t, "gap"))
		for i, m := range members {
			if i > 0 {
				b.WriteString("," + gap.Draw(t, "gap"))
			}
			b.WriteString(m)
		}
		return b.String() + gap.Draw(t, "gap") + "}"
	}
	entry := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 3).Draw(t, "key")
		key, ref := fmt.Sprintf("%d", n), fmt.Sprintf("Vehicles(%d)", n)
		if rapid.Bool().Draw(t, "text") {
			key, ref = fmt.Sprintf(`"k'%d"`, n), fmt.Sprintf("Vehicles('k''%d')", n)
		}
		if snapshot || rapid.Bool().Draw(t, "upsert") {
			return object(`"Id": `+key, `"n":`+rapid.SampledFrom([]string{"1.50", "-0", "12345678901234567890", `"\u00e9\n"`, `[ {"@x":1}, null ]`, "{}", "true"}).Draw(t, "value"),
				`"@odata.etag":"x"`, `"n@odata.type":"#X"`)
		}
		return rapid.SampledFrom([]string{
			object(`"@removed":{"reason":"deleted"}`, `"Id":`+key), object(`"@odata.removed":{}`, `"@odata.id":"`+ref+`"`),
			object(`"@odata.context":"#Vehicles/$deletedEntity"`, `"id":"`+ref+`"`, `"reason":"changed"`),
		}).Draw(t, "removed")
	})
	list := rapid.SliceOfN(entry, 0, 6).Draw(t, "entries")
	return object(`"value":[`+strings.Join(list, " , ")+`]`, `"@odata.context":"$metadata#Vehicles/$delta"`, link, `"@odata.count":9`)
}

// A round over pages leads to the state that the slow model finds, however its bytes are cut, and also if pages break off and are asked for
// again.
func TestRoundAgainstSlowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		snapshot := rapid.Bool().Draw(t, "snapshot")
		a := attemptAt(origin+"/odata/Vehicles", "foreign=1")
		if !snapshot {
			a.Resume = event.Position{Seq: 7, DeltaToken: "d1"}
		}
		var pages []string
		last := rapid.IntRange(0, 2).Draw(t, "pages")
		for i := range last + 1 {
			link := fmt.Sprintf(`"@odata.nextLink":"?p=%d"`, i+2)
			if i == last {
				link = `"@odata.deltaLink":"?$deltatoken=d2"`
			}
			pages = append(pages, page(t, snapshot, link))
		}
		p := play(a, rapid.SampledFrom([]int{0, 1, 3, 64}).Draw(t, "step"))
		for _, text := range pages {
			if rapid.Bool().Draw(t, "breaks") {
				p.answer("200 | " + strings.ReplaceAll(text[:rapid.IntRange(0, len(text)-1).Draw(t, "cut")], " | ", "") + " | broken connection-reset")
			}
			p.answer("200 | " + text)
		}
		want, err := slowRound(pages)
		if err != nil {
			t.Fatal(err)
		}
		if !snapshot && len(want) == 0 {
			if len(p.docs) != 0 {
				t.Fatalf("an unchanged poll gave %q", p.docs)
			}
			return
		}
		if len(p.docs) != 1 {
			t.Fatalf("%d documents:\n%s\nof\n%s", len(p.docs), strings.Join(p.out, "\n"), strings.Join(pages, "\n"))
		}
		got, err := slowDocument(p.docs[0])
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\ngot  %v\nwant %v\nof %s", err, got, want, p.docs[0])
		}
		var ev event.Event
		transport.Document{JSON: []byte(p.docs[0])}.Capture(&ev)
		if ev.Kind == event.Malformed || ev.Replaces() != snapshot || ev.Pos.DeltaToken != "d2" || !ev.Pos.Seq.Valid() {
			t.Fatalf("captured as %+v", ev)
		}
	})
}

// Numbers, keys and texts are read as strconv and encoding/json read them.
func TestLiteralsAgainstJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("'()\"\\/,=%\x00\u2028")))).Draw(t, "text")
		raw, _ := json.Marshal(s)
		if got, ok := text(raw); !ok || got != strings.ToValidUTF8(s, "\uFFFD") {
			t.Fatalf("%q read as %q", raw, got)
		}
		var back string
		if out := appendText(nil, s); json.Unmarshal(out, &back) != nil || back != s || !valid(out) {
			t.Fatalf("%q written as %q", s, out)
		}
		k, ok := KeyOfID("Set("+literal{text: s, quoted: true}.canonicalEscaped()+")", []string{"Id"})
		if own := newKey([]string{"Id"}, []literal{{text: s, quoted: true}}); !ok || k != own {
			t.Fatalf("%q: %+v is not %+v", s, k, own)
		}
	})
}

// canonicalEscaped is the literal as a service writes it into a URL.
func (l literal) canonicalEscaped() string { return url.PathEscape(l.canonical()) }

func TestCanonicalNumber(t *testing.T) {
	for in, want := range map[string]string{
		"7": "7", "7.0": "7", "70e-1": "7", "0.7E1": "7", "-0": "0", "0.000": "0", "1.50": "1.5", "15e-1": "1.5", "1e3": "1000", "-1e-3": "-0.001",
		"123456789012345678901234567890": "123456789012345678901234567890", "1e401": "", "1e99999999999999999999": "", "0e-400": "0",
	} {
		if got, ok := canonicalNumber([]byte(in)); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", in, got, ok)
		}
	}
	for in, want := range map[string]event.Seq{
		"0": 0, "-0": 0, "41.0": 41, "4.1e1": 41, "9007199254740991": event.MaxSeq,
		"9007199254740992": event.NoSeq, "9007199254740993": event.NoSeq, "-1": event.NoSeq, "1.5": event.NoSeq, `"41"`: event.NoSeq, "null": event.NoSeq, "1e300": event.NoSeq, "": event.NoSeq,
	} {
		if got := sequence([]byte(in)); got != want {
			t.Errorf("sequence %s: %d", in, got)
		}
	}
}

// Keys by OData's literal rules (D-38).
func TestKeyOfID(t *testing.T) {
	one, two := []string{"Id"}, []string{"A", "B"}
	for _, c := range []struct {
		id    string
		names []string
		want  string // Text and id; empty if it is refused
	}{
		{"V('7')", one, `'7' "7"`}, {"V(7)", one, `7 7`}, {"V(-07)", one, `'-07' "-07"`}, {"V(7.0)", one, `7 7`}, {"V(true)", one, `true "true"`},
		{"V(0f8fad5b-d9cb-469f-a165-70867728950e)", one, `'0f8fad5b-d9cb-469f-a165-70867728950e' "0f8fad5b-d9cb-469f-a165-70867728950e"`},
		{"V(duration'PT1S')", one, `'PT1S' "PT1S"`}, {"V(Id='x')", one, `'x' "x"`}, {"V('a=b,c')", one, `'a=b,c' "a=b,c"`}, {"V('')", one, `'' ""`},
		{"V(%27a%20b%27)", one, `'a b' "a b"`}, {"http://h/A('x')/V(3)#f", one, `3 3`}, {"V('((')", one, `'((' "(("`},
		{"V(B='x',A=1)", two, `A=1,B='x' "A=1,B='x'"`}, {"V(A=1,B=true)", two, `A=1,B=true "A=1,B=true"`},
		{"V", one, ""}, {"V()", one, ""}, {"V(", one, ""}, {"V(7)x", one, ""}, {"V(Other=7)", one, ""}, {"V('x)", one, ""}, {"V('x'y)", one, ""}, {"V(null)", one, ""},
		{"V(1,2)", one, ""}, {"V(1,2)", two, ""}, {"V(A=1)", two, ""}, {"V(A=1,A=2)", two, ""}, {"V(A=1,B=2,C=3)", two, ""}, {"V(%zz)", one, ""}, {"V('%ff')", one, ""}, {"", one, ""},
		{"V('" + strings.Repeat("x", MaxKeyBytes) + "')", one, ""},
	} {
		k, ok := KeyOfID(c.id, c.names)
		got := ""
		if ok {
			got = k.Text + " " + string(k.AppendID(nil))
		}
		if got != c.want {
			t.Errorf("%.60s: %q, want %q", c.id, got, c.want)
		}
	}
	for key, want := range map[string]bool{"Id": true, "A,B": true, "é": true, "": false, "A,": false, "A,A": false, "A@b": false, "A B": false, strings.Repeat("x,", MaxKeyParts) + "y": false} {
		if CheckKey(key) != want {
			t.Errorf("key %q: %v", key, !want)
		}
	}
}

// FuzzDecoder: whatever a page holds, however it is cut, the decoder says the same, takes nothing that is no JSON, and keeps to its limits.
func FuzzDecoder(f *testing.F) {
	for _, s := range loadRounds(f, "testdata/rounds.txt") {
		for _, line := range s.lines {
			if _, body, ok := strings.Cut(line, " | "); ok && line[0] == '<' {
				f.Add([]byte(body), uint8(3))
			}
		}
	}
	f.Add([]byte(`{"value":[{"a":"\ud800"},{"\u0040removed":{}}],"@deltaLink":"\ud83d\ude00"}`), uint8(1))
	f.Add([]byte(`{"value":[`+strings.Repeat("[", 400)), uint8(200))
	f.Fuzz(func(t *testing.T, body []byte, step uint8) {
		whole, flaw := decodeAll(body, len(body)+1)
		cut, flawCut := decodeAll(body, int(step)+1)
		if !slices.Equal(whole, cut) || fmt.Sprint(flaw) != fmt.Sprint(flawCut) {
			t.Fatalf("whole %q, %v\ncut %q, %v", whole, flaw, cut, flawCut)
		}
		var page map[string]json.RawMessage
		err := json.Unmarshal(body, &page)
		if flaw == nil && err != nil {
			t.Fatalf("took %q, which is not JSON: %v", body, err)
		}
		r := NewReader("Id")
		for _, raw := range whole {
			if !json.Valid([]byte(raw)) || raw[0] != '{' {
				t.Fatalf("took the entry %q", raw)
			}
			e, flaw := r.Read([]byte(raw))
			if flaw != nil {
				continue
			}
			row, _ := e.appendRow(nil, false)
			if !json.Valid(row) || !json.Valid(e.appendDelete(nil, true)) || e.Key.Text == "" {
				t.Fatalf("%q became %q", raw, row)
			}
		}
	})
}

func decodeAll(body []byte, step int) (entries []string, flaw error) {
	d := NewDecoder(1<<20, 4096)
	for len(body) > 0 && d.Flawed() == nil {
		n := min(step, len(body))
		d.Feed(body[:n])
		body = body[n:]
		for raw, _, ok := d.Next(); ok; raw, _, ok = d.Next() {
			entries = append(entries, string(raw))
		}
	}
	_, flaw = d.Page()
	return entries, flaw
}
