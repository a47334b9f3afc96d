package simulator

import (
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
)

// The token of a delta link is `t-<source version>-<sequence>`: the next round is the change behind that sequence. A fault can give out the
// same place in another form, `t-7-41~2`. The token of a next link is `s-<version>-<sequence>-<cycle>-<place>`, with d in place of s
// for the pages of a delta round: it names the cycle that the server holds, and the place in it. Each text is written in one
// way only, and read back strictly.

// freshToken begins a new snapshot, with changes tracked: what a Location on 410 may name.
const freshToken = "fresh"

// deltaToken is the token for seq, in its n-th other form if n is not 0.
func deltaToken(v int, seq event.Seq, n int64) string {
	t := cursor(OData, v, seq)
	if n > 0 {
		t += "~" + strconv.FormatInt(n, 10)
	}
	return t
}

// parseDelta reads a token of deltaToken.
func parseDelta(text string) (v int, seq event.Seq, ok bool) {
	base, form, other := strings.Cut(text, "~")
	if n, good := number(form, int64(event.MaxSeq)); other && (!good || n == 0) {
		return 0, 0, false
	}
	return parseCursor(OData, base)
}

// newest is the form in which a place was given out last, where that expired the forms before it. The zero value expires none.
type newest struct {
	seq  event.Seq
	form int64
}

func (n newest) retires(seq event.Seq, token string) bool {
	_, text, _ := strings.Cut(token, "~")
	form, _ := number(text, int64(event.MaxSeq))
	return n.form > form && n.seq == seq
}

// skipToken is the token of a next link, taken apart.
type skipToken struct {
	delta   bool
	version int
	seq     event.Seq
	cycle   int64
	place   int
}

func (t skipToken) String() string {
	kind := "s"
	if t.delta {
		kind = "d"
	}
	return kind + "-" + strconv.Itoa(t.version) + "-" + strconv.FormatInt(int64(t.seq), 10) + "-" +
		strconv.FormatInt(t.cycle, 10) + "-" + strconv.Itoa(t.place)
}

func parseSkip(text string) (t skipToken, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) != 5 || parts[0] != "s" && parts[0] != "d" {
		return t, false
	}
	v, ok1 := number(parts[1], 1<<31-1)
	seq, ok2 := number(parts[2], int64(event.MaxSeq))
	n, ok3 := number(parts[3], int64(event.MaxSeq))
	place, ok4 := number(parts[4], 1<<31-1)
	return skipToken{parts[0] == "d", int(v), event.Seq(seq), n, int(place)}, ok1 && ok2 && ok3 && ok4
}
