package sse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// P-SSE-02: a lone CR ends a line at once; the LF that may come later is swallowed.
func TestLoneCRDispatchesAtOnce(t *testing.T) {
	d := NewDecoder(0)
	d.Feed([]byte("data: a\r\r"))
	if b, ok := d.Next(); !ok || string(b.Data) != "a" {
		t.Fatalf("got %v %v, want the event before any further byte", b, ok)
	}
	if _, ok := d.Next(); ok {
		t.Fatal("a second block")
	}
	d.Feed([]byte("\n"))
	if b, ok := d.Next(); ok || d.Lines() != 2 {
		t.Fatalf("the late LF made %v, lines %d", b, d.Lines())
	}
}

func TestBlocksKnowWhereTheyBegin(t *testing.T) {
	text := "\uFEFF: hi\n\nid: 1\n:hb\ndata: a\n\nretry: 5\nid: 2\n\n"
	want := []string{"comment 3", "comment 15", "event 9", "retry 28", "id 28"}
	names := map[BlockKind]string{EventBlock: "event", IDBlock: "id", CommentLine: "comment", RetryLine: "retry"}
	for _, reads := range [][][]byte{{[]byte(text)}, bytewise([]byte(text))} {
		d := NewDecoder(0)
		var got []string
		for _, r := range reads {
			d.Feed(r)
			for b, ok := d.Next(); ok; b, ok = d.Next() {
				got = append(got, fmt.Sprintf("%s %d", names[b.Kind], b.At))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if d.Offset() != int64(len(text)) || d.Lines() != 9 || d.Unfinished() != 0 {
			t.Errorf("offset %d, lines %d, unfinished %d", d.Offset(), d.Lines(), d.Unfinished())
		}
	}
}

func TestUnfinishedBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"data: a\n\n": 0, "data: a\n": 8, "data: a": 7, "data: a\n\nid: 7\ndata": 10, ":hb": 3, "id: 1\n:hb\n": 10,
	} {
		d := NewDecoder(0)
		d.Feed([]byte(text))
		for _, ok := d.Next(); ok; _, ok = d.Next() {
		}
		if got := d.Unfinished(); got != want {
			t.Errorf("%q: unfinished %d, want %d", text, got, want)
		}
	}
}

// A frame that is too large is one error, which says where the event begins, and the decoder then holds nothing.
func TestTooLargeNamesItsPlaceAndLetsGo(t *testing.T) {
	const limit = 1 << 20
	d := NewDecoder(limit)
	d.Feed([]byte("data: a\n\nid: 2\ndata: "))
	if b, ok := d.Next(); !ok || b.Kind != EventBlock {
		t.Fatal("first event lost")
	}
	d.Next()
	part := bytes.Repeat([]byte("x"), 1000)
	for range 2000 {
		d.Feed(part)
		if b, ok := d.Next(); ok {
			if b.Kind != TooLarge || b.At != 9 {
				t.Fatalf("got %+v, want TooLarge at 9", b)
			}
			break
		}
	}
	if !d.dead || cap(d.line)+cap(d.data) > 0 {
		t.Fatalf("dead %v, still holds %d bytes", d.dead, cap(d.line)+cap(d.data))
	}
	d.Feed([]byte("\n\ndata: tail\n\n"))
	if b, ok := d.Next(); ok {
		t.Fatalf("delivered %+v after the end", b)
	}
}

func TestLargeBuffersAreNotKept(t *testing.T) {
	d := NewDecoder(0)
	big := []byte("data: " + strings.Repeat("x", 1<<20) + "\n\n")
	for _, r := range [][]byte{big[:1000], big[1000:], []byte("data: a\ndata: b\n\ndata: c")} {
		d.Feed(r)
		for _, ok := d.Next(); ok; _, ok = d.Next() {
		}
	}
	if held := cap(d.line) + cap(d.data); held > keepBytes {
		t.Errorf("holds %d bytes after a large event, want at most %d", held, keepBytes)
	}
}

func TestDecoderLimitOutOfRangePanics(t *testing.T) {
	for _, limit := range []int{-1, CeilingMaxEventBytes + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("limit %d was taken", limit)
				}
			}()
			NewDecoder(limit)
		}()
	}
}

// repairSlow is the Encoding standard's UTF-8 decoder, byte by byte, as the standard states it.
func repairSlow(b []byte) string {
	var out strings.Builder
	point, seen, needed, low, high := rune(0), 0, 0, byte(0x80), byte(0xBF)
	for i := 0; i < len(b); i++ {
		c := b[i]
		if needed == 0 {
			switch {
			case c <= 0x7F:
				out.WriteByte(c)
			case c >= 0xC2 && c <= 0xDF:
				needed, point = 1, rune(c&0x1F)
			case c >= 0xE0 && c <= 0xEF:
				if c == 0xE0 {
					low = 0xA0
				}
				if c == 0xED {
					high = 0x9F
				}
				needed, point = 2, rune(c&0xF)
			case c >= 0xF0 && c <= 0xF4:
				if c == 0xF0 {
					low = 0x90
				}
				if c == 0xF4 {
					high = 0x8F
				}
				needed, point = 3, rune(c&0x7)
			default:
				out.WriteRune('\uFFFD')
			}
			continue
		}
		if c < low || c > high {
			point, seen, needed, low, high = 0, 0, 0, 0x80, 0xBF
			i-- // the byte is looked at again
			out.WriteRune('\uFFFD')
			continue
		}
		low, high = 0x80, 0xBF
		point = point<<6 | rune(c&0x3F)
		if seen++; seen == needed {
			out.WriteRune(point)
			point, seen, needed = 0, 0, 0
		}
	}
	if needed > 0 {
		out.WriteRune('\uFFFD')
	}
	return out.String()
}

// Every sequence of up to three bytes of interest, and random ones, are repaired as the standard's own algorithm does it.
func TestRepairAgreesWithTheStandard(t *testing.T) {
	interesting := []byte{'a', 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF}
	check := func(b []byte) {
		if got, want := string(appendRepaired(nil, b)), repairSlow(b); got != want {
			t.Fatalf("% x: got %q, want %q", b, got, want)
		}
	}
	n := len(interesting)
	for i := range n * n * n {
		check([]byte{interesting[i/n/n], interesting[i/n%n], interesting[i%n]})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = interesting[r.IntN(n)]
		}
		check(b)
	}
}

// FuzzSplits: any way of cutting a stream gives what the whole gives, nothing panics, and no more is held than the limit
// allows.
func FuzzSplits(f *testing.F) {
	for _, s := range loadStreams(f) {
		if all := s.whole(); len(all) < 4096 {
			f.Add(all, uint16(7), uint16(s.limit))
		}
	}
	f.Fuzz(func(t *testing.T, all []byte, cut, limit uint16) {
		want := transcript(int(limit), all)
		step := int(cut)%17 + 1
		var parts [][]byte
		for rest := all; len(rest) > 0; {
			n := min(step, len(rest))
			parts, rest = append(parts, rest[:n]), rest[n:]
			step = (step*31+int(cut))%23 + 1
		}
		if got := transcript(int(limit), parts...); got != want {
			t.Fatalf("cut:\n%s\nwhole:\n%s", got, want)
		}
		d := NewDecoder(int(limit))
		for _, p := range parts {
			d.Feed(p)
			for b, ok := d.Next(); ok; b, ok = d.Next() {
				if len(b.Data) > d.Max() || len(b.ID) > d.Max() || len(b.Event) > d.Max() {
					t.Fatalf("a block above the limit of %d", d.Max())
				}
			}
			if held := len(d.line) + d.block; held > 2*d.Max() {
				t.Fatalf("holds %d bytes with a limit of %d", held, d.Max())
			}
		}
	})
}
