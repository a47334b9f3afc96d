package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// broken is a storage whose calls fail when told to.
type broken struct {
	doc                 []byte
	read, write, remove error
	calls               int
	only                []byte // of the last Remove
}

func (b *broken) Read(context.Context, string) ([]byte, error) { b.calls++; return b.doc, b.read }
func (b *broken) Write(context.Context, string, []byte, int) error {
	b.calls++
	return b.write
}
func (b *broken) Remove(_ context.Context, _ string, only []byte) error {
	b.calls++
	b.only = only
	return b.remove
}

func (b *broken) List(context.Context) ([][]byte, error) { b.calls++; return nil, b.read }
func (b *broken) Clear(context.Context) error            { b.calls++; return b.remove }

func keep(t *testing.T, under store.Storage, cfg store.Config) (*store.Keeper, *[]store.Diagnostic) {
	t.Helper()
	heard := &[]store.Diagnostic{}
	cfg.OnDiagnostic = func(d store.Diagnostic) { *heard = append(*heard, d) }
	cfg.Now = func() int64 { return 1_000_000 }
	k, err := store.Keep(under, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return k, heard
}

// TestFailingStorage (ref:STO-11): a storage that fails is no checkpoint and a diagnostic, never an error of a save or a
// load. A Forget that failed says so: the record may still be there.
func TestFailingStorage(t *testing.T) {
	disk := errors.New("disk full at /secret/path")
	under := &broken{read: disk, write: disk, remove: disk}
	k, heard := keep(t, under, store.Config{})
	if err := k.Save(t.Context(), storetest.At(41, 1)); err != nil {
		t.Errorf("save: %v", err)
	}
	if a := k.Load(t.Context(), storetest.Scope()); a.Found != checkpoint.Nothing || a.Err != nil {
		t.Errorf("load: %+v", a)
	}
	err := k.Forget(t.Context(), storetest.Scope())
	var r *event.ResumeError
	if !errors.As(err, &r) || r.Reason != event.CheckpointSaveFailed || !errors.Is(err, disk) {
		t.Errorf("forget: %v", err)
	}
	want := []store.Operation{store.Saving, store.Loading}
	if len(*heard) != len(want) {
		t.Fatalf("heard %+v", *heard)
	}
	for i, d := range *heard {
		if d.Operation != want[i] || d.Reason != store.StorageFailed || d.Err.Reason != event.CheckpointLoadFailed || !errors.Is(d.Err, disk) {
			t.Errorf("heard %+v", d)
		}
		if text, err := json.Marshal(d); err != nil || strings.Contains(string(text), "secret") {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// TestFailingRemove: a record that cannot be deleted is discarded all the same, and again by the next load. Only the record
// that was read may go: a save may have put a newer one in its place.
func TestFailingRemove(t *testing.T) {
	under := &broken{doc: []byte("{}"), remove: errors.New("read only")}
	k, heard := keep(t, under, store.Config{})
	for range 2 {
		if a := k.Load(t.Context(), storetest.Scope()); a.Found != checkpoint.Discarded {
			t.Errorf("got %v", a.Found)
		}
	}
	if len(*heard) != 2 {
		t.Errorf("heard %+v", *heard)
	}
	if string(under.only) != "{}" {
		t.Errorf("a load removes whatever stands under %q", under.only)
	}
}

// TestScreenedWithFailingRemove: the older record that could not be removed is reported beside the refusal (D-21).
func TestScreenedWithFailingRemove(t *testing.T) {
	under := &broken{remove: errors.New("read only")}
	k, heard := keep(t, under, store.Config{})
	c := storetest.At(41, 1)
	c.Resume.Cursor = "Bearer x"
	if err := k.Save(t.Context(), c); err != nil {
		t.Errorf("save: %v", err)
	}
	if len(*heard) != 2 || (*heard)[0].Reason != store.CredentialScreened || (*heard)[1].Reason != store.StorageFailed {
		t.Errorf("heard %+v", *heard)
	}
}

// panicking is a storage in which every call panics, as a database does that finds its file corrupt.
type panicking struct{}

func (panicking) Read(context.Context, string) ([]byte, error)     { panic("stored secret") }
func (panicking) Write(context.Context, string, []byte, int) error { panic("stored secret") }
func (panicking) Remove(context.Context, string, []byte) error     { panic("stored secret") }
func (panicking) List(context.Context) ([][]byte, error)           { panic("stored secret") }
func (panicking) Clear(context.Context) error                      { panic("stored secret") }

// TestPanickingStorage: a storage that panics is a storage that fails; what it said is not repeated.
func TestPanickingStorage(t *testing.T) {
	k, heard := keep(t, panicking{}, store.Config{})
	if err := k.Save(t.Context(), storetest.At(41, 1)); err != nil {
		t.Errorf("save: %v", err)
	}
	if a := k.Load(t.Context(), storetest.Scope()); a.Found != checkpoint.Nothing || a.Err != nil {
		t.Errorf("load: %+v", a)
	}
	said := ""
	for _, d := range *heard {
		if d.Reason != store.StorageFailed {
			t.Errorf("heard %+v", d)
		}
		said += fmt.Sprint(d.Err)
	}
	_, listed := k.Records(t.Context())
	for what, err := range map[string]error{"forget": k.Forget(t.Context(), storetest.Scope()), "list": listed, "clear": k.Clear(t.Context())} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
		said += fmt.Sprint(err)
	}
	if strings.Contains(said, "secret") || len(*heard) != 2 || k.Contained() != 5 {
		t.Errorf("%d heard, %d contained: %s", len(*heard), k.Contained(), said)
	}
}

// TestFailingList: errors of a list and of a clear are the caller's, with a reason of the contract.
func TestFailingList(t *testing.T) {
	disk := errors.New("no disk")
	k, heard := keep(t, &broken{read: disk, remove: disk}, store.Config{})
	var r *event.ResumeError
	if _, err := k.Records(t.Context()); !errors.As(err, &r) || r.Reason != event.CheckpointLoadFailed || !errors.Is(err, disk) {
		t.Errorf("list: %v", err)
	}
	if err := k.Clear(t.Context()); !errors.As(err, &r) || r.Reason != event.CheckpointSaveFailed || !errors.Is(err, disk) {
		t.Errorf("clear: %v", err)
	}
	if len(*heard) != 0 {
		t.Errorf("heard %+v", *heard)
	}
}

// TestOver: the same store over a view of its storage has the same settings, and counts in the same place.
func TestOver(t *testing.T) {
	k, heard := keep(t, &broken{}, store.Config{})
	view := &broken{doc: []byte("{}")}
	over := k.Over(view)
	if a := over.Load(t.Context(), storetest.Scope()); a.Found != checkpoint.Discarded || view.calls != 2 || len(*heard) != 1 {
		t.Errorf("%v, %d calls, heard %+v", a.Found, view.calls, *heard)
	}
	k.Over(panicking{}).Load(t.Context(), storetest.Scope())
	if k.Contained() != 1 || over.Contained() != 1 {
		t.Errorf("%d and %d contained", k.Contained(), over.Contained())
	}
}

// TestDone (ref:STO-15): a context that is done reaches the storage by no call.
func TestDone(t *testing.T) {
	under := &broken{}
	k, heard := keep(t, under, store.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.Save(ctx, storetest.At(41, 1))
	k.Load(ctx, storetest.Scope())
	k.Forget(ctx, storetest.Scope())
	if under.calls != 0 || len(*heard) != 0 {
		t.Errorf("%d calls, heard %+v", under.calls, *heard)
	}
}

// cancelling ends the caller's context inside a call.
type cancelling struct {
	broken
	cancel func()
}

func (c *cancelling) Read(context.Context, string) ([]byte, error) {
	c.cancel()
	return []byte("{}"), nil
}

func (c *cancelling) Write(context.Context, string, []byte, int) error {
	c.cancel()
	return context.Canceled
}

// TestDoneMeanwhile: a context that ends while the storage works is silent too (facts 4.4 step 4).
func TestDoneMeanwhile(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, k *store.Keeper){
		"load": func(ctx context.Context, k *store.Keeper) {
			if a := k.Load(ctx, storetest.Scope()); a.Found != checkpoint.Nothing {
				t.Errorf("load: %v", a.Found)
			}
		},
		"save": func(ctx context.Context, k *store.Keeper) { k.Save(ctx, storetest.At(41, 1)) },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		k, heard := keep(t, &cancelling{cancel: cancel}, store.Config{})
		call(ctx, k)
		if len(*heard) != 0 {
			t.Errorf("%s: heard %+v", name, *heard)
		}
	}
}

// TestDiagnosticJSON: the contract's form, byte for byte in meaning (facts 4.5, D-20).
func TestDiagnosticJSON(t *testing.T) {
	for trouble, code := range map[store.Trouble][2]string{
		"invalid-checkpoint":          {"invalid-checkpoint", "realtime.checkpoint.invalid"},
		"source-changed":              {"source-changed", "realtime.checkpoint.invalid"},
		"query-changed":               {"query-changed", "realtime.checkpoint.invalid"},
		"source-version-changed":      {"source-version-changed", "realtime.checkpoint.invalid"},
		"schema-version-changed":      {"schema-version-changed", "realtime.checkpoint.invalid"},
		"authorization-scope-changed": {"authorization-scope-changed", "realtime.checkpoint.invalid"},
		store.Expired:                 {"cursor-expired", "realtime.transport.reconnectable"},
		store.CredentialScreened:      {"checkpoint-save-failed", "realtime.protocol.terminal"},
		store.StorageFailed:           {"checkpoint-load-failed", "realtime.protocol.terminal"},
		store.UnsupportedFormat:       {"invalid-checkpoint", "realtime.checkpoint.invalid"},
	} {
		text, err := json.Marshal(store.NewDiagnostic(store.Loading, trouble, checkpoint.PlaceholderKey, "local words", nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{
			`{"kind":"honua.realtime-checkpoint-store-diagnostic","version":1,"operation":"load","reason":"` + string(trouble) + `"`,
			`"scopeKey":"sha256:` + strings.Repeat("0", 64) + `"`,
			`"error":{"kind":"honua.sdk.error.v1","name":"HonuaRealtimeResumeError","domain":"realtime","code":"` + code[1] + `"`,
			`"context":{"reasonCode":"` + code[0] + `"}`,
		} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s: %s is missing in %s", trouble, part, text)
			}
		}
		if strings.Contains(string(text), "local words") {
			t.Errorf("the message left the process: %s", text)
		}
	}
}
