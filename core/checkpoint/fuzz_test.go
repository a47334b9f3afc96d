package checkpoint

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/conform-dev/conform/core/event"
)

// FuzzDecode: no document makes Decode panic or hang; what it accepts is a checkpoint that can be written, read back to the
// same bytes, judged and stored.
func FuzzDecode(f *testing.F) {
	c := Checkpoint{Context: Context{"s", "q", "v", "s", "a"}, Resume: event.Position{Seq: 41, Cursor: "c"}, RecentIDs: []string{"e"}}
	doc, err := c.JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	f.Add(bytes.Replace(doc, []byte("41"), []byte("4.1e1"), 1))
	f.Add([]byte(`{"recentEventIds":[[[]]],"kind":"\ud800"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := Decode(doc)
		if err != nil {
			return
		}
		text, err := c.JSON()
		if err != nil {
			t.Fatalf("accepted but not writable: %v", err)
		}
		again, err := Decode(text)
		if err != nil {
			t.Fatalf("written but not readable: %v: %s", err, text)
		}
		back, err := again.JSON()
		if err != nil || !bytes.Equal(back, text) {
			t.Fatalf("got %s, %v, want %s", back, err, text)
		}
		if r := Evaluate(c.Context, &c); r != event.Compatible {
			t.Fatalf("not compatible with itself: %v", r)
		}
		if _, err := c.Context.Validate(); err == nil {
			if _, err := NewRecord(&c, 0); err != nil {
				t.Fatalf("valid but not storable: %v", err)
			}
		}
	})
}

// FuzzDecodeRecord: the same for stored records.
func FuzzDecodeRecord(f *testing.F) {
	c := Checkpoint{Context: Context{"s", "q", "v", "s", "a"}, Resume: event.Position{Seq: 41, Cursor: "c"}}
	r, err := NewRecord(&c, 5)
	if err != nil {
		f.Fatal(err)
	}
	doc, err := r.JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	f.Add([]byte(`{"format":7}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := DecodeRecord(doc)
		if err != nil {
			return
		}
		text, err := r.JSON()
		if err != nil {
			t.Fatalf("accepted but not writable: %v", err)
		}
		if again, err := DecodeRecord(text); err != nil || again != r {
			t.Fatalf("got %+v, %v, want %+v", again, err, r)
		}
		r.Open(Context{})
	})
}

// FuzzCanonical: canonical form is a fixed point, means the same as the document, and is accepted by another parser.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":[1e21,-0],"a":"\ud800x"}`, `[{"":{}},null,true,1.5e-7]`, `"\ud83d\ude00"`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		once, err := Canonical(doc)
		if err != nil {
			return
		}
		twice, err := Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("got %s, %v, want %s", twice, err, once)
		}
		if !json.Valid(doc) || !json.Valid(once) || !utf8.Valid(once) {
			t.Fatalf("another parser refuses %q or %q", doc, once)
		}
		var a, b any
		if json.Unmarshal(doc, &a) != nil || json.Unmarshal(once, &b) != nil {
			t.Fatalf("another parser refuses %q or %q", doc, once)
		}
		ja, _ := json.Marshal(a)
		jb, _ := json.Marshal(b)
		if string(ja) != string(jb) && !bytes.Contains(ja, []byte("-0")) {
			t.Fatalf("%s means %s, %s means %s", doc, ja, once, jb)
		}
	})
}
