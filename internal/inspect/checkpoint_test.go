package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
)

const savedAt = 1_785_124_800_000

func sample() checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Context:   checkpoint.Context{SourceID: "incidents", QueryFingerprint: "sha256:q", SourceVersion: "v7", SchemaVersion: "s3", AuthorizationScopeFingerprint: "scope-a"},
		Resume:    event.Position{Seq: 41, Cursor: "cursor-x", Watermark: "wm-1", Timestamp: "2026-07-27T03:59:59.500Z", DeltaToken: "dt-9"},
		RecentIDs: []string{"e40", "e41"},
		SavedAt:   savedAt,
	}
}

func sampleJSON(t testing.TB) string {
	t.Helper()
	c := sample()
	doc, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

func recordJSON(t testing.TB, change func(*checkpoint.Record)) string {
	t.Helper()
	c := sample()
	rec, err := checkpoint.NewRecord(&c, savedAt+250)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&rec)
	}
	doc, err := rec.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// judged gives the answers to what stands on in.
func judged(t testing.TB, in string, with Stored) []stored {
	t.Helper()
	var out bytes.Buffer
	if err := Checkpoint(strings.NewReader(in), &out, with); err != nil {
		t.Fatal(err)
	}
	return answers(t, out.String())
}

func answers(t testing.TB, text string) []stored {
	t.Helper()
	var all []stored
	for line := range strings.Lines(text) {
		var a stored
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&a); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, a)
	}
	return all
}

// TestForms: canonical and redacted form and the digests are those of the contract (facts 3.4 to 3.6, golden vectors).
func TestForms(t *testing.T) {
	c := sample()
	redacted, err := c.RedactedJSON()
	if err != nil {
		t.Fatal(err)
	}
	a := judged(t, " "+strings.Replace(sampleJSON(t), `{"context"`, `{"dropped":[1], "context"`, 1)+" ", Stored{})[0]
	if string(a.Canonical) != sampleJSON(t) || string(a.Redacted) != string(redacted) {
		t.Errorf("%s\n%s", a.Canonical, a.Redacted)
	}
	canonical, err := checkpoint.CanonicalDigest([]byte(sampleJSON(t)))
	if err != nil {
		t.Fatal(err)
	}
	want := digests{
		Canonical:  canonical,
		Key:        "sha256:1cc6527de48e64392ec9ad047430673abfe8ddbbea507d9362082b1e60fec944",
		Scope:      "sha256:fc95076f6320e537aac75190aadfd4a0086ea5c343c780bcf58f9b1092f13c26",
		Cursor:     "sha256:e32f6b2af36122b3da51260aac11357e63a523be40c18644daa80ccffca97459",
		Watermark:  "sha256:4211db7e70637c054365ad7b01fd0e36d33b66b57b3ce2ab8859433efca2bd95",
		DeltaToken: "sha256:ae1955d420d614f83f3f22f5c03e44ff74d37ee444b9158cbe4a6d4e1cd438a3",
	}
	if *a.Digests != want || a.Document != "checkpoint" || a.Verdict != "valid" || *a.Screen != (screened{Verdict: "accepted"}) {
		t.Errorf("%+v %+v", a, *a.Digests)
	}
	r := judged(t, recordJSON(t, nil), Stored{})[0]
	if string(r.Canonical) != recordJSON(t, nil) || r.Document != "record" || r.Verdict != "valid" || r.Digests.Key != want.Key || r.Digests.Cursor != want.Cursor {
		t.Errorf("%+v %+v", r, *r.Digests)
	}
	if hidden := recordJSON(t, func(r *checkpoint.Record) {
		r.Resume.Cursor, r.Resume.Watermark, r.Resume.DeltaToken = want.Cursor, want.Watermark, want.DeltaToken
	}); string(r.Redacted) != hidden {
		t.Errorf("got %s\nwant %s", r.Redacted, hidden)
	}
}

// TestVerdicts: each verdict of a load (facts 4.4), with what is wrong by the path of the member.
func TestVerdicts(t *testing.T) {
	scope := sample().Context
	at := func(ms int64) *int64 { ms += savedAt; return &ms }
	record := recordJSON(t, nil)
	other := func(change func(*checkpoint.Context)) *checkpoint.Context { c := scope; change(&c); return &c }
	for _, c := range []struct {
		name, doc string
		with      Stored
		want      string // document verdict detail; error; differs
	}{
		{"a checkpoint of this context", sampleJSON(t), Stored{Context: &scope}, "checkpoint compatible ; ; []"},
		{"a record of this context", record, Stored{Context: &scope, Now: at(900_000), MaxAge: 900_000}, "record compatible ; ; []"},
		{"P-CK-02", record, Stored{Now: at(900_001), MaxAge: 900_000}, "record checkpoint-expired checkpoint-expired; the record is 900001 ms old, the limit is 900000 ms; []"},
		{"P-CK-03", record, Stored{Now: at(-1), MaxAge: 900_000}, "record checkpoint-expired corrupt-time; the record is stamped 1 ms in the future; []"},
		{"the age of a checkpoint decides nothing", sampleJSON(t), Stored{Now: at(900_001), MaxAge: 900_000}, "checkpoint valid ; ; []"},
		{"P-CK-01: a version", record, Stored{Context: other(func(c *checkpoint.Context) { c.SourceVersion = "v8" })}, "record source-version-changed ; ; [sourceVersion]"},
		{"two things differ, the first decides", sampleJSON(t), Stored{Context: other(func(c *checkpoint.Context) { c.SourceID, c.SchemaVersion = "b", "s4" })}, "checkpoint source-changed ; ; [sourceId schemaVersion]"},
		{"the scope of a checkpoint", sampleJSON(t), Stored{Context: other(func(c *checkpoint.Context) { c.AuthorizationScopeFingerprint = "b" })}, "checkpoint authorization-scope-changed ; ; [authorizationScopeFingerprint]"},
		{"the scope of a record comes before its age", record, Stored{Context: other(func(c *checkpoint.Context) { c.AuthorizationScopeFingerprint = "b" }), Now: at(-1)}, "record authorization-scope-changed ; ; [authorizationScopeDigest]"},
		{"its age comes before the rest", record, Stored{Context: other(func(c *checkpoint.Context) { c.SourceID = "b" }), Now: at(-1)}, "record checkpoint-expired corrupt-time; the record is stamped 1 ms in the future; [sourceId]"},
		{"a key that is not its own", recordJSON(t, func(r *checkpoint.Record) { r.Key = checkpoint.PlaceholderKey }), Stored{Context: &scope}, "record invalid-checkpoint ; key is not the one of this source, query and authorization scope; []"},
		{"P-CK-04: another format", `{"format":"honua.realtime-checkpoint-store/1.1","sequence":50}`, Stored{}, "record unsupported-format ; format is not honua.realtime-checkpoint-store/1.0; []"},
		{"P-CK-04: cut off", `{"format":"honua.realtime-checkpoint-store/1.0","seq`, Stored{}, "unknown invalid-checkpoint ; not JSON at byte 52: a string without end; []"},
		{"P-CK-04: empty", ``, Stored{}, "unknown invalid-checkpoint ; not JSON at byte 0: a value was expected; []"},
		{"P-CK-04: not the ten members", `{"format":"honua.realtime-checkpoint-store/1.0","sequence":"50"}`, Stored{}, "record invalid-checkpoint ; record holds an unknown member; []"},
		{"no format", `{"key":"k"}`, Stored{}, "record unsupported-format ; format is not honua.realtime-checkpoint-store/1.0; []"},
		{"neither", `{"a":1}`, Stored{}, "unknown invalid-checkpoint ; neither a checkpoint, which has kind, nor a record, which has format; []"},
		{"no object", `[]`, Stored{}, "unknown invalid-checkpoint ; neither a checkpoint, which has kind, nor a record, which has format; []"},
		{"a sequence that is text", strings.Replace(sampleJSON(t), "41,", `"41",`, 1), Stored{}, "checkpoint invalid-checkpoint ; resume.sequence is no number; []"},
		{"a sequence that is not safe", strings.Replace(record, `"sequence":41`, `"sequence":9007199254740993`, 1), Stored{}, "record invalid-checkpoint ; resume.sequence is not a safe integer; []"},
		{"an empty member", strings.Replace(sampleJSON(t), `"v7"`, `" "`, 1), Stored{}, "checkpoint invalid-checkpoint ; context.sourceVersion is empty; []"},
		{"an id that is no text", strings.Replace(sampleJSON(t), `"e41"`, `41`, 1), Stored{}, "checkpoint invalid-checkpoint ; recentEventIds[1] is no string; []"},
		{"a context", strings.Replace(sampleJSON(t), checkpoint.Kind, checkpoint.ContextKind, 1), Stored{}, "checkpoint invalid-checkpoint ; kind is not honua.realtime-checkpoint; []"},
	} {
		all := judged(t, c.doc, c.with)
		if len(all) != 1 {
			t.Fatalf("%s: %d answers", c.name, len(all))
		}
		a := all[0]
		if got := fmt.Sprintf("%s %s %s; %s; %v", a.Document, a.Verdict, a.Detail, a.Error, a.Differs); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if c.with.Now != nil && (a.AgeMs == nil || *a.AgeMs != *c.with.Now-savedAt) {
			t.Errorf("%s: age %v", c.name, a.AgeMs)
		}
	}
}

// TestDocuments: one document per line, one over many lines, broken ones in between: each has its answer, and the line in
// which it begins.
func TestDocuments(t *testing.T) {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(sampleJSON(t)), "", "  "); err != nil {
		t.Fatal(err)
	}
	in := "\n  \r\n" + sampleJSON(t) + "\r\n" + pretty.String() + "\n" + `{"a":"cut` + "\n" + recordJSON(t, nil) + "\n\n7\n" + sampleJSON(t) + "}\n{\"a\":[\n"
	next := 4 + strings.Count(pretty.String(), "\n") + 1 // the line behind the document over many lines
	want := fmt.Sprintf("3 checkpoint valid, 4 checkpoint valid, %d unknown invalid-checkpoint, %d record valid, %d unknown invalid-checkpoint, %d unknown invalid-checkpoint, %d unknown invalid-checkpoint",
		next, next+1, next+3, next+4, next+5)
	for how, r := range map[string]io.Reader{"whole": strings.NewReader(in), "bytewise": iotest.OneByteReader(strings.NewReader(in))} {
		var out bytes.Buffer
		if err := Checkpoint(r, &out, Stored{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range answers(t, out.String()) {
			got = append(got, fmt.Sprint(a.Line, " ", a.Document, " ", a.Verdict))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s:\n got %s\nwant %s", how, s, want)
		}
	}
}

// TestDocumentLimit: a document is held up to its limit and refused beyond, and the one before it has its answer.
func TestDocumentLimit(t *testing.T) {
	docs := newDocuments(strings.NewReader("{}\n"+strings.Repeat(" ", 90)+"{\n"+strings.Repeat("1", 90)+"\n}"), 100)
	if doc, line, err := docs.next(); string(doc) != "{}" || line != 1 || err != nil {
		t.Errorf("%q %d %v", doc, line, err)
	}
	var at *LineError
	if _, _, err := docs.next(); !errors.As(err, &at) || at.Line != 2 || !strings.Contains(err.Error(), "longer than 100 bytes") {
		t.Errorf("%v", err)
	}
	whole := strings.Repeat("1", 99) + "\n"
	docs = newDocuments(strings.NewReader(whole), 100)
	if doc, _, err := docs.next(); len(doc) != 99 || err != nil {
		t.Errorf("%d bytes, %v", len(doc), err)
	}
	if _, _, err := docs.next(); err != io.EOF {
		t.Errorf("%v", err)
	}
	endless := io.MultiReader(strings.NewReader(`{"kind":"`), endlessly('x'))
	if err := Checkpoint(endless, io.Discard, Stored{}); !errors.As(err, &at) || at.Line != 1 {
		t.Errorf("%v", err)
	}
}

type endlessly byte

func (e endlessly) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// TestReadContext: what --context takes. Errors name the place and the member.
func TestReadContext(t *testing.T) {
	doc, _ := json.Marshal(map[string]any{"sourceId": " incidents ", "queryFingerprint": "sha256:q", "sourceVersion": "v7", "schemaVersion": "s3", "authorizationScopeFingerprint": "scope-a"})
	for _, text := range []string{string(doc), "\n " + strings.Replace(string(doc), "{", `{"kind":"honua.realtime-resume-context","version":1,`, 1) + "\n"} {
		if ctx, err := ReadContext([]byte(text)); err != nil || ctx != sample().Context {
			t.Errorf("%s: %+v, %v", text, ctx, err)
		}
	}
	for text, want := range map[string]string{
		"": "byte 1: not JSON", "[]": "byte 1: not an object", `{"sourceId":"a"}`: "context.queryFingerprint is no string",
		`{"source":"a"}`: `unknown member "source"`, strings.Replace(string(doc), "v7", " ", 1): "context.sourceVersion is empty",
	} {
		if _, err := ReadContext([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestSecretsAreWithheld: wherever a text stands in a document, one that no store would keep is never shown; what can be
// shown without it still is.
func TestSecretsAreWithheld(t *testing.T) {
	const secret = "canary7f3a"
	members := map[string]func(*checkpoint.Checkpoint) *string{
		"context.sourceId":                      func(c *checkpoint.Checkpoint) *string { return &c.Context.SourceID },
		"context.queryFingerprint":              func(c *checkpoint.Checkpoint) *string { return &c.Context.QueryFingerprint },
		"context.sourceVersion":                 func(c *checkpoint.Checkpoint) *string { return &c.Context.SourceVersion },
		"context.schemaVersion":                 func(c *checkpoint.Checkpoint) *string { return &c.Context.SchemaVersion },
		"context.authorizationScopeFingerprint": func(c *checkpoint.Checkpoint) *string { return &c.Context.AuthorizationScopeFingerprint },
		"resume.cursor":                         func(c *checkpoint.Checkpoint) *string { return &c.Resume.Cursor },
		"resume.watermark":                      func(c *checkpoint.Checkpoint) *string { return &c.Resume.Watermark },
		"resume.timestamp":                      func(c *checkpoint.Checkpoint) *string { return &c.Resume.Timestamp },
		"resume.deltaToken":                     func(c *checkpoint.Checkpoint) *string { return &c.Resume.DeltaToken },
		"recentEventIds[1]":                     func(c *checkpoint.Checkpoint) *string { return &c.RecentIDs[1] },
	}
	for path, of := range members {
		hides := strings.HasPrefix(path, "context.") || path == "resume.timestamp"
		for _, text := range []string{"Bearer " + secret, "token=" + secret, "https://u:" + secret + "@h/", "a?" + secret} {
			c := sample()
			*of(&c) = text
			doc, err := c.JSON()
			if err != nil {
				t.Fatal(err)
			}
			docs := []string{string(doc)}
			if rec, err := checkpoint.NewRecord(&c, savedAt); err == nil {
				doc, err := rec.JSON()
				if err != nil {
					t.Fatal(err)
				}
				docs = append(docs, string(doc))
			}
			scope := sample().Context
			var out bytes.Buffer
			if err := Checkpoint(strings.NewReader(strings.Join(docs, "\n")), &out, Stored{Context: &scope}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), secret) {
				t.Errorf("%s is shown: %s", path, out.String())
			}
			a := answers(t, out.String())[0]
			if a.Withheld["canonical"] != path || a.Canonical != nil || (a.Withheld["redacted"] == path) != hides || (a.Redacted == nil) != hides {
				t.Errorf("%s: %v %s %s", path, a.Withheld, a.Canonical, a.Redacted)
			}
		}
	}
}

// TestBrokenStoredOutput: an output that fails ends the work with its error.
func TestBrokenStoredOutput(t *testing.T) {
	if err := Checkpoint(strings.NewReader("{}"), full{}, Stored{}); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := Screen(strings.NewReader("a"), full{}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// FuzzCheckpoint: whatever stands on stdin, there is one JSON answer per document, whose lines rise, and a form is shown only
// when no text in it is refused by the screen.
func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte(sampleJSON(f)+"\n"+recordJSON(f, nil)), int64(savedAt))
	f.Add([]byte(strings.Replace(sampleJSON(f), "cursor-x", "Bearer x", 1)), int64(0))
	f.Add([]byte("{\n\"kind\"\n:1}\n\n{\"format\":\"\\\""), int64(-1))
	f.Fuzz(func(t *testing.T, in []byte, now int64) {
		if !checkpoint.ValidTime(now) {
			t.Skip()
		}
		scope := sample().Context
		var out bytes.Buffer
		if err := Checkpoint(bytes.NewReader(in), &out, Stored{Context: &scope, Now: &now, MaxAge: 1}); err != nil {
			t.Fatal(err)
		}
		last := 0
		all := answers(t, out.String())
		for _, a := range all {
			if a.Line <= last || a.Verdict == "" || a.Document == "" {
				t.Fatalf("%+v", a)
			}
			last = a.Line
			for _, form := range []json.RawMessage{a.Canonical, a.Redacted} {
				if form != nil {
					wantScreened(t, form)
				}
			}
		}
		if len(all) == 0 {
			t.Fatal("no answer")
		}
	})
}

// wantScreened fails for a text in a document that the screen refuses. Names of members are the contract's.
func wantScreened(t *testing.T, doc []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if checkpoint.Screen(v) != checkpoint.Accepted {
				t.Fatalf("%q is shown", v)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
}
