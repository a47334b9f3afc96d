package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Limits of one transaction. A server takes 128 operations (--max-txn-ops), where one that is nested counts as one and may
// itself hold what its parent left of them.
const (
	// maxCompared is how many evicted keys are compared one by one; of more, all keys are compared in one.
	maxCompared = 32
	// evictedTogether is how many keys one nested transaction evicts: maxKeys/64 = 32 of them leave more than 64.
	evictedTogether = 64
)

// write is one call of Write, with all its attempts.
type write struct {
	key   string
	doc   []byte
	value string
	stamp stamp
	limit int
}

func (s *storage) Write(ctx context.Context, key string, doc []byte, limit int) error {
	if key == "" || len(key) > maxKey || limit < 1 {
		return fmt.Errorf("etcd: no key of 1 to %d bytes, or a limit of %d", maxKey, limit)
	}
	w := write{key: key, doc: doc, limit: limit, stamp: stamp{s.writer, s.number.Add(1)}}
	value, err := encode(key, w.stamp, doc)
	if err != nil {
		return err
	}
	w.value = string(value)
	return s.attempts(ctx, "write", func(ctx context.Context) (bool, error) {
		lease, err := s.leases.get(ctx)
		if err != nil {
			return false, err
		}
		done, err := s.replace(ctx, &w, lease)
		if !done && err == nil {
			done, err = s.place(ctx, &w, lease)
		}
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			s.leases.drop(lease)
			return false, nil
		}
		return done, err
	})
}

// replace is the short way: the record is the one that this store knows, no record came or went, and there are not
// more than the limit. False when that is not so.
func (s *storage) replace(ctx context.Context, w *write, lease clientv3.LeaseID) (done bool, err error) {
	at, counted := s.knows(w.key), s.counted.Load()
	if at == 0 || counted == nil || counted.most > w.limit {
		return false, nil
	}
	err = s.request(ctx, func(ctx context.Context) error {
		put, err := s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(s.records+w.key), "=", at), clientv3.Compare(clientv3.ModRevision(s.members), "=", counted.members)).
			Then(clientv3.OpPut(s.records+w.key, w.value, clientv3.WithLease(lease))).Commit()
		if done = err == nil && put.Succeeded; done {
			s.learn(w.key, put.Header.Revision)
		}
		return err
	})
	return done, err
}

// place is the long way: it looks at what is there, decides whether that may be replaced and what has to go, and does so if
// nothing changed meanwhile. False when something did.
func (s *storage) place(ctx context.Context, w *write, lease clientv3.LeaseID) (done bool, err error) {
	select {
	case <-s.placing:
		defer func() { s.placing <- struct{}{} }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	state, err := s.look(ctx, w.key)
	if err != nil {
		return false, err
	}
	if there := state.there; there != nil {
		found, doc, err := decode(w.key, there.Value)
		switch {
		case err != nil: // it says nothing, and may go
		case found == w.stamp: // an attempt before this one got no answer, and has happened
			s.learn(w.key, there.ModRevision)
			return true, nil
		case found.writer == s.writer, there.ModRevision == s.knows(w.key), forward(doc, w.doc):
		default:
			return false, fmt.Errorf("etcd: %w; load it, or let the other relay go on", ErrMoved)
		}
	}
	if s.between != nil {
		s.between()
	}
	evicted := state.beyond(s.records+w.key, w.limit)
	changes := state.there == nil || len(evicted) > 0
	then := []clientv3.Op{clientv3.OpPut(s.records+w.key, w.value, clientv3.WithLease(lease))}
	if changes {
		then = append(then, clientv3.OpPut(s.members, ""))
	}
	for group := range slices.Chunk(evicted, evictedTogether) {
		var gone []clientv3.Op
		for _, kv := range group {
			gone = append(gone, clientv3.OpDelete(string(kv.Key)))
		}
		then = append(then, clientv3.OpTxn(nil, gone, nil))
	}
	err = s.request(ctx, func(ctx context.Context) error {
		put, err := s.client.Txn(ctx).If(s.unchanged(state, s.records+w.key, evicted)...).Then(then...).Commit()
		if done = err == nil && put.Succeeded; !done {
			return err
		}
		s.learn(w.key, put.Header.Revision)
		now := count{state.members, state.total(s.records+w.key) - len(evicted)}
		if changes {
			now.members = put.Header.Revision
		}
		s.counted.Store(&now)
		return nil
	})
	return done, err
}

// unchanged is the condition that what was looked at is still so, as far as the write depends on it.
func (s *storage) unchanged(state *state, key string, evicted []*mvccpb.KeyValue) []clientv3.Cmp {
	at := int64(0)
	if state.there != nil {
		at = state.there.ModRevision
	}
	out := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", at), clientv3.Compare(clientv3.ModRevision(s.members), "=", state.members)}
	if len(evicted) > maxCompared {
		return append(out, clientv3.Compare(clientv3.ModRevision(s.records).WithPrefix(), "<", state.revision+1))
	}
	for _, kv := range evicted {
		out = append(out, clientv3.Compare(clientv3.ModRevision(string(kv.Key)), "=", kv.ModRevision))
	}
	return out
}

// state is what lies under the prefix at one revision.
type state struct {
	revision int64
	members  int64              // revision of the key; 0 if it is not there
	there    *mvccpb.KeyValue   // the record in question, or nil
	keys     []*mvccpb.KeyValue // of all records, without values, the least recently written first
}

// look reads the state as a write needs it, in one transaction.
func (s *storage) look(ctx context.Context, key string) (*state, error) {
	out := &state{}
	err := s.request(ctx, func(ctx context.Context) error {
		got, err := s.client.Txn(ctx).Then(
			clientv3.OpGet(s.records+key), clientv3.OpGet(s.members),
			clientv3.OpGet(s.records, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(maxKeys+1), clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortAscend)),
		).Commit()
		if err != nil {
			return err
		}
		if len(got.Responses) != 3 {
			return errors.New("an answer without its parts")
		}
		out.revision = got.Header.Revision
		if kvs := got.Responses[0].GetResponseRange().GetKvs(); len(kvs) > 0 {
			out.there = kvs[0]
		}
		if kvs := got.Responses[1].GetResponseRange().GetKvs(); len(kvs) > 0 {
			out.members = kvs[0].ModRevision
		}
		out.keys = got.Responses[2].GetResponseRange().GetKvs()
		return nil
	})
	if err == nil && len(out.keys) > maxKeys {
		err = tooMany()
	}
	return out, err
}

// total is how many records there are once key is written.
func (s *state) total(key string) int {
	if s.there == nil {
		return len(s.keys) + 1
	}
	return len(s.keys)
}

// beyond is what has to go so that at most limit records are left, key among them.
func (s *state) beyond(key string, limit int) (out []*mvccpb.KeyValue) {
	for _, kv := range s.keys {
		if s.total(key)-len(out) <= limit {
			break
		}
		if string(kv.Key) != key {
			out = append(out, kv)
		}
	}
	return out
}
