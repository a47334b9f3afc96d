package simulator

import (
	"strconv"
	"time"

	"github.com/conform-dev/conform/core/event"
)

// shape is what may be different about an event from what the feed says: faults change it, and options.
type shape struct {
	id       string // event id
	cursor   string // in the JSON, empty for none
	pad      int    // bytes of padding in the event
	seq      event.Seq
	position string // the feed's, whether it is sent or not
	conflict string // member at which the nested checkpoint disagrees, empty for none
	named    string // given out in place of the feed's position, empty for none
	other    bool   // another cursor than the feed's
	bare     bool   // no cursor
	merge    bool   // a snapshot that replaces nothing
}

// appendEvent writes the event of a kept change (facts 1.1, 5.4).
func (f *feed) appendEvent(b []byte, e *entry, s shape) []byte {
	c := &e.change
	b = f.appendHead(b, c.Kind, e.seq, e.at, s)
	switch c.Kind {
	case event.Upsert:
		b = append(b, `,"feature":`...)
		b = f.appendPatch(b, &stored{row: c.Upserts[0], version: e.seq, at: e.at})
	case event.Delete:
		b = append(b, ',')
		b = f.appendTomb(b, c.Deletes[0], e)
	case event.Delta:
		b = append(b, `,"upserts":[`...)
		for i := range c.Upserts {
			if i > 0 {
				b = append(b, ',')
			}
			b = f.appendPatch(b, &stored{row: c.Upserts[i], version: e.seq, at: e.at})
		}
		b = append(b, `],"deletes":[`...)
		for i, id := range c.Deletes {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(f.appendTomb(append(b, '{'), id, e), '}')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// appendSnapshot writes the whole state at seq. Whether it replaces what was there is said in as many words.
func (f *feed) appendSnapshot(b []byte, seq event.Seq, rows []*stored, at int64, s shape) []byte {
	b = f.appendHead(b, event.Snapshot, seq, at, s)
	b = strconv.AppendBool(append(b, `,"replace":`...), !s.merge)
	b = append(b, `,"features":[`...)
	for i, r := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.appendPatch(b, r)
	}
	return append(b, ']', '}')
}

func (f *feed) appendHead(b []byte, k event.Kind, seq event.Seq, at int64, s shape) []byte {
	b = append(append(append(b, `{"type":"`...), k.String()...), '"')
	if s.id != "" {
		b = appendString(append(b, `,"eventId":`...), s.id)
	}
	b = strconv.AppendInt(append(b, `,"sequence":`...), int64(seq), 10)
	if s.cursor != "" {
		b = appendString(append(b, `,"cursor":`...), s.cursor)
	}
	b = append(append(append(b, `,"timestamp":"`...), timestamp(at)...), '"')
	if f.watermark != "" && s.conflict != "watermark" {
		b = appendString(append(b, `,"watermark":`...), f.watermark+strconv.FormatInt(int64(s.seq), 10))
	}
	b = f.appendConflict(b, at, s)
	if s.pad > 0 {
		b = append(b, `,"padding":"`...)
		for range s.pad {
			b = append(b, '.')
		}
		b = append(b, '"')
	}
	return b
}

func (f *feed) appendPatch(b []byte, r *stored) []byte {
	b = appendString(append(b, `{"id":`...), r.row.ID)
	b = appendString(append(b, `,"sourceId":`...), f.source)
	b = strconv.AppendInt(append(b, `,"version":`...), int64(r.version), 10)
	b = append(append(append(b, `,"updatedAt":"`...), timestamp(r.at)...), '"')
	b = append(append(b, `,"feature":`...), r.row.Feature...)
	return append(b, '}')
}

func (f *feed) appendTomb(b []byte, id string, e *entry) []byte {
	b = appendString(append(b, `"id":`...), id)
	b = appendString(append(b, `,"sourceId":`...), f.source)
	b = strconv.AppendInt(append(b, `,"version":`...), int64(e.seq), 10)
	return strconv.AppendInt(append(b, `,"deletedAt":`...), e.at, 10)
}

// timestamp writes unix milliseconds as a date of RFC 3339, always with milliseconds and in UTC: one time has one text.
func timestamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
