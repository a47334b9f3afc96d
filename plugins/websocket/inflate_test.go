package websocket

import (
	"bytes"
	"compress/flate"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// deflater makes compressed messages as a server does (RFC 7692 7.2.1).
type deflater struct {
	takeover bool
	out      bytes.Buffer
	w        *flate.Writer
}

func (d *deflater) message(text []byte) []byte {
	if d.w == nil || !d.takeover {
		d.w, _ = flate.NewWriter(&d.out, flate.BestCompression)
	}
	d.out.Reset()
	d.w.Write(text)
	d.w.Flush()
	return bytes.TrimSuffix(bytes.Clone(d.out.Bytes()), []byte(deflateEnd[:4]))
}

// Messages come out as they went in, with and without context takeover, far beyond the window.
func TestInflateTurnsDeflateBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		takeover := rapid.Bool().Draw(t, "takeover")
		to, from := deflater{takeover: takeover}, inflater{takeover: takeover}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for range rapid.IntRange(1, 6).Draw(t, "messages") {
			text := make([]byte, rapid.SampledFrom([]int{0, 1, 300, 5_000, 40_000, 100_000}).Draw(t, "size"))
			for i := range text {
				text[i] = byte(r.IntN(3)) * byte(r.IntN(40))
			}
			got, bad := from.message(to.message(text), 1<<20)
			if bad != "" || !bytes.Equal(got, text) {
				t.Fatalf("%d bytes became %d, %q", len(text), len(got), bad)
			}
			if len(from.window) > windowBytes || !takeover && from.window != nil {
				t.Fatalf("a window of %d bytes", len(from.window))
			}
		}
	})
}

// Several final blocks in one message: each begins anew with the window of what came before.
func TestInflateFinalBlocks(t *testing.T) {
	stream := func(text, window string) []byte {
		var b bytes.Buffer
		w, _ := flate.NewWriterDict(&b, flate.BestCompression, []byte(window))
		w.Write([]byte(text))
		w.Close()
		return b.Bytes()
	}
	first, second := strings.Repeat("abcdefgh", 300), strings.Repeat("abcdefgh", 200)+"!"
	f := inflater{takeover: true}
	if _, bad := f.message((&deflater{}).message([]byte("before")), 1<<20); bad != "" {
		t.Fatal(bad)
	}
	message := append(stream(first, "before"), stream(second, "before"+first)...)
	got, bad := f.message(append(message, 0), 1<<20)
	if bad != "" || string(got) != first+second {
		t.Fatalf("%d bytes, %q", len(got), bad)
	}
	if string(f.window) != "before"+first+second {
		t.Errorf("a window of %d bytes: %.40q", len(f.window), f.window)
	}
}

// The limit counts what comes out, so that a small message cannot become a large one; and what a message may cost otherwise is
// bounded too.
func TestInflateIsBounded(t *testing.T) {
	const limit = 1 << 20
	bomb := (&deflater{}).message(make([]byte, limit+1))
	if len(bomb) > 4<<10 {
		t.Fatalf("no bomb: %d bytes", len(bomb))
	}
	f := inflater{}
	if _, bad := f.message(bomb, limit); bad != MessageTooLarge {
		t.Errorf("above the limit: %q", bad)
	}
	if cap(f.out) > limit+1 {
		t.Errorf("holds %d bytes", cap(f.out))
	}
	if got, bad := (&inflater{}).message((&deflater{}).message(make([]byte, limit)), limit); bad != "" || len(got) != limit {
		t.Errorf("at the limit: %d, %q", len(got), bad)
	}
	final := "\x03\x00" // an empty stream of one final block
	if _, bad := (&inflater{}).message([]byte(strings.Repeat(final, MaxFinalBlocks)+"\x00"), limit); bad != "" {
		t.Errorf("as many final blocks as may be: %q", bad)
	}
	if _, bad := (&inflater{}).message([]byte(strings.Repeat(final, MaxFinalBlocks+1)+"\x00"), limit); bad != BadDeflate {
		t.Errorf("one more: %q", bad)
	}
}

// A compressed message is bounded on the wire too, and the violation is the decoder's.
func TestDecoderBoundsInflated(t *testing.T) {
	d := NewDecoder(1000, Deflate{On: true})
	bomb := (&deflater{}).message(make([]byte, 1001))
	got := transcript(d, appendServerFrame(nil, 0xC2, bomb))
	if got != "violation message-too-large frame 1 at 0 close 1009\n" {
		t.Error(got)
	}
}

// FuzzInflate: no bytes panic, none makes more than the limit, and the answer does not depend on what was inflated before with a
// reset window.
func FuzzInflate(f *testing.F) {
	f.Add([]byte("\xf2\x48\xcd\xc9\xc9\x07\x00"))
	f.Add([]byte("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"))
	f.Add([]byte("\xf2\x00\x11\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 10_000
		fresh, used := inflater{}, inflater{}
		used.message([]byte("\xf2\x48\xcd\xc9\xc9\x07\x00"), limit)
		a, bad := fresh.message(b, limit)
		c, bad2 := used.message(b, limit)
		if bad != bad2 || !bytes.Equal(a, c) {
			t.Fatalf("fresh %q %x, used %q %x", bad, a, bad2, c)
		}
		if cap(fresh.out) > limit+1 {
			t.Fatalf("holds %d", cap(fresh.out))
		}
	})
}
