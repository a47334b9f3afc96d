package trace

import (
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/conform-dev/conform/core/event"
)

// Limits of a log.
const (
	// DefaultRecords bounds a trace: the longest scenario of the suite writes a few thousand records, and 65,536 of them
	// take about 24 MiB.
	DefaultRecords = 1 << 16
	// MaxRecords is the ceiling of that setting: about 400 MiB, more than a report can show.
	MaxRecords = 1 << 20
	// MaxText bounds each text of a record, in bytes: a server can send an id of megabytes, and a trace is for reading.
	MaxText = 4096
	// MaxArgs bounds the arguments of a record: the longest expectation has five, a set-up about twenty.
	MaxArgs = 64
)

// Log collects the records of one scenario. It is not safe for concurrent use: a driver that has goroutines owns one and
// guards it with its own lock.
type Log struct {
	max     int
	records []Record
	lost    uint64
}

// NewLog makes a log that holds at most limit records, DefaultRecords if 0. A limit below 0 or above MaxRecords is an
// error that names it, never clamped (D-13).
func NewLog(limit int) (*Log, error) {
	if limit == 0 {
		limit = DefaultRecords
	}
	if limit < 0 || limit > MaxRecords {
		return nil, fmt.Errorf("trace records: %d is not in 1 to %d", limit, MaxRecords)
	}
	return &Log{max: limit}, nil
}

// New is a record of actor and kind that carries no sequence. A Record literal would claim sequence 0.
func New(actor Actor, kind Kind) Record {
	return Record{Actor: actor, Kind: kind, Seq: event.NoSeq}
}

// Append adds r, numbers it and answers its number. Texts longer than MaxText are cut and marked; ids and positions that
// long are digested, so that equal ones stay equal. The last place of a full log is taken by a StageBroken record that
// says so: a trace that is not whole proves nothing and its outcome is an error. What comes after is counted (Lost) and
// answered with 0.
func (l *Log) Append(r Record) int {
	switch {
	case len(l.records) == l.max:
		l.lost++
		return 0
	case len(l.records) == l.max-1:
		l.lost++
		r = Record{T: r.T, Actor: Stage, Kind: StageBroken, Seq: event.NoSeq,
			Detail: fmt.Sprintf("trace full: limit of %d records reached", l.max)}
	}
	bound(&r)
	r.N = len(l.records) + 1
	l.records = append(l.records, r)
	return r.N
}

// Len is how many records the log holds.
func (l *Log) Len() int { return len(l.records) }

// Lost is how many records found no place.
func (l *Log) Lost() uint64 { return l.lost }

// Records is a copy of what the log holds; Args are shared and must not change.
func (l *Log) Records() []Record { return append([]Record(nil), l.records...) }

// Since is a view of the records after number n, valid until the next Append.
func (l *Log) Since(n int) []Record {
	if n < 0 || n > len(l.records) {
		return nil
	}
	return l.records[n:len(l.records):len(l.records)]
}

// bound makes the texts of r valid UTF-8 and no longer than MaxText, and gives it Args of its own.
func bound(r *Record) {
	for _, s := range []struct {
		field string
		text  *string
	}{{"id", &r.ID}, {"cursor", &r.Cursor}, {"watermark", &r.Watermark}, {"timestamp", &r.Timestamp}, {"deltaToken", &r.DeltaToken}} {
		if len(*s.text) > MaxText || !utf8.ValidString(*s.text) {
			*s.text = "digest:" + Digest(s.field, *s.text)
		}
	}
	for _, s := range []*string{&r.Type, &r.Status, &r.Reason, &r.Detail, &r.Phase} {
		*s = Clip(*s)
	}
	if len(r.Args) > MaxArgs {
		*r = Record{T: r.T, Actor: Stage, Kind: StageBroken, Seq: event.NoSeq,
			Detail: fmt.Sprintf("a %s record of %s has %d arguments, limit %d", r.Kind, r.Actor, len(r.Args), MaxArgs)}
		return
	}
	r.Args = maps.Clone(r.Args)
	for k, v := range r.Args {
		if kept := Clip(v); kept != v {
			r.Args[k] = kept
		}
	}
}

// Clip makes text valid UTF-8 and at most MaxText bytes long, with a mark where it was cut.
func Clip(text string) string { return strings.ToValidUTF8(cut(text, MaxText), "?") }

func cut(text string, limit int) string {
	const mark = " [cut]"
	if len(text) <= limit {
		return text
	}
	n := limit - len(mark)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + mark
}
