// Package bolt keeps checkpoints in a bbolt file: they outlive the process. It follows the rules of every shipped store and
// is safe for concurrent use. A save returns after its commit is on disk (D-25); saves that come at once share a commit.
//
// What goes wrong below, a full disk, a corrupt page, a file that somebody else holds, is an error of the one call that
// met it, and so a diagnostic and a snapshot for the subscription, never a panic.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
)

// Limits of a store.
const (
	// DefaultTimeout is how long Open waits for the file's lock: as long as a process that was told to stop may take.
	DefaultTimeout = time.Second
	// CeilingTimeout is the largest Timeout: who waits longer for another process has forgotten to stop it.
	CeilingTimeout = time.Minute
	// MaxFile is how large the file may grow, in bytes. 512 records of the longest strings (store.CeilingMaxRecords,
	// checkpoint.MaxText) need 256 MiB, and a commit writes new pages before it frees the old ones.
	MaxFile = 1 << 30
	// RetryAfter is how long a file that could not be opened is left alone with Options.Late.
	RetryAfter = 5 * time.Second
)

var (
	// ErrLocked is in the error of Open when another store, mostly of another process, has the file open.
	ErrLocked = errors.New("somebody else has it open")
	// ErrClosed is the error of a call after Close.
	ErrClosed = errors.New("bolt: the store is closed")
	// ErrCorrupt is in the error of a call that met bytes which nobody wrote.
	ErrCorrupt = errors.New("corrupt")
)

// Options say how the file is opened. The zero Options are valid.
type Options struct {
	Timeout time.Duration // wait for the file's lock; default DefaultTimeout, at most CeilingTimeout
	// Late makes Open succeed though the file cannot be opened now, for example since the process before still holds it.
	// Calls fail, so nothing is resumed or kept, until an attempt succeeds; one is made at most every RetryAfter.
	Late bool
	// OpenFile opens the file instead of os.OpenFile.
	OpenFile func(name string, flag int, perm os.FileMode) (*os.File, error)
}

// Store is a store.Store in a bbolt file.
type Store struct {
	*store.Keeper
	under *storage
	marks marks
}

// Open opens the file at path, and makes it with mode 0600 if there is none. It fails for a setting out of range, with
// ErrLocked when the file is open elsewhere, and for a file that is no bbolt file; the error names the file. Close it.
func Open(path string, cfg store.Config, opt Options) (*Store, error) {
	if opt.Timeout == 0 {
		opt.Timeout = DefaultTimeout
	}
	switch {
	case path == "":
		return nil, errors.New("bolt: no file is named")
	case opt.Timeout < 0:
		return nil, fmt.Errorf("bolt: timeout must be above zero, got %v", opt.Timeout)
	case opt.Timeout > CeilingTimeout:
		return nil, fmt.Errorf("bolt: timeout cannot exceed %v, got %v", CeilingTimeout, opt.Timeout)
	}
	f := &file{path: path, opt: opt}
	s, err := keep(f, cfg)
	if err != nil {
		return nil, err
	}
	if _, err := f.get(); err != nil && !opt.Late {
		s.under.close()
		return nil, err
	}
	s.under.start()
	return s, nil
}

// Over makes a store in a bucket of a database that the application has open for its own data, so that Put can write a
// checkpoint in the same transaction. The database stays the application's: Close leaves it open.
func Over(db *bbolt.DB, cfg store.Config) (*Store, error) {
	if db == nil {
		return nil, errors.New("bolt: no database")
	}
	s, err := keep(&file{db: db, foreign: true}, cfg)
	if err == nil {
		s.under.start()
	}
	return s, err
}

func keep(f *file, cfg store.Config) (*Store, error) {
	under := newStorage(f)
	k, err := store.Keep(under, cfg)
	if err != nil {
		return nil, err
	}
	return &Store{Keeper: k, under: under}, nil
}

// Save writes c's record and returns when it is on disk, or was reported as not written. What Put has written already is
// not written again.
func (s *Store) Save(ctx context.Context, c checkpoint.Checkpoint) error {
	if s.marks.take(&c) {
		return nil
	}
	return s.Keeper.Save(ctx, c)
}

// Load is store.Keeper's.
func (s *Store) Load(ctx context.Context, scope checkpoint.Context) store.Answer {
	s.marks.clear()
	return s.Keeper.Load(ctx, scope)
}

// Forget is store.Keeper's.
func (s *Store) Forget(ctx context.Context, scope checkpoint.Context) error {
	s.marks.clear()
	return s.Keeper.Forget(ctx, scope)
}

// Clear is store.Keeper's.
func (s *Store) Clear(ctx context.Context) error {
	s.marks.clear()
	return s.Keeper.Clear(ctx)
}

// Close ends the store: what waits is written first, later calls fail.
func (s *Store) Close() error {
	s.under.close()
	select {
	case <-s.under.broken:
		return s.under.file.abandon()
	default:
		return s.under.file.close()
	}
}

// marks remember which position of a scope was committed by Put last, so that the save which follows the consumer is not
// written a second time.
type marks struct {
	mu sync.Mutex
	at map[string]event.Position
}

// set remembers; past the most scopes that a store can keep, what was remembered is dropped, at the cost of a write each.
func (m *marks) set(key string, pos event.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil || len(m.at) >= store.CeilingMaxRecords {
		m.at = map[string]event.Position{}
	}
	m.at[key] = pos
}

// clear forgets all: a record may be gone, and the next save must not count on it.
func (m *marks) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = nil
}

// take answers whether c's position was committed already, and forgets it.
func (m *marks) take(c *checkpoint.Checkpoint) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.at) == 0 {
		return false
	}
	key, err := checkpoint.ScopeKey(c.Context)
	if err != nil {
		return false
	}
	pos, ok := m.at[key]
	delete(m.at, key)
	return ok && pos == c.Resume
}
