package storetest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
)

// identities: versions are outside the key and are discarded openly; what is in the key cannot even address the record.
func (k Kept) identities(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*checkpoint.Context)
		reason event.Reason // None: nothing is found, and the record stays
	}{
		{"source version v8", func(c *checkpoint.Context) { c.SourceVersion = "v8" }, event.SourceVersionChanged},
		{"schema version s4", func(c *checkpoint.Context) { c.SchemaVersion = "s4" }, event.SchemaVersionChanged},
		{"query q2", func(c *checkpoint.Context) { c.QueryFingerprint = "q2" }, event.None},
		{"scope acl2", func(c *checkpoint.Context) { c.AuthorizationScopeFingerprint = "acl2" }, event.None},
		{"source incidents2", func(c *checkpoint.Context) { c.SourceID = "incidents2" }, event.None},
	} {
		b := k.bench(t, store.Config{})
		saved := At(50, b.now)
		save(t, b, saved)
		scope := Scope()
		c.change(&scope)
		a := b.Load(t.Context(), scope)
		if c.reason == event.None {
			if a.Found != checkpoint.Nothing || len(b.heard) != 0 {
				t.Errorf("%s: %v %v, heard %+v", c.what, a.Found, a.Reason, b.heard)
			}
			wantPosition(t, b, saved)
			continue
		}
		if a.Found != checkpoint.Discarded || a.Reason != c.reason || len(k.Dump(t, b.Store)) != 0 {
			t.Errorf("%s: %v %v, %d records", c.what, a.Found, a.Reason, len(k.Dump(t, b.Store)))
		}
		b.wantHeard(t, store.Loading, store.Trouble(c.reason.String()), c.reason)
	}
}

// order: a record with every defect at once is discarded for the first of them; mended one by one, for the next.
func (k Kept) order(t *testing.T) {
	b := k.bench(t, store.Config{})
	defects := []struct {
		trouble store.Trouble
		code    event.Reason
		spoil   func(m map[string]any)
	}{
		{store.UnsupportedFormat, event.InvalidCheckpoint, func(m map[string]any) { m["format"] = "another/1.0" }},
		{"invalid-checkpoint", event.InvalidCheckpoint, func(m map[string]any) { m["eleventh"] = 1 }},
		{"authorization-scope-changed", event.AuthorizationScopeChanged, func(m map[string]any) { m["authorizationScopeDigest"] = checkpoint.ScopeDigest("scope-b") }},
		{store.Expired, event.CursorExpired, func(m map[string]any) { m["savedAt"] = checkpoint.FormatTime(b.now + 1) }},
		{"source-changed", event.SourceChanged, func(m map[string]any) { m["sourceId"] = "another" }},
		{"query-changed", event.QueryChanged, func(m map[string]any) { m["queryFingerprint"] = "another" }},
		{"source-version-changed", event.SourceVersionChanged, func(m map[string]any) { m["sourceVersion"] = "another" }},
		{"schema-version-changed", event.SchemaVersionChanged, func(m map[string]any) { m["schemaVersion"] = "another" }},
		{"invalid-checkpoint", event.InvalidCheckpoint, func(m map[string]any) { m["key"] = checkpoint.PlaceholderKey }},
	}
	for first := range defects {
		a := k.plant(t, b, func(m map[string]any) {
			for _, d := range defects[first:] {
				d.spoil(m)
			}
		})
		if d := defects[first]; a.Found != checkpoint.Discarded || a.Reason != d.code {
			t.Errorf("%s: %v %v", d.trouble, a.Found, a.Reason)
		} else {
			b.wantHeard(t, store.Loading, d.trouble, d.code)
		}
	}
	if a := k.plant(t, b, func(map[string]any) {}); a.Found != checkpoint.Stored || len(b.heard) != 0 {
		t.Errorf("without a defect: %v %v", a.Found, a.Reason)
	}
}

// lister is what a shipped store can do beside a Store's three calls.
type lister interface {
	Records(context.Context) ([]checkpoint.Record, error)
	Clear(context.Context) error
}

func (k Kept) records(t *testing.T) {
	b := k.bench(t, store.Config{})
	l, ok := b.Store.(lister)
	if !ok {
		t.Fatal("the store neither lists nor clears")
	}
	names := func() []string {
		t.Helper()
		records, err := l.Records(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := []string{}
		for _, r := range records {
			out = append(out, r.SourceID)
		}
		return out
	}
	want := func(sources ...string) {
		t.Helper()
		got, _ := json.Marshal(names())
		if text, _ := json.Marshal(sources); string(got) != string(text) {
			t.Errorf("listed %s, want %s", got, text)
		}
	}
	if got := names(); len(got) != 0 {
		t.Errorf("an empty store lists %q", got)
	}
	k.Plant(t, b.Store, "sha256:planted", []byte(`{"format":"another/1.0"}`))
	for _, source := range []string{"trams", "buses", "incidents", "buses"} {
		b.now++
		c := At(41, b.now)
		c.Context.SourceID = source
		save(t, b, c)
	}
	want("trams", "incidents", "buses") // only what has the shape of a record, the least recently written first
	if records, err := l.Records(t.Context()); err != nil || records[1].Resume != At(41, 0).Resume || records[2].ObservedAt != b.now {
		t.Errorf("%+v, %v", records, err)
	}
	if n := len(k.Dump(t, b.Store)); n != 4 {
		t.Errorf("a list has changed the store: %d documents", n)
	}
	if err := l.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, b, Scope())
	if n := len(k.Dump(t, b.Store)); n != 0 {
		t.Errorf("%d documents after a clear", n)
	}
	save(t, b, At(43, b.now))
	want("incidents")
	if len(b.heard) != 0 {
		t.Errorf("heard %+v", b.heard)
	}
}
