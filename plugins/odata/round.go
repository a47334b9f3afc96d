package odata

import (
	"strconv"

	"github.com/conform-dev/conform/core/event"
)

const (
	snapshotHead = `{"type":"snapshot","features":[`
	deltaHead    = `{"type":"delta","upserts":[`
)

// round is what a cycle has brought so far, folded to one last state per key in payload order (D-38), over all of its pages. The document
// grows in one buffer as entries come; a row that a later one supersedes leaves a hole in it, which finish closes in place.
type round struct {
	snapshot, asPatch bool
	maxRows, maxBytes int

	head  string
	doc   []byte // head, then rows with a comma behind each
	tombs []byte // deletes with a comma behind each
	rows  []placed
	last  map[string]int32 // key to the newest of rows
	puts  int              // live upserts
	drops int              // live deletes
}

// placed is one entry of the round.
type placed struct {
	key      string
	from, to int32 // in doc, or in tombs if it is gone: no document is longer than CeilingMaxEventBytes
	before   int32 // the entry that it superseded, -1 if none
	gone     bool
	dead     bool // superseded
}

// begin empties the round.
func (r *round) begin(snapshot bool) {
	r.snapshot, r.head = snapshot, deltaHead
	if snapshot {
		r.head = snapshotHead
	}
	if cap(r.doc) > keepBytes {
		r.doc = nil
	}
	if cap(r.tombs) > keepBytes {
		r.tombs = nil
	}
	if cap(r.rows) > keepBytes/64 {
		r.rows, r.last = nil, nil
	}
	if r.last == nil {
		r.last = map[string]int32{}
	}
	clear(r.last)
	clear(r.rows)
	r.doc, r.tombs, r.rows = append(r.doc[:0], r.head...), r.tombs[:0], r.rows[:0]
	r.puts, r.drops = 0, 0
}

// mark is where a page begins, to which a page that has to be asked for again falls back.
type mark struct{ doc, tombs, rows int }

func (r *round) mark() mark { return mark{len(r.doc), len(r.tombs), len(r.rows)} }

// rollback forgets everything behind m.
func (r *round) rollback(m mark) {
	for i := len(r.rows) - 1; i >= m.rows; i-- {
		p := &r.rows[i]
		r.count(p, -1)
		if p.before < 0 {
			delete(r.last, p.key)
			continue
		}
		r.last[p.key] = p.before
		before := &r.rows[p.before]
		before.dead = false
		r.count(before, 1)
	}
	clear(r.rows[m.rows:])
	r.doc, r.tombs, r.rows = r.doc[:m.doc], r.tombs[:m.tombs], r.rows[:m.rows]
}

func (r *round) count(p *placed, n int) {
	if p.gone {
		r.drops += n
	} else {
		r.puts += n
	}
}

// add takes one entry.
func (r *round) add(e Entry) *Flaw {
	if r.snapshot && e.Kind == Removed {
		return &Flaw{Word: FlawInSnapshot}
	}
	if len(r.rows) >= r.maxRows {
		return &Flaw{Word: FlawTooManyRows, Limit: int64(r.maxRows)}
	}
	p := placed{key: e.Key.Text, before: -1, gone: e.Kind == Removed}
	var flaw *Flaw
	if p.gone {
		p.from = int32(len(r.tombs))
		r.tombs = append(e.appendDelete(r.tombs, r.asPatch), ',')
		p.to = int32(len(r.tombs))
	} else {
		r.grow(e.size())
		p.from = int32(len(r.doc))
		r.doc, flaw = e.appendRow(r.doc, r.asPatch)
		r.doc = append(r.doc, ',')
		p.to = int32(len(r.doc))
	}
	if flaw == nil && len(r.doc)+len(r.tombs) > r.maxBytes {
		flaw = &Flaw{Word: FlawTooLarge, Limit: int64(r.maxBytes)}
	}
	if flaw != nil {
		return flaw
	}
	if before, ok := r.last[p.key]; ok {
		p.before, p.key = before, r.rows[before].key // one copy of the text is enough
		r.rows[before].dead = true
		r.count(&r.rows[before], -1)
	}
	r.last[p.key] = int32(len(r.rows))
	r.rows = append(r.rows, p)
	r.count(&p, 1)
	return nil
}

// grow makes room for n bytes more. The buffer grows in few and large steps: while it is copied both are there, and the collector then lets
// as much again become garbage, so that many small steps would cost four times the document. What is not written to costs no memory.
func (r *round) grow(n int) {
	if need := len(r.doc) + n; need > cap(r.doc) {
		grown := make([]byte, len(r.doc), max(need, min(4*cap(r.doc), r.maxBytes), keepBytes))
		copy(grown, r.doc)
		r.doc = grown
	}
}

// finish is the round's document, the contract's own JSON (docs/wire.md). It is valid until begin.
func (r *round) finish(n note) ([]byte, *Flaw) {
	if r.puts+r.drops < len(r.rows) {
		r.doc, r.tombs = r.compact(r.doc, len(r.head), false), r.compact(r.tombs, 0, true)
	}
	doc, one := trimComma(r.doc), r.single(n)
	if one != nil {
		doc = one
	} else if r.snapshot || r.puts > 0 {
		doc = append(doc, ']')
	} else {
		doc = append(doc[:0], `{"type":"delta"`...)
	}
	if one == nil && r.drops > 0 {
		doc = append(append(append(doc, `,"deletes":[`...), trimComma(r.tombs)...), ']')
	}
	if r.doc = n.appendTo(doc); len(r.doc) > r.maxBytes {
		return nil, &Flaw{Word: FlawTooLarge, Limit: int64(r.maxBytes)}
	}
	return r.doc, nil
}

// single is the document of a round that is one change, as the change's own event, if the server says that it is one; nil otherwise. So a
// change is the same event here as on a stream (D-64).
func (r *round) single(n note) []byte {
	switch {
	case r.snapshot || r.puts+r.drops != 1:
		return nil
	case r.puts == 1 && string(n.kind) == `"upsert"`:
		row := append([]byte(nil), trimComma(r.doc[len(r.head):])...)
		return append(append(r.doc[:0], `{"type":"upsert","feature":`...), row...)
	case r.drops == 1 && string(n.kind) == `"delete"`:
		tomb := trimComma(r.tombs)
		return append(append(r.doc[:0], `{"type":"delete",`...), tomb[1:len(tomb)-1]...)
	}
	return nil
}

// compact closes the holes of superseded entries.
func (r *round) compact(buf []byte, to int, gone bool) []byte {
	for i := range r.rows {
		if p := &r.rows[i]; p.gone == gone && !p.dead {
			to += copy(buf[to:], buf[p.from:p.to])
		}
	}
	return buf[:to]
}

func trimComma(b []byte) []byte {
	if len(b) > 0 && b[len(b)-1] == ',' {
		return b[:len(b)-1]
	}
	return b
}

// note is what a round says of its place among the rounds. Raw values are JSON as the server wrote them: what they are worth is the gate's
// business.
type note struct {
	seq                                             event.Seq // request-chain only; NoSeq leaves raw
	sequence, eventID, cursor, watermark, timestamp []byte
	kind                                            []byte // of the one change that the round is, by the server's word
	token                                           string
}

func (n note) appendTo(doc []byte) []byte {
	raw := func(name string, value []byte) {
		if value != nil {
			doc = append(append(append(append(doc, `,"`...), name...), `":`...), value...)
		}
	}
	raw("eventId", n.eventID)
	if n.seq.Valid() {
		doc = strconv.AppendInt(append(doc, `,"sequence":`...), int64(n.seq), 10)
	} else {
		raw("sequence", n.sequence)
	}
	raw("cursor", n.cursor)
	raw("watermark", n.watermark)
	raw("timestamp", n.timestamp)
	if n.token != "" {
		doc = appendText(append(doc, `,"deltaToken":`...), n.token)
	}
	return append(doc, '}')
}
