package etcd

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/conform-dev/conform/core/store"
)

// Limits of a prefix and a key.
const (
	// maxKey is the longest key, in bytes; a scope key has 71.
	maxKey = 1 << 10
	// maxKeys is how many records may lie under a prefix; stores keep 512 at most (store.CeilingMaxRecords).
	maxKeys = 2048
	// page is how many records one answer of a list holds: 32 MiB at most.
	page = 32
	// maxKnown bounds what is remembered of scopes. Beyond it all is forgotten, at the cost of a longer write each.
	maxKnown = 2 * store.CeilingMaxRecords
)

// storage is a store.Storage over an etcd cluster. A record lies under prefix/record/key, and its order is etcd's own: the
// revision of the last write. prefix/members is written with each record that comes or goes, so that a write which
// replaces a record knows from that key's revision alone that there are not more records than it counted before.
type storage struct {
	client  *clientv3.Client
	own     bool // close closes the client
	opt     Options
	records string // ends with a slash
	members string
	writer  [writerBytes]byte
	number  atomic.Uint64 // of the last write
	leases  *leases
	placing chan struct{} // holds a token while nobody places: writers of one store need not race for members
	counted atomic.Pointer[count]

	mu    sync.Mutex
	known map[string]int64 // revisions of records as this store wrote or read them last

	between func() // called by a write after it looked and before it commits; set by tests before use

	open    sync.RWMutex // held for reading by calls
	closed  atomic.Bool
	closing sync.Once
	over    error // of closing
}

// count is how many records there are at most while members has this revision; leases take some away without a word.
type count struct {
	members int64
	most    int
}

func newStorage(client *clientv3.Client, opt Options, age time.Duration) *storage {
	s := &storage{client: client, opt: opt, records: opt.Prefix + "/record/", members: opt.Prefix + "/members", placing: make(chan struct{}, 1), known: map[string]int64{}}
	_, _ = rand.Read(s.writer[:]) // never fails
	s.placing <- struct{}{}
	s.leases = newLeases(age, func(ctx context.Context, ttl int64) (id clientv3.LeaseID, err error) {
		err = s.request(ctx, func(ctx context.Context) error {
			granted, err := s.client.Grant(ctx, ttl)
			if err == nil {
				id = granted.ID
			}
			return err
		})
		return id, err
	})
	return s
}

func (s *storage) Read(ctx context.Context, key string) (doc []byte, err error) {
	err = s.attempts(ctx, "read", func(ctx context.Context) (bool, error) {
		kv, err := s.get(ctx, key)
		if err != nil || kv == nil {
			doc = nil
			return true, err
		}
		_, doc, err = decode(key, kv.Value)
		return true, err
	})
	return doc, err
}

// get reads one record as it lies there, and remembers its revision; nil when there is none.
func (s *storage) get(ctx context.Context, key string) (kv *mvccpb.KeyValue, err error) {
	err = s.request(ctx, func(ctx context.Context) error {
		got, err := s.client.Get(ctx, s.records+key)
		if err == nil && len(got.Kvs) > 0 {
			kv = got.Kvs[0]
		}
		return err
	})
	if err == nil && kv == nil {
		s.learn(key, 0)
	} else if err == nil {
		s.learn(key, kv.ModRevision)
	}
	return kv, err
}

// learn remembers the revision of a record that this store read or wrote; 0 for none. A stale one costs a longer write.
func (s *storage) learn(key string, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision == 0 {
		delete(s.known, key)
		return
	}
	if len(s.known) >= maxKnown && s.known[key] == 0 {
		clear(s.known)
	}
	s.known[key] = revision
}

func (s *storage) knows(key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[key]
}

func (s *storage) Remove(ctx context.Context, key string, only []byte) error {
	return s.attempts(ctx, "remove", func(ctx context.Context) (done bool, err error) {
		kv, err := s.get(ctx, key)
		if err != nil || kv == nil {
			return true, err
		}
		if only != nil {
			if _, doc, err := decode(key, kv.Value); err != nil || !bytes.Equal(doc, only) {
				return true, nil
			}
		}
		// Bound to what was read: a request that arrives late finds another revision, and deletes nothing.
		err = s.request(ctx, func(ctx context.Context) error {
			gone, err := s.client.Txn(ctx).
				If(clientv3.Compare(clientv3.ModRevision(s.records+key), "=", kv.ModRevision)).
				Then(clientv3.OpDelete(s.records+key), clientv3.OpPut(s.members, "")).Commit()
			if done = err == nil && gone.Succeeded; done {
				s.learn(key, 0)
			}
			return err
		})
		return done, err
	})
}

func (s *storage) Clear(ctx context.Context) error {
	return s.attempts(ctx, "clear", func(ctx context.Context) (done bool, err error) {
		var at int64
		err = s.request(ctx, func(ctx context.Context) error {
			got, err := s.client.Get(ctx, s.members)
			if err == nil && len(got.Kvs) > 0 {
				at = got.Kvs[0].ModRevision
			}
			return err
		})
		if err != nil {
			return false, err
		}
		err = s.request(ctx, func(ctx context.Context) error {
			gone, err := s.client.Txn(ctx).
				If(clientv3.Compare(clientv3.ModRevision(s.members), "=", at)).
				Then(clientv3.OpDelete(s.records, clientv3.WithPrefix()), clientv3.OpPut(s.members, "")).Commit()
			done = err == nil && gone.Succeeded
			return err
		})
		return done, err
	})
}

func (s *storage) List(ctx context.Context) (docs [][]byte, err error) {
	err = s.attempts(ctx, "list", func(ctx context.Context) (bool, error) {
		all, err := s.pages(ctx)
		if errors.Is(err, rpctypes.ErrCompacted) {
			return false, nil // the state that was being read is gone; there is a newer one
		}
		if err != nil {
			return false, err
		}
		slices.SortFunc(all, func(a, b *mvccpb.KeyValue) int { return int(a.ModRevision - b.ModRevision) })
		docs = nil
		for _, kv := range all {
			// Who lists wants what can be read; a load says what is wrong with the rest.
			if _, doc, err := decode(strings.TrimPrefix(string(kv.Key), s.records), kv.Value); err == nil {
				docs = append(docs, doc)
			}
		}
		return true, nil
	})
	return docs, err
}

// pages reads all records of one state.
func (s *storage) pages(ctx context.Context) (all []*mvccpb.KeyValue, err error) {
	from, end, revision := s.records, clientv3.GetPrefixRangeEnd(s.records), int64(0)
	for more := true; more; {
		err := s.request(ctx, func(ctx context.Context) error {
			got, err := s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(page), clientv3.WithRev(revision))
			if err != nil {
				return err
			}
			all = append(all, got.Kvs...)
			more = got.More
			if revision == 0 { // an answer names the newest one, also when it tells of an older state
				revision = got.Header.Revision
			}
			if n := len(got.Kvs); n > 0 {
				from = string(got.Kvs[n-1].Key) + "\x00"
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(all) > maxKeys {
			return nil, tooMany()
		}
	}
	return all, nil
}

func tooMany() error {
	return fmt.Errorf("etcd: more than %d records under the prefix: %w", maxKeys, ErrCorrupt)
}

// close lets calls end and then closes a client that is the store's own.
func (s *storage) close() error {
	s.closing.Do(func() {
		s.closed.Store(true)
		s.open.Lock()
		defer s.open.Unlock()
		if s.own {
			s.over = s.client.Close()
		}
	})
	return s.over
}
