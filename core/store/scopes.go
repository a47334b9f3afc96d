package store

import (
	"sync"

	"github.com/conform-dev/conform/core/checkpoint"
)

// scopes remember what the records of a context repeat, for as many contexts as a store may keep records of. Beyond that
// they begin anew.
type scopes struct {
	mu sync.RWMutex
	of map[checkpoint.Context]*checkpoint.Scope
}

func (s *scopes) bind(ctx checkpoint.Context) (*checkpoint.Scope, error) {
	s.mu.RLock()
	scope := s.of[ctx]
	s.mu.RUnlock()
	if scope != nil {
		return scope, nil
	}
	scope, err := checkpoint.Bind(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= CeilingMaxRecords {
		s.of = map[checkpoint.Context]*checkpoint.Scope{}
	}
	s.of[ctx] = scope
	return scope, nil
}
