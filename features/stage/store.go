package stage

import (
	"context"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	keep "github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/memory"
)

// store is the shipped memory store, and fails where it was told to.
type store struct {
	keep.Store
	mu    sync.Mutex
	fails map[event.Seq]bool
}

func newStore(ctx context.Context, s *Setup) (*store, error) {
	under, err := memory.New(keep.Config{})
	if err != nil {
		return nil, err
	}
	if c := s.Checkpoint(); c != nil {
		c.SavedAt = time.Now().Add(-time.Minute).UnixMilli()
		if err := under.Save(ctx, *c); err != nil {
			return nil, err
		}
	}
	return &store{Store: under, fails: map[event.Seq]bool{}}, nil
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
