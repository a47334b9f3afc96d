package trace

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
)

// MaxShown bounds the text form of a record, in bytes: an excerpt is read on a terminal.
const MaxShown = 240

// String is r for people, in one line of at most MaxShown bytes: number, time, actor, kind, and what is set.
func (r Record) String() string {
	b := []byte(fmt.Sprintf("#%d %s %s %s", r.N, seconds(r.T), r.Actor, r.Kind))
	add := func(name, text string) {
		if text != "" {
			b = append(b, ' ')
			b = append(b, name...)
			b = append(b, quoteIfOdd(text)...)
		}
	}
	number := func(name string, n uint64) {
		if n != 0 {
			add(name, strconv.FormatUint(n, 10))
		}
	}
	number("epoch=", uint64(r.Epoch))
	number("ticket=", r.Ticket)
	add("", r.Type)
	if r.Merge {
		add("", "merging")
	}
	if r.Seq != event.NoSeq {
		add("seq=", strconv.FormatInt(int64(r.Seq), 10))
	}
	add("id=", r.ID)
	add("phase=", r.Phase)
	add("", r.Status)
	add("reason=", r.Reason)
	add("", r.Detail)
	add("cursor=", r.Cursor)
	add("watermark=", r.Watermark)
	add("timestamp=", r.Timestamp)
	add("deltaToken=", r.DeltaToken)
	if r.Persisted {
		add("", "persisted")
	}
	number("pending=", uint64(max(r.Pending, 0)))
	number("accepted=", r.Accepted)
	number("duplicates=", r.Duplicates)
	number("gaps=", r.Gaps)
	number("overflows=", r.Overflows)
	number("ms=", uint64(max(r.Ms, 0)))
	for _, name := range slices.Sorted(maps.Keys(r.Args)) {
		add(name+"=", r.Args[name])
	}
	return cut(string(b), MaxShown)
}

// seconds writes milliseconds as seconds with three decimals.
func seconds(ms int64) string {
	return fmt.Sprintf("%d.%03ds", ms/1000, max(ms%1000, 0))
}

// quoteIfOdd keeps a line one line and free of terminal sequences.
func quoteIfOdd(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(text)
	}
	return text
}
