package trace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
)

func newLog(t *testing.T, limit int) *Log {
	t.Helper()
	l, err := NewLog(limit)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLogLimits(t *testing.T) {
	for _, limit := range []int{-1, MaxRecords + 1} {
		if _, err := NewLog(limit); err == nil || !strings.Contains(err.Error(), fmt.Sprint(limit)) || !strings.Contains(err.Error(), fmt.Sprint(MaxRecords)) {
			t.Errorf("limit %d: error %v", limit, err)
		}
	}
	l := newLog(t, 3)
	for i := range 5 {
		want := i + 1
		if i >= 3 {
			want = 0
		}
		if n := l.Append(New(Gate, GateAbort)); n != want {
			t.Errorf("append %d answered %d", i, n)
		}
	}
	if l.Len() != 3 || l.Lost() != 3 {
		t.Errorf("%d records, %d lost", l.Len(), l.Lost())
	}
	last := l.Records()[2]
	if last.Kind != StageBroken || last.Actor != Stage || !strings.Contains(last.Detail, "limit of 3 records") {
		t.Errorf("the last record is %v", last)
	}
	if d := newLog(t, 0); d.max != DefaultRecords {
		t.Errorf("default %d", d.max)
	}
}

func TestLogBoundsTexts(t *testing.T) {
	l := newLog(t, 0)
	long := strings.Repeat("é", MaxText)
	r := New(Gate, GateEnqueue)
	r.ID, r.Cursor, r.Detail = long, "\xff", long
	r.Args = map[string]string{"a": "x\xffy", "b": long}
	mine := r.Args
	l.Append(r)
	l.Append(r)
	got := l.Records()
	if got[0].ID != got[1].ID || !strings.HasPrefix(got[0].ID, "digest:") {
		t.Errorf("id %.30q", got[0].ID)
	}
	if !strings.HasPrefix(got[0].Cursor, "digest:") {
		t.Errorf("cursor %q", got[0].Cursor)
	}
	for _, s := range []string{got[0].Detail, got[0].Args["b"]} {
		if len(s) > MaxText || !utf8.ValidString(s) || !strings.HasSuffix(s, " [cut]") {
			t.Errorf("%d bytes, ends in %q", len(s), s[len(s)-8:])
		}
	}
	if got[0].Args["a"] != "x?y" || mine["a"] != "x\xffy" {
		t.Errorf("argument %q, caller's %q", got[0].Args["a"], mine["a"])
	}
	many := New(Stage, StageSetup)
	many.Args = map[string]string{}
	for i := range MaxArgs + 1 {
		many.Args[fmt.Sprint(i)] = ""
	}
	l.Append(many)
	if r := l.Records()[2]; r.Kind != StageBroken || !strings.Contains(r.Detail, "65 arguments, limit 64") {
		t.Errorf("%v", r)
	}
}

func TestLogSince(t *testing.T) {
	l := newLog(t, 0)
	l.Append(New(Gate, GateAbort))
	l.Append(New(Gate, GateState))
	if s := l.Since(1); len(s) != 1 || s[0].Kind != GateState {
		t.Errorf("%v", s)
	}
	if l.Since(3) != nil || l.Since(-1) != nil {
		t.Error("a place that is not there")
	}
}

func records(t *rapid.T) []Record {
	l, _ := NewLog(0)
	text := rapid.StringN(0, 8, 40)
	for range rapid.IntRange(0, 6).Draw(t, "n") {
		r := New(Session, SessionEnd)
		r.T = rapid.Int64Range(0, 1<<40).Draw(t, "t")
		r.Seq = event.Seq(rapid.Int64Range(-1, int64(event.MaxSeq)).Draw(t, "seq"))
		r.ID, r.Detail = text.Draw(t, "id"), text.Draw(t, "detail")
		r.Accepted = rapid.Uint64().Draw(t, "accepted")
		if rapid.Bool().Draw(t, "has args") {
			r.Args = rapid.MapOfN(text, text, 0, 4).Draw(t, "args")
			if len(r.Args) == 0 {
				r.Args = nil
			}
		}
		l.Append(r)
	}
	return l.Records()
}

// TestCodecRoundTrip: what was written is read back, and written again it has the same bytes and the same hash.
func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := records(t)
		for _, r := range in {
			for k := range r.Args {
				if !utf8.ValidString(k) {
					t.Skip("names are ours, and valid")
				}
			}
		}
		var b bytes.Buffer
		if err := Encode(&b, in); err != nil {
			t.Fatal(err)
		}
		out, err := Decode(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if len(in) == 0 {
			in = nil
		}
		if d := cmp.Diff(in, out); d != "" {
			t.Fatal(d)
		}
		h1, _ := Hash(in)
		h2, _ := Hash(out)
		if h1 != h2 {
			t.Fatal("hashes differ")
		}
	})
}

func TestEncodedFormIsFixed(t *testing.T) {
	r := New(Stage, StageExpect)
	r.N, r.Status, r.Args = 1, "counts", map[string]string{"b": "<&>", "a": "é\u2028"}
	got, err := Line(r)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"n":1,"t":0,"actor":"stage","kind":"expect","seq":-1,"status":"counts","args":{"a":"é\u2028","b":"<&>"}}` + "\n"
	if string(got) != want {
		t.Errorf("%s", got)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	const good = `{"n":1,"t":0,"actor":"gate","kind":"abort","seq":-1}` + "\n"
	if _, err := Decode(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"unknown member":    strings.Replace(good, `"seq"`, `"sequence"`, 1),
		"another case":      strings.Replace(good, `"seq"`, `"Seq"`, 1),
		"twice":             strings.Replace(good, `"seq":-1`, `"seq":-1,"seq":-1`, 1),
		"order":             `{"t":0,"n":1,"actor":"gate","kind":"abort","seq":-1}` + "\n",
		"white space":       strings.Replace(good, `,`, `, `, 1),
		"float":             strings.Replace(good, `-1`, `1.0`, 1),
		"wrong number":      strings.Replace(good, `"n":1`, `"n":2`, 1),
		"cut short":         strings.TrimSuffix(good, "\n"),
		"empty line":        "\n" + good,
		"two on a line":     strings.TrimSuffix(good, "\n") + good,
		"no JSON":           "x\n",
		"unknown kind":      strings.Replace(good, "abort", "abortt", 1),
		"kind of another":   strings.Replace(good, "abort", "publish", 1),
		"longer than limit": strings.Repeat(" ", MaxLine+1),
	} {
		if _, err := Decode(strings.NewReader(text)); !errors.Is(err, ErrTrace) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestRollingHashSeesOrder(t *testing.T) {
	a, b := New(Gate, GateAbort), New(Gate, GateApply)
	h1, _ := Hash([]Record{a, b})
	h2, _ := Hash([]Record{b, a})
	h3, _ := Hash([]Record{a})
	if h1 == h2 || h1 == h3 || len(h1) != 64 {
		t.Error(h1, h2, h3)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"n":1,"t":0,"actor":"gate","kind":"abort","seq":-1}` + "\n")
	f.Add("{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := Decode(strings.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Encode(&b, out); err != nil || b.String() != text {
			t.Fatalf("%q was read and written as %q, %v", text, b.String(), err)
		}
	})
}
