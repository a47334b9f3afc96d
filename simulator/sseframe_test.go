package simulator

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestForged is P-SSE-16: a line end or NUL in an id or an event name is refused, and nothing is written.
func TestForged(t *testing.T) {
	for _, b := range []Block{
		{Event: "delta", ID: "5\ndata: forged\n\nid: 99", Data: []byte("{}")},
		{Event: "a\rb", Data: []byte("{}")},
		{ID: "x\x00y", Data: []byte("{}")},
		{Event: "x\x00y", Data: []byte("{}")},
		{ID: "5\r", Data: []byte("{}")},
		{Comment: "hb\ndata: forged", Data: []byte("{}")},
	} {
		got, err := AppendBlock([]byte("before"), b, Dialect{})
		if !errors.Is(err, ErrInvalidField) || !strings.HasPrefix(err.Error(), "invalid-field") || string(got) != "before" {
			t.Errorf("%q: wrote %q, error %v", b, got, err)
		}
	}
}

// TestDataLines is P-SSE-17: each line end in the data begins a new data line, and a reader gets four lines.
func TestDataLines(t *testing.T) {
	got, err := AppendBlock(nil, Block{Data: []byte("one\ntwo\rthree\r\nfour")}, Dialect{})
	if err != nil || string(got) != "data: one\ndata: two\ndata: three\ndata: four\n\n" {
		t.Errorf("wrote %q, error %v", got, err)
	}
	if diff := cmp.Diff([]sseEvent{{data: "one\ntwo\nthree\nfour"}}, readSSE(got), cmp.AllowUnexported(sseEvent{})); diff != "" {
		t.Error(diff)
	}
}

// TestBlocks: the bytes of the wire's blocks (docs/wire.md).
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		block Block
		want  string
	}{
		{Block{Comment: "hb"}, ":hb\n\n"},
		{Block{Retry: 3 * time.Second}, "retry: 3000\n\n"},
		{Block{ID: "c-7-41"}, "id: c-7-41\n\n"},
		{Block{ID: "c-7-41", Event: "delta", Data: []byte(`{}`)}, "id: c-7-41\nevent: delta\ndata: {}\n\n"},
		{Block{Data: []byte{}}, "data: \n\n"},
		{Block{Data: []byte("\n")}, "data: \ndata: \n\n"},
	} {
		if got, err := AppendBlock(nil, c.block, Dialect{}); err != nil || string(got) != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.block, got, err, c.want)
		}
	}
}

// TestDialects: whatever the dialect and whatever the data, a reader gets the same event, but for the line ends in it.
func TestDialects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[{}",:\\ a\r\n]*`)).Draw(t, "data")
		b := Block{ID: rapid.StringMatching(`[a-z :-]{0,8}`).Draw(t, "id"), Event: rapid.StringMatching(`[a-z :]{1,8}`).Draw(t, "event"), Data: []byte(text)}
		d := Dialect{End: rapid.SampledFrom([]string{"\n", "\r", "\r\n"}).Draw(t, "end"), Tight: rapid.Bool().Draw(t, "tight")}
		out, err := AppendBlock(nil, b, d)
		if err != nil {
			t.Fatal(err)
		}
		want := sseEvent{b.ID, b.Event, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)}
		if got := readSSE(out); len(got) != 1 || got[0] != want {
			t.Fatalf("%q read as %q, want %q", out, got, want)
		}
	})
}

// TestPerLine: data that is JSON stays the same JSON when it is broken behind commas, never inside a string.
func TestPerLine(t *testing.T) {
	doc := `{"a":"x,y\",z","b":[1,2,3],"c":{}}`
	out, err := AppendBlock(nil, Block{Data: []byte(doc)}, Dialect{PerLine: 1})
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out, []byte("data: ")); n != 5 {
		t.Errorf("%d data lines:\n%s", n, out)
	}
	if got := readSSE(out)[0].data; strings.ReplaceAll(got, "\n", "") != doc {
		t.Errorf("read back %q", got)
	}
}
