package simulator

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
)

// A cursor is `c-<source version>-<sequence>`, with w on the WebSocket wire and t on the OData one in place of c. To a client it
// is opaque; the server reads it back and trusts nothing in it: both numbers are written in one way only, so that two texts
// never mean one position.
var cursorMarks = map[string]string{SSE: "c-", WebSocket: "w-", OData: "t-"}

// Position is what a feed of source version v gives out for sequence seq on a wire. Empty for a wire that there is not.
func Position(wire string, v int, seq event.Seq) string {
	if cursorMarks[wire] == "" {
		return ""
	}
	return cursor(wire, v, seq)
}

// cursor writes the position of sequence seq in source version v as a wire has it.
func cursor(wire string, v int, seq event.Seq) string {
	return cursorMarks[wire] + strconv.Itoa(v) + "-" + strconv.FormatInt(int64(seq), 10)
}

// parseCursor reads a cursor; ok is false for anything this wire could not have given out.
func parseCursor(wire, text string) (v int, seq event.Seq, ok bool) {
	rest, ok := strings.CutPrefix(text, cursorMarks[wire])
	if !ok {
		return 0, 0, false
	}
	a, b, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, 0, false
	}
	v64, okV := number(a, 1<<31-1)
	s64, okS := number(b, int64(event.MaxSeq))
	if !okV || !okS {
		return 0, 0, false
	}
	return int(v64), event.Seq(s64), true
}

// number reads digits without sign or leading zero.
func number(s string, ceiling int64) (int64, bool) {
	if s == "" || len(s) > 16 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n <= ceiling
}

// eventID names the event of sequence seq; snapshotID names the snapshot at it. A snapshot sent twice is the same event.
func eventID(v int, seq event.Seq) string    { return fmt.Sprintf("e-%d-%d", v, seq) }
func snapshotID(v int, seq event.Seq) string { return fmt.Sprintf("s-%d-%d", v, seq) }

// epochName is the stream epoch of source version v: what D-41 calls streamEpoch.
func epochName(source string, v int) string { return source + "-v" + strconv.Itoa(v) }
