package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/event"
)

// TestEvaluateOrder: the first difference wins, in the contract's order (facts 3.1). Each row changes its member and all
// that come after it, so that a wrong order shows.
func TestEvaluateOrder(t *testing.T) {
	want := example().Context
	reasons := []event.Reason{event.SourceChanged, event.QueryChanged, event.SourceVersionChanged, event.SchemaVersionChanged, event.AuthorizationScopeChanged}
	for i, reason := range reasons {
		t.Run(reason.String(), func(t *testing.T) {
			alone, rest := example(), example()
			*alone.Context.members()[i].value += "2"
			if r := Evaluate(want, &alone); r != reason {
				t.Errorf("alone: got %v", r)
			}
			after := rest.Context.members()
			for _, m := range after[i:] {
				*m.value = ""
			}
			if r := Evaluate(want, &rest); r != reason {
				t.Errorf("with all after it: got %v", r)
			}
			rest.Resume.Seq = event.NoSeq
			if r := Evaluate(want, &rest); r != event.InvalidCheckpoint {
				t.Errorf("with a broken shape: got %v", r)
			}
		})
	}
	if r := Evaluate(want, nil); r != event.InvalidCheckpoint {
		t.Errorf("no checkpoint: got %v", r)
	}
}

// TestEvaluateTrims: both sides are trimmed before they are compared (D-20); inside a text nothing is.
func TestEvaluateTrims(t *testing.T) {
	padded := example()
	for _, m := range padded.Context.members() {
		*m.value = "\ufeff\t" + *m.value + "\u00a0\u2029"
	}
	bare := example()
	if r := Evaluate(bare.Context, &padded); r != event.Compatible {
		t.Errorf("padded checkpoint: %v", r)
	}
	if r := Evaluate(padded.Context, &bare); r != event.Compatible {
		t.Errorf("padded context: %v", r)
	}
	for _, inside := range []string{"inci dents", "Incidents", "incidents\u0085", "incidénts"} {
		c := example()
		c.Context.SourceID = inside
		if r := Evaluate(bare.Context, &c); r != event.SourceChanged {
			t.Errorf("%q: %v", inside, r)
		}
	}
}

func TestContextValidate(t *testing.T) {
	for i := range 5 {
		for _, bad := range []string{"", " \t\ufeff", "a\xffb"} {
			c := example().Context
			m := c.members()[i]
			*m.value = bad
			_, err := c.Validate()
			if err == nil || reasonOf(t, err) != event.InvalidCheckpoint || !strings.Contains(err.Error(), m.name) {
				t.Errorf("%s = %q: %v", m.name, bad, err)
			}
		}
	}
	c := Context{" a ", "b", "c", "d", "e\n"}
	got, err := c.Validate()
	if want := (Context{"a", "b", "c", "d", "e"}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if c.SourceID != " a " {
		t.Error("Validate changed its receiver")
	}
}

// TestEvaluateJSON: a document is decoded, judged, and bound to the caller's own context.
func TestEvaluateJSON(t *testing.T) {
	c := example()
	c.Context.SourceID = " incidents "
	doc := mustJSON(t, c.JSON)
	got, r, err := EvaluateJSON(example().Context, []byte(doc))
	if err != nil || r != event.Compatible {
		t.Fatal(r, err)
	}
	if diff := cmp.Diff(example(), got); diff != "" {
		t.Error(diff)
	}
	other := example().Context
	other.SchemaVersion = "s4"
	if got, r, err = EvaluateJSON(other, []byte(doc)); r != event.SchemaVersionChanged || err != nil || got.Resume.Seq != 0 {
		t.Errorf("got %+v, %v, %v", got, r, err)
	}
	if _, r, err = EvaluateJSON(other, []byte("{")); r != event.InvalidCheckpoint || err == nil {
		t.Errorf("got %v, %v", r, err)
	}
}

// TestIDCeiling (P-CK-07): a list beyond the ceiling is refused by its length, its entries unread. What stands beyond the
// ceiling here is no JSON at all, and what stands before it is no string: neither is noticed.
func TestIDCeiling(t *testing.T) {
	doc := func(list string) []byte {
		text := mustJSON(t, (&Checkpoint{Context: example().Context}).JSON)
		return []byte(strings.Replace(text, `"recentEventIds":[]`, `"recentEventIds":`+list, 1))
	}
	ids := func(n int) string { return strings.Repeat(`"e",`, n-1) + `"e"` }

	for _, n := range []int{300, MaxRecentIDs} {
		c, err := Decode(doc("[" + ids(n) + "]"))
		if err != nil || len(c.RecentIDs) != n {
			t.Errorf("%d ids: %d, %v", n, len(c.RecentIDs), err)
		}
	}
	for name, list := range map[string]string{
		"strings":               "[" + ids(MaxRecentIDs+1) + "]",
		"not even strings":      "[" + strings.Repeat("1,", MaxRecentIDs) + "1]",
		"garbage behind it":     "[" + ids(MaxRecentIDs) + ",\x00\xff",
		"a document full of it": "[" + strings.Repeat("0,", MaxDocument/2-1000) + "0]",
	} {
		_, err := Decode(doc(list))
		if err == nil || !strings.Contains(err.Error(), "4096-entry safety ceiling") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := example()
	c.RecentIDs = make([]string, MaxRecentIDs+1)
	for i := range c.RecentIDs {
		c.RecentIDs[i] = "\xff" // would be refused for itself if it were read
	}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "ceiling") {
		t.Errorf("in memory: %v", err)
	}
	if r := Evaluate(c.Context, &c); r != event.InvalidCheckpoint {
		t.Errorf("evaluated: %v", r)
	}
}

func TestDocumentLimits(t *testing.T) {
	nest := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := Canonical(nest(MaxDepth)); err != nil {
		t.Errorf("depth %d: %v", MaxDepth, err)
	}
	if _, err := Canonical(nest(MaxDepth + 1)); !errors.Is(err, errTooDeep) {
		t.Errorf("depth %d: %v", MaxDepth+1, err)
	}
	if _, err := Canonical([]byte(strings.Repeat("[", MaxDocument))); !errors.Is(err, errTooDeep) {
		t.Errorf("only brackets: %v", err)
	}
	text := func(n int) []byte { return []byte(`"` + strings.Repeat("a", n-2) + `"`) }
	if _, err := Canonical(text(MaxDocument)); err != nil {
		t.Errorf("%d bytes: %v", MaxDocument, err)
	}
	if _, err := Canonical(text(MaxDocument + 1)); !errors.Is(err, errTooLarge) {
		t.Errorf("%d bytes: %v", MaxDocument+1, err)
	}
	if _, err := Decode(text(MaxDocument + 1)); err == nil || reasonOf(t, err) != event.InvalidCheckpoint {
		t.Errorf("decode: %v", err)
	}
}

// TestCheckNamesTheMember: what a caller builds in memory is held to the same shape as a document.
func TestCheckNamesTheMember(t *testing.T) {
	for want, spoil := range map[string]func(*Checkpoint){
		"resume.sequence":             func(c *Checkpoint) { c.Resume.Seq = event.NoSeq },
		"resume.sequence is not":      func(c *Checkpoint) { c.Resume.Seq = event.MaxSeq + 1 },
		"resume.cursor":               func(c *Checkpoint) { c.Resume.Cursor = "\xed\xa0\x80" },
		"resume.deltaToken":           func(c *Checkpoint) { c.Resume.DeltaToken = "\xff" },
		"recentEventIds[1]":           func(c *Checkpoint) { c.RecentIDs[1] = "\xff" },
		"context.schemaVersion":       func(c *Checkpoint) { c.Context.SchemaVersion = "\xff" },
		"resume.watermark is longer":  func(c *Checkpoint) { c.Resume.Watermark = strings.Repeat("w", MaxText+1) },
		"context.sourceId is longer":  func(c *Checkpoint) { c.Context.SourceID = strings.Repeat("s", MaxText+1) },
		"recentEventIds[0] is longer": func(c *Checkpoint) { c.RecentIDs[0] = strings.Repeat("e", event.MaxIDBytes+1) },
		"savedAt":                     func(c *Checkpoint) { c.SavedAt = maxTime + 1 },
		"savedAt is outside":          func(c *Checkpoint) { c.SavedAt = -maxTime - 1 },
		"recentEventIds: the 4096-":   func(c *Checkpoint) { c.RecentIDs = make([]string, 5000) },
	} {
		c := example()
		spoil(&c)
		for name, err := range map[string]error{"Check": c.Check(), "JSON": second(c.JSON()), "RedactedJSON": second(c.RedactedJSON()), "NewRecord": second(NewRecord(&c, 0))} {
			if err == nil || reasonOf(t, err) != event.InvalidCheckpoint || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", want, name, err)
			}
		}
	}
	c := example()
	c.Resume.Cursor, c.Context.SourceID = strings.Repeat("c", MaxText), strings.Repeat("s", MaxText)
	c.RecentIDs[0] = strings.Repeat("e", event.MaxIDBytes)
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	if _, err := c.Context.Validate(); err != nil {
		t.Error(err)
	}
	c.RecentIDs = slices.Repeat([]string{strings.Repeat("\x01", event.MaxIDBytes)}, 1400) // six bytes for each
	if _, err := c.JSON(); err == nil || !strings.Contains(err.Error(), errTooLarge.Error()) {
		t.Errorf("a document of 33 MiB: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestErrorsHoldNoValue: whatever is refused, the text of the error does not repeat it.
func TestErrorsHoldNoValue(t *testing.T) {
	const canary = "canary-7f3a"
	text := mustJSON(t, (&Checkpoint{Context: example().Context, RecentIDs: []string{"e"}}).JSON)
	for i := range len(text) {
		if text[i] != '"' && text[i] != ':' {
			continue
		}
		doc := text[:i+1] + canary + text[i+1:]
		if _, err := Decode([]byte(doc)); err != nil && strings.Contains(err.Error()+fmt.Sprintf("%+v", err), canary) {
			t.Errorf("%v repeats a value of %s", err, doc)
		}
	}
}
