package storeproc

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
)

// TestMain makes this test binary its own store process.
func TestMain(m *testing.M) {
	if ServeArgs(os.Args[1:]) {
		return
	}
	os.Exit(m.Run())
}

// heard are the reports of a process, in their order.
type heard []string

func (h *heard) add(operation, reason string) { *h = append(*h, operation+" "+reason) }

func started(t *testing.T, limit int) (*Process, *heard) {
	t.Helper()
	h := &heard{}
	p := New(filepath.Join(t.TempDir(), "positions.db"), limit, h.add)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, h
}

func record(source string, seq event.Seq) checkpoint.Checkpoint {
	pos := event.NoPosition
	pos.Seq, pos.Cursor = seq, "c-1"
	return checkpoint.Checkpoint{SavedAt: time.Now().UnixMilli(), Resume: pos, Context: checkpoint.Context{SourceID: source,
		QueryFingerprint: "q", SourceVersion: "1", SchemaVersion: "1", AuthorizationScopeFingerprint: "a"}}
}

// A killed process loses nothing that it answered for, and another one finds it.
func TestKilled(t *testing.T) {
	p, h := started(t, 2)
	ctx := context.Background()
	for i, source := range []string{"one", "two", "three"} {
		if err := p.Save(ctx, record(source, event.Seq(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	want := record("three", 3)
	if a := p.Load(ctx, want.Context); a.Found != checkpoint.Nothing {
		t.Errorf("a process that is gone found %v", a)
	}
	if err := p.Save(ctx, want); err != nil {
		t.Error("a store that is gone failed the subscription:", err)
	}
	if err := p.Forget(ctx, want.Context); err == nil {
		t.Error("nobody forgot, and nobody says so")
	}
	if got := strings.Join(*h, ", "); got != "load storage-failed, save storage-failed" {
		t.Errorf("reported %s", got)
	}
	if err := p.Kill(); err == nil {
		t.Error("it was killed twice")
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if a := p.Load(ctx, want.Context); a.Found != checkpoint.Stored || a.Checkpoint.Resume != want.Resume {
		t.Errorf("found %+v", a)
	}
	if sources, err := p.Sources(); err != nil || !slices.Equal(sources, []string{"two", "three"}) {
		t.Errorf("%v, %v", sources, err)
	}
	for source, want := range map[string]event.Seq{"one": event.NoSeq, "two": 2, "three": 3} {
		key, err := checkpoint.ScopeKey(record(source, 1).Context)
		if err != nil {
			t.Fatal(err)
		}
		if seq, ok, err := p.Held(key); err != nil || seq != want || ok != (want != event.NoSeq) {
			t.Errorf("%s: the file holds %d, %v, %v, want %d", source, seq, ok, err, want)
		}
	}
}

// A call that is longer than a message may be ends the process, not the caller.
func TestLongCall(t *testing.T) {
	p, h := started(t, 0)
	c := record("one", 1)
	c.Resume.Cursor = strings.Repeat("x", MaxLine)
	if err := p.Save(context.Background(), c); err != nil {
		t.Error(err)
	}
	if got := strings.Join(*h, ", "); got != "save storage-failed" {
		t.Errorf("reported %s", got)
	}
}

// A forged record is what the store reads next; a text that no record holds is a mistake.
func TestForge(t *testing.T) {
	p, h := started(t, 0)
	ctx := context.Background()
	c := record("one", 1)
	if err := p.Save(ctx, c); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Forge(p.path, []byte("nothing of the kind"), nil); err == nil {
		t.Error("a text that is not there was replaced")
	}
	if err := Forge(p.path, []byte("store/1.0"), []byte("store/2.0")); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if a := p.Load(ctx, c.Context); a.Found != checkpoint.Discarded || a.Reason != event.InvalidCheckpoint {
		t.Errorf("%+v", a)
	}
	if got := strings.Join(*h, ", "); got != "load unsupported-format" {
		t.Errorf("reported %s", got)
	}
}
