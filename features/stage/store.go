package stage

import (
	"context"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	keep "github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/memory"
	"github.com/conform-dev/conform/core/trace"
)

// store is a shipped store, and fails where it was told to.
type store struct {
	keep.Store
	file    *file // of a store in a file; nil for one in memory
	mu      sync.Mutex
	scope   checkpoint.Context     // what the client last asked about or wrote
	foreign *checkpoint.Checkpoint // handed over without a look
	fails   map[event.Seq]bool
}

func newStore(ctx context.Context, s *Setup, b *book) (*store, error) {
	out := &store{fails: map[event.Seq]bool{}, scope: s.Context()}
	var err error
	switch {
	case s.File:
		if out.file, err = newFile(ctx, s, b); err == nil {
			out.Store = out.file.proc
		}
	case s.Broken:
		out.Store, err = keep.Keep(broken{}, config(b))
	default:
		out.Store, err = memory.New(config(b))
	}
	if err != nil || s.File {
		return out, err
	}
	if c := storedNow(s); c != nil {
		if err := out.Store.Save(ctx, *c); err != nil {
			return nil, err
		}
		if s.Foreign() {
			out.foreign = c
		}
	}
	return out, nil
}

// storedNow is the record that the store holds at the start, by this machine's clock.
func storedNow(s *Setup) *checkpoint.Checkpoint {
	c := s.Checkpoint()
	if c != nil {
		c.SavedAt = time.Now().UnixMilli() - s.StoredAge()
	}
	return c
}

// config writes down what a store reports.
func config(b *book) keep.Config {
	return keep.Config{OnDiagnostic: func(d keep.Diagnostic) { b.reported(string(d.Operation), string(d.Reason)) }}
}

// reported writes down what a store could not do.
func (b *book) reported(operation, reason string) {
	r := trace.New(trace.Store, trace.StoreReport)
	r.Status, r.Reason = operation, reason
	b.add(r)
}

// broken is a storage below a store that can neither read nor write, as a full or removed disk.
type broken struct{}

func (broken) Read(context.Context, string) ([]byte, error) { return nil, errPlanned }

func (broken) Write(context.Context, string, []byte, int) error { return errPlanned }

func (broken) Remove(context.Context, string, []byte) error { return errPlanned }

func (broken) List(context.Context) ([][]byte, error) { return nil, errPlanned }

func (broken) Clear(context.Context) error { return errPlanned }

// Load is the store's, or once what belongs to something else.
func (s *store) Load(ctx context.Context, scope checkpoint.Context) keep.Answer {
	s.mu.Lock()
	foreign := s.foreign
	s.foreign, s.scope = nil, scope
	s.mu.Unlock()
	if foreign != nil {
		return keep.Answer{Found: checkpoint.Stored, Checkpoint: *foreign}
	}
	return s.Store.Load(ctx, scope)
}

// Save is the store's, or the failure that was planned for this position.
func (s *store) Save(ctx context.Context, c checkpoint.Checkpoint) error {
	s.mu.Lock()
	fail := s.fails[c.Resume.Seq]
	s.scope = c.Context
	delete(s.fails, c.Resume.Seq)
	s.mu.Unlock()
	if fail {
		return errPlanned
	}
	return s.Store.Save(ctx, c)
}

func (s *store) fail(seq event.Seq) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails[seq] = true
}

// held looks into the store itself, past what it answered to the client: it lists what is kept, and takes the record of the client's scope.
// Nothing is read by its key, judged or removed.
func (s *store) held(ctx context.Context) trace.Record {
	r := trace.New(trace.Store, trace.StoreHeld)
	s.mu.Lock()
	scope := s.scope
	s.mu.Unlock()
	seq, ok := event.NoSeq, false
	key, err := checkpoint.ScopeKey(scope)
	if err == nil {
		seq, ok, err = s.find(ctx, key)
	}
	switch {
	case err != nil:
		r.Status = "unread"
	case !ok:
		r.Status = "nothing"
	default:
		r.Status, r.Seq = "record", seq
	}
	return r
}

func (s *store) find(ctx context.Context, key string) (event.Seq, bool, error) {
	if s.file != nil {
		return s.file.proc.Held(key)
	}
	records, err := s.Store.(lister).Records(ctx)
	for i := range records {
		if records[i].Key == key {
			return records[i].Resume.Seq, true, err
		}
	}
	return event.NoSeq, false, err
}

// lister is what every shipped store can do beside what a client needs of it.
type lister interface {
	Records(ctx context.Context) ([]checkpoint.Record, error)
}

// Close ends the process of a store in a file, and removes the file.
func (s *store) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
