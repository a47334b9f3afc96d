// Package memory keeps checkpoints in memory: they outlive a connection and a subscription, not the process. It follows
// the rules of every shipped store and is safe for concurrent use.
package memory

import (
	"bytes"
	"container/list"
	"context"
	"sync"

	"github.com/conform-dev/conform/core/store"
)

// Store is a store.Store in memory.
type Store struct {
	*store.Keeper
	under *storage
}

// New makes an empty store. It fails for a setting out of range (store.Config).
func New(cfg store.Config) (*Store, error) {
	under := &storage{at: map[string]*list.Element{}}
	k, err := store.Keep(under, cfg)
	if err != nil {
		return nil, err
	}
	return &Store{k, under}, nil
}

// Len is how many records are kept.
func (s *Store) Len() int {
	s.under.mu.Lock()
	defer s.under.mu.Unlock()
	return s.under.order.Len()
}

// storage keeps documents in the order in which they were written, the oldest in front.
type storage struct {
	mu    sync.Mutex
	order list.List // of document
	at    map[string]*list.Element
}

type document struct {
	key  string
	text []byte
}

func (s *storage) Read(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.at[key]; e != nil {
		return e.Value.(document).text, nil
	}
	return nil, nil
}

func (s *storage) Write(_ context.Context, key string, doc []byte, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.at[key]; e != nil {
		s.order.Remove(e)
	}
	s.at[key] = s.order.PushBack(document{key, doc})
	for s.order.Len() > limit {
		s.drop(s.order.Front())
	}
	return nil
}

func (s *storage) Remove(_ context.Context, key string, only []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.at[key]; e != nil && (only == nil || bytes.Equal(only, e.Value.(document).text)) {
		s.drop(e)
	}
	return nil
}

func (s *storage) List(context.Context) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([][]byte, 0, s.order.Len())
	for e := s.order.Front(); e != nil; e = e.Next() {
		out = append(out, e.Value.(document).text)
	}
	return out, nil
}

func (s *storage) Clear(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.Init()
	clear(s.at)
	return nil
}

func (s *storage) drop(e *list.Element) { delete(s.at, s.order.Remove(e).(document).key) }
