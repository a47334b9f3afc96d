package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/conform-dev/conform/core/event"
)

// Change is one thing that is published: it becomes one event with the next sequence number.
type Change struct {
	Kind    event.Kind // Upsert: one Row; Delete: one ID; Delta: any of both
	Upserts []Row
	Deletes []string // row ids
	Reason  string   // of the deletes: deleted, the same if empty, or changed: the rows left the filter. Only OData has a word for it
	ID      string   // event id; empty for the feed's own, e-<version>-<sequence>. At most MaxIDBytes, no control characters
	At      int64    // unix milliseconds of its timestamp; 0 for the time of the publish. At most MaxTime
}

// Row is one keyed record of the feed. Its version is the sequence of the change that wrote it, and is the feed's business.
type Row struct {
	ID      string          // 1 to MaxIDBytes
	Feature json.RawMessage // a JSON object of at most MaxFeatureBytes
}

// Upsert is a change of one row.
func Upsert(id string, feature string) Change {
	return Change{Kind: event.Upsert, Upserts: []Row{{ID: id, Feature: json.RawMessage(feature)}}}
}

// Delete is the removal of one row.
func Delete(id string) Change { return Change{Kind: event.Delete, Deletes: []string{id}} }

// Check refuses what the feed could not encode, and makes the features compact. The error names the member.
func (c *Change) Check() error {
	switch {
	case c.Kind == event.Upsert && (len(c.Upserts) != 1 || len(c.Deletes) != 0):
		return fmt.Errorf("an upsert has exactly one row")
	case c.Kind == event.Delete && (len(c.Deletes) != 1 || len(c.Upserts) != 0):
		return fmt.Errorf("a delete has exactly one id")
	case c.Kind == event.Delta && len(c.Upserts)+len(c.Deletes) == 0:
		return fmt.Errorf("a delta has at least one row or id")
	case c.Kind != event.Upsert && c.Kind != event.Delete && c.Kind != event.Delta:
		return fmt.Errorf("type: a change is an upsert, a delete or a delta")
	case len(c.Upserts)+len(c.Deletes) > MaxRows:
		return fmt.Errorf("a change has at most %d rows", MaxRows)
	}
	if !has([]string{"", "deleted", "changed"}, c.Reason) || c.Reason != "" && len(c.Deletes) == 0 {
		return fmt.Errorf("reason: the reason of a delete is deleted or changed")
	}
	if c.At < 0 || c.At > MaxTime {
		return fmt.Errorf("timestamp: %d is not in 0 to %d", c.At, int64(MaxTime))
	}
	if len(c.ID) > MaxIDBytes || !utf8.ValidString(c.ID) || strings.ContainsFunc(c.ID, unicode.IsControl) {
		return fmt.Errorf("eventId: at most %d bytes of UTF-8 without control characters", MaxIDBytes)
	}
	for i := range c.Upserts {
		if err := c.Upserts[i].check(); err != nil {
			return err
		}
	}
	for _, id := range c.Deletes {
		if err := checkID(id); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a row that could not be encoded, and makes its feature compact.
func (r *Row) check() error {
	if err := checkID(r.ID); err != nil {
		return err
	}
	if len(r.Feature) > MaxFeatureBytes {
		return fmt.Errorf("feature: %d bytes, limit %d", len(r.Feature), MaxFeatureBytes)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, r.Feature); err != nil || out.Len() == 0 || out.Bytes()[0] != '{' {
		return fmt.Errorf("feature: a row's feature is a JSON object")
	}
	if depth(out.Bytes()) > maxDepth {
		return fmt.Errorf("feature: nested deeper than %d", maxDepth)
	}
	r.Feature = out.Bytes()
	return nil
}

func checkID(id string) error {
	if id == "" || len(id) > MaxIDBytes || !utf8.ValidString(id) {
		return fmt.Errorf("id: a row's id has 1 to %d bytes of UTF-8", MaxIDBytes)
	}
	return nil
}

// depth is how deep valid JSON nests.
func depth(doc []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// The kinds of made-up changes that PublishAuto knows.
const (
	AutoUpsert = "upsert" // one row each
	AutoDelete = "delete" // the row that was changed longest ago; an upsert when there is none
	AutoDelta  = "delta"  // two rows each
	AutoMixed  = "mixed"  // all of them in turn, deletes included
)

// autoKeys is how many ids made-up changes walk over: few, so that rows are changed again and again.
const autoKeys = 8

// auto makes up the change that will become sequence seq. It is a function of the sequence and the rows alone.
func (f *feed) auto(kind string, seq event.Seq) Change {
	if kind == AutoMixed {
		kind = []string{AutoUpsert, AutoDelta, AutoUpsert, AutoDelete, AutoDelta}[seq%5]
	}
	row := func(k event.Seq) Row {
		id := strconv.FormatInt(int64(k%autoKeys)+1, 10)
		state := []string{"open", "assigned", "monitoring", "resolved"}[seq%4]
		return Row{ID: id, Feature: json.RawMessage(fmt.Sprintf(`{"state":%q,"revision":%d}`, state, seq))}
	}
	switch kind {
	case AutoDelete:
		if id, ok := f.oldest(); ok {
			return Change{Kind: event.Delete, Deletes: []string{id}}
		}
	case AutoDelta:
		c := Change{Kind: event.Delta, Upserts: []Row{row(seq), row(seq + 3)}}
		if id, ok := f.oldest(); ok && seq%2 == 0 && id != c.Upserts[0].ID && id != c.Upserts[1].ID {
			c.Deletes = []string{id}
		}
		return c
	}
	return Change{Kind: event.Upsert, Upserts: []Row{row(seq)}}
}
