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

// store is the shipped memory store, and fails where it was told to.
type store struct {
	keep.Store
	mu      sync.Mutex
	foreign *checkpoint.Checkpoint // handed over without a look
	fails   map[event.Seq]bool
}

func newStore(ctx context.Context, s *Setup, b *book) (*store, error) {
	under, err := shipped(s, b)
	if err != nil {
		return nil, err
	}
	var foreign *checkpoint.Checkpoint
	if c := s.Checkpoint(); c != nil {
		c.SavedAt = time.Now().UnixMilli() - s.StoredAge()
		if err := under.Save(ctx, *c); err != nil {
			return nil, err
		}
		if s.Stored.Foreign() {
			foreign = c
		}
	}
	return &store{Store: under, foreign: foreign, fails: map[event.Seq]bool{}}, nil
}

// shipped is the shipped memory store, or its rules over a storage that fails. What it reports is written down.
func shipped(s *Setup, b *book) (keep.Store, error) {
	config := keep.Config{OnDiagnostic: func(d keep.Diagnostic) {
		r := trace.New(trace.Store, trace.StoreReport)
		r.Status, r.Reason = string(d.Operation), string(d.Reason)
		b.add(r)
	}}
	if s.Broken {
		return keep.Keep(broken{}, config)
	}
	return memory.New(config)
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
	s.foreign = nil
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
