package checkpoint

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/conform-dev/conform/core/event"
)

// Kind and version of a checkpoint's JSON form (facts 1.4, D-20).
const (
	Kind    = "honua.realtime-checkpoint"
	Version = 1
)

// MaxRecentIDs is how many event ids a checkpoint may carry: the ceiling of the gate's id window. A longer list is refused
// by its length alone, before an id is looked at, so that a poisoned history cannot hold up a start (facts 2.9).
const MaxRecentIDs = 4096

// MaxText is the longest position or context member, in bytes. Positions travel in URLs and headers, which servers cut off
// far below this.
const MaxText = 64 << 10

// Checkpoint is an accepted position and what it is bound to.
type Checkpoint struct {
	Context   Context
	Resume    event.Position // an empty member counts as absent (D-17)
	RecentIDs []string       // oldest first, at most MaxRecentIDs; shipped stores keep none
	SavedAt   int64          // unix milliseconds
}

// Clone copies c with everything it refers to.
func (c Checkpoint) Clone() Checkpoint {
	c.RecentIDs = slices.Clone(c.RecentIDs)
	return c
}

// Check fails with invalid-checkpoint when c is not the shape of a checkpoint (facts 1.4). The context may hold empty
// members here: such a one is equal to no valid context.
func (c *Checkpoint) Check() error {
	if len(c.RecentIDs) > MaxRecentIDs {
		return tooManyIDs()
	}
	for _, m := range c.Context.members() {
		if what := flawOf(*m.value, wellFormed, MaxText); what != "" {
			return fail(event.InvalidCheckpoint, "context."+m.name+what)
		}
	}
	if err := checkPosition(c.Resume); err != nil {
		return err
	}
	for i, id := range c.RecentIDs {
		if what := flawOf(id, utf8.ValidString, event.MaxIDBytes); what != "" {
			return fail(event.InvalidCheckpoint, fmt.Sprintf("recentEventIds[%d]%s", i, what))
		}
	}
	if !ValidTime(c.SavedAt) {
		return fail(event.InvalidCheckpoint, "savedAt is outside the range of a date")
	}
	return nil
}

// flawOf says what is wrong with a text, "" if nothing is.
func flawOf(text string, unicode func(string) bool, limit int) string {
	switch {
	case len(text) > limit:
		return fmt.Sprintf(" is longer than %d bytes", limit)
	case !unicode(text):
		return " is not Unicode text"
	}
	return ""
}

func tooManyIDs() error {
	return fail(event.InvalidCheckpoint, fmt.Sprintf("recentEventIds: the %d-entry safety ceiling is exceeded", MaxRecentIDs))
}

func checkPosition(p event.Position) error {
	if !p.Seq.Valid() {
		return fail(event.InvalidCheckpoint, "resume.sequence is not a safe integer")
	}
	for _, m := range positions(&p) {
		if what := flawOf(*m.value, utf8.ValidString, MaxText); what != "" {
			return fail(event.InvalidCheckpoint, "resume."+m.name+what)
		}
	}
	return nil
}

type positionMember struct {
	name  string
	value *string
}

// positions lists the four text positions, in the contract's order.
func positions(p *event.Position) [4]positionMember {
	return [4]positionMember{
		{"cursor", &p.Cursor},
		{"watermark", &p.Watermark},
		{"timestamp", &p.Timestamp},
		{"deltaToken", &p.DeltaToken},
	}
}

func positionValue(p event.Position) members {
	out := make(members, 0, 5) // written in the canonical order, which saves sorting them
	add := func(name, text string) {
		if text != "" {
			out = append(out, member{name, text})
		}
	}
	add("cursor", p.Cursor)
	add("deltaToken", p.DeltaToken)
	out = append(out, member{"sequence", int64(p.Seq)})
	add("timestamp", p.Timestamp)
	add("watermark", p.Watermark)
	return out
}

// JSON is c in canonical form. It fails when Check does, and for a result that is larger than MaxDocument: what was written
// can be read again.
func (c *Checkpoint) JSON() ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	ids := make([]any, len(c.RecentIDs))
	for i, id := range c.RecentIDs {
		ids[i] = id
	}
	doc, err := appendValue(nil, members{
		{"kind", Kind},
		{"version", int64(Version)},
		{"context", c.Context.value()},
		{"resume", positionValue(c.Resume)},
		{"recentEventIds", ids},
		{"savedAt", FormatTime(c.SavedAt)},
	})
	if err == nil && len(doc) > MaxDocument {
		return nil, fail(event.InvalidCheckpoint, errTooLarge.Error())
	}
	return doc, err
}
