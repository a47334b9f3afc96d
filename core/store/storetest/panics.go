package storetest

import (
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
)

func (k Kept) invalid(t *testing.T) {
	b := k.bench(t, store.Config{})
	save(t, b, At(41, b.now))
	for name, spoil := range map[string]func(*checkpoint.Checkpoint){
		"no sequence":   func(c *checkpoint.Checkpoint) { c.Resume.Seq = event.NoSeq },
		"unsafe":        func(c *checkpoint.Checkpoint) { c.Resume.Seq = event.MaxSeq + 1 },
		"empty version": func(c *checkpoint.Checkpoint) { c.Context.SourceVersion = " " },
		"too many ids":  func(c *checkpoint.Checkpoint) { c.RecentIDs = make([]string, checkpoint.MaxRecentIDs+1) },
		"all of it":     func(c *checkpoint.Checkpoint) { *c = checkpoint.Checkpoint{} },
	} {
		c := At(42, b.now)
		spoil(&c)
		save(t, b, c)
		if d := b.wantHeard(t, store.Saving, "invalid-checkpoint", event.InvalidCheckpoint); d.ScopeKey != checkpoint.PlaceholderKey {
			t.Errorf("%s: key %s", name, d.ScopeKey)
		}
	}
	if a := b.Load(t.Context(), checkpoint.Context{}); a.Found != checkpoint.Nothing {
		t.Errorf("a load without a context: %v", a.Found)
	}
	if d := b.wantHeard(t, store.Loading, "invalid-checkpoint", event.InvalidCheckpoint); d.ScopeKey != checkpoint.PlaceholderKey {
		t.Errorf("key %s", d.ScopeKey)
	}
	if err := b.Forget(t.Context(), checkpoint.Context{}); err == nil {
		t.Error("forgetting without a context says nothing")
	}
	wantPosition(t, b, At(41, 0))
}

func (k Kept) contained(t *testing.T) {
	clock := false
	s, err := k.Open(t, store.Config{
		Now: func() int64 {
			if clock {
				panic("clock")
			}
			return 1_000_000
		},
		OnDiagnostic: func(store.Diagnostic) { panic("diagnostic") },
	})
	if err != nil {
		t.Fatal(err)
	}
	counts, ok := s.(interface{ Contained() uint64 })
	if !ok {
		t.Fatal("the store does not count what it contained")
	}
	save(t, s, At(41, 1_000_000))
	clock = true
	save(t, s, At(42, 1_000_000)) // not written: the clock, and the report of it
	clock = false
	wantPosition(t, s, At(41, 0))
	clock = true
	if a := s.Load(t.Context(), Scope()); a.Found != checkpoint.Discarded || a.Reason != event.CursorExpired || a.Detail != checkpoint.DetailTime {
		t.Errorf("a load whose clock fails: %v %v %q", a.Found, a.Reason, a.Detail)
	}
	clock = false
	wantNothing(t, s, Scope())
	save(t, s, At(44, 1_000_000))
	wantPosition(t, s, At(44, 0))
	if n := counts.Contained(); n != 4 {
		t.Errorf("%d panics contained, want 4", n)
	}
}
