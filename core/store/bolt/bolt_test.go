package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

func at(t *testing.T) string { return filepath.Join(t.TempDir(), "checkpoints.db") }

func openAt(t *testing.T, path string, cfg store.Config, opt Options) *Store {
	t.Helper()
	s, err := Open(path, cfg, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestStorage: the suite of every storage, with the field cases P-CK-01, P-CK-02, P-CK-03, P-CK-04, P-CK-05 and P-CK-08.
func TestStorage(t *testing.T) {
	storetest.Storage(t, func(t *testing.T) store.Storage { return openAt(t, at(t), store.Config{}, Options{}).under })
}

// TestStorageOver: the same promises hold in a database of the application's.
func TestStorageOver(t *testing.T) {
	storetest.Storage(t, func(t *testing.T) store.Storage {
		s, err := Over(database(t), store.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.under
	})
}

// TestStore: the store itself, whose save is not only the Keeper's.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openAt(t, at(t), store.Config{}, Options{}) })
}

func database(t *testing.T) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(at(t), 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestOpenRefuses: settings above a ceiling are refused by name, never clamped (D-13), and so is what is no bbolt file. The
// error names the file.
func TestOpenRefuses(t *testing.T) {
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 4000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		path string
		opt  Options
	}{
		"no file is named":                       {"", Options{}},
		"timeout cannot exceed 1m0s, got 1m0.1s": {at(t), Options{Timeout: CeilingTimeout + 100*time.Millisecond}},
		"timeout must be above zero, got -1s":    {at(t), Options{Timeout: -time.Second}},
		text + " is no bbolt file":               {text, Options{}},
		"no such file or directory":              {filepath.Join(t.TempDir(), "nowhere", "x.db"), Options{}},
	} {
		s, err := Open(c.path, store.Config{}, c.opt)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if s != nil {
			t.Errorf("%s: a store beside an error", want)
		}
	}
	var r *event.ResumeError
	if _, err := Open(at(t), store.Config{MaxRecords: 513}, Options{}); !errors.As(err, &r) || r.Reason != event.InvalidCheckpoint {
		t.Errorf("got %v", err)
	}
	if _, err := Over(nil, store.Config{}); err == nil {
		t.Error("a store over no database")
	}
	if kept, _ := os.ReadFile(text); !strings.HasPrefix(string(kept), "not a database\n") {
		t.Error("the file that is no database was changed")
	}
}

// TestClosed: what waits at a close is written, what comes after it fails.
func TestClosed(t *testing.T) {
	path := at(t)
	var heard []store.Diagnostic
	s := openAt(t, path, store.Config{OnDiagnostic: func(d store.Diagnostic) { heard = append(heard, d) }}, Options{})
	now := time.Now().UnixMilli()
	if err := s.Save(t.Context(), storetest.At(41, now)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("the second close: %v", err)
	}
	if err := s.Save(t.Context(), storetest.At(42, now)); err != nil {
		t.Errorf("save: %v", err)
	}
	s.Load(t.Context(), storetest.Scope())
	if len(heard) != 2 || !errors.Is(heard[0].Err, ErrClosed) || !errors.Is(heard[1].Err, ErrClosed) {
		t.Errorf("heard %+v", heard)
	}
	again := openAt(t, path, store.Config{}, Options{})
	if a := again.Load(t.Context(), storetest.Scope()); a.Checkpoint.Resume.Seq != 41 {
		t.Errorf("loaded %+v", a)
	}
	if litter, _ := filepath.Glob(path + ".*"); len(litter) != 0 {
		t.Errorf("left behind: %q", litter)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
