package checkpoint

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
)

// TestNumbersLikeEncodingJSON: the standard encoder follows ECMAScript's number form too, apart from -0; ours is written
// from the rule and must agree on any double.
func TestNumbersLikeEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 {
			t.Skip()
		}
		want, _ := json.Marshal(f)
		if got := appendNumber(nil, f); string(got) != string(want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// TestSequenceLikeRational: exactSeq agrees with arithmetic that never rounds.
func TestSequenceLikeRational(t *testing.T) {
	text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "number")
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("%s is no number", s)
		}
		want := r.IsInt() && r.Sign() >= 0 && r.Num().Cmp(big.NewInt(int64(event.MaxSeq))) <= 0
		got, ok := exactSeq(s)
		if ok != want || ok && r.Cmp(new(big.Rat).SetInt64(int64(got))) != 0 {
			t.Fatalf("%s: got %d, %v, want %v", s, got, ok, r)
		}
	})
}

// TestKeyOrderLikeUTF16: keys sort as their UTF-16 code units do.
func TestKeyOrderLikeUTF16(t *testing.T) {
	units := rapid.SliceOfN(rapid.OneOf(
		rapid.Rune(), rapid.RuneFrom([]rune{'a', 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF}), rapid.Int32Range(surrogateFirst, surrogateLast),
	), 0, 4)
	spell := func(rs []rune) (s string, u []uint16) {
		var b []byte
		for _, r := range rs {
			b = appendRune(b, r)
			if isSurrogate(r) {
				u = append(u, uint16(r))
			} else {
				u = utf16.AppendRune(u, r)
			}
		}
		return string(b), u
	}
	rapid.Check(t, func(t *rapid.T) {
		a, ua := spell(units.Draw(t, "a"))
		b, ub := spell(units.Draw(t, "b"))
		if got, want := sign(compareUnits(a, b)), slices.Compare(ua, ub); got != want {
			t.Fatalf("%x %x: got %d, want %d", ua, ub, got, want)
		}
		if !wellFormed(a) {
			t.Fatalf("%x is not well formed", ua)
		}
	})
}

func sign(n int) int { return min(max(n, -1), 1) }

// TestTimeRoundTrip: every instant survives, and reads like RFC 3339 where that applies.
func TestTimeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-maxTime, maxTime).Draw(t, "ms")
		text := FormatTime(ms)
		back, ok := ParseTime(text)
		if !ok || back != ms {
			t.Fatalf("%d is written %s and read %d, %v", ms, text, back, ok)
		}
		if text[0] == '+' || text[0] == '-' {
			return
		}
		if std, err := time.Parse(time.RFC3339, text); err != nil || std.UnixMilli() != ms {
			t.Fatalf("%s: %v, %v", text, std, err)
		}
	})
}

// TestCheckpointRoundTrip: any valid checkpoint is written and read back, and its record opens under its own context only.
func TestCheckpointRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCheckpoint(t)
		doc, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(doc)
		if err != nil {
			t.Fatalf("%v: %s", err, doc)
		}
		again, err := back.JSON()
		if err != nil || string(again) != string(doc) {
			t.Fatalf("got  %s, %v\nwant %s", again, err, doc)
		}
		if canonical, err := Canonical(doc); err != nil || string(canonical) != string(doc) {
			t.Fatalf("not canonical: %s, %v", canonical, err)
		}
		rec, err := NewRecord(&c, 0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := rec.JSON()
		if err != nil {
			t.Fatal(err)
		}
		stored, err := DecodeRecord(text)
		if err != nil || stored != rec {
			t.Fatalf("record: %+v, %v, want %+v", stored, err, rec)
		}
		opened, r := stored.Open(c.Context)
		if r != event.Compatible || opened.Resume != c.Resume || len(opened.RecentIDs) != 0 {
			t.Fatalf("opened: %v %+v", r, opened)
		}
	})
}

func drawCheckpoint(t *rapid.T) Checkpoint {
	name := rapid.String().Filter(func(s string) bool { return trim(s) != "" })
	pos := rapid.String()
	return Checkpoint{
		Context: Context{name.Draw(t, "source"), name.Draw(t, "query"), name.Draw(t, "sourceVersion"), name.Draw(t, "schemaVersion"), name.Draw(t, "scope")},
		Resume: event.Position{
			Seq:    event.Seq(rapid.Int64Range(0, int64(event.MaxSeq)).Draw(t, "seq")),
			Cursor: pos.Draw(t, "cursor"), Watermark: pos.Draw(t, "watermark"), Timestamp: pos.Draw(t, "timestamp"), DeltaToken: pos.Draw(t, "deltaToken"),
		},
		RecentIDs: rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "ids"),
		SavedAt:   rapid.Int64Range(-maxTime, maxTime).Draw(t, "savedAt"),
	}
}

// TestHashedBytes: a lone surrogate is hashed as U+FFFD, one for each, and a pair as its character.
func TestHashedBytes(t *testing.T) {
	lone, low := "\xed\xa0\xbd", "\xed\xb8\x80"
	for in, want := range map[string]string{
		"é😀":                   "é😀",
		"a" + lone + "b":       "a\ufffdb",
		lone + lone:            "\ufffd\ufffd",
		lone + low:             "😀",
		low + lone:             "\ufffd\ufffd",
		"x\xffy":               "x\ufffdy",
		strings.Repeat("a", 3): "aaa",
	} {
		if got := toUTF8(in); got != want {
			t.Errorf("%x: got %x, want %x", in, got, want)
		}
	}
}
