package bolt

import (
	"context"
	"errors"

	"go.etcd.io/bbolt"

	"github.com/conform-dev/conform/core/checkpoint"
)

// ErrNotKept is the error of Put when the checkpoint was not written, for example since it is not valid. A diagnostic says
// why. The transaction should then be rolled back: what it applied would be applied again.
var ErrNotKept = errors.New("bolt: the checkpoint was not written")

// Put writes a checkpoint within a transaction of the application's own, together with what it made of the event: both
// are there after the commit, or neither. A consumer that does so sees the effect of each event exactly once, whenever
// the process dies; subscription.Candidate gives it the checkpoint.
//
// All rules of Save apply. A checkpoint that the screen refuses is not kept, and nor is the one before it (D-21): Put then
// returns nil, and the next start begins with a snapshot. tx must be a writable transaction of the store's own database
// (Over). Diagnostics are reported while tx is open, so the callback must not use the store.
func (s *Store) Put(tx *bbolt.Tx, c checkpoint.Checkpoint) error {
	db, err := s.under.ready()
	switch {
	case err != nil:
		return err
	case tx == nil || tx.DB() != db:
		return errors.New("bolt: not an open transaction of the store's database")
	case !tx.Writable():
		return errors.New("bolt: the transaction is read-only")
	}
	key, err := checkpoint.ScopeKey(c.Context)
	if err != nil {
		return err
	}
	in := &inside{under: s.under, tx: tx}
	_ = s.Keeper.Over(in).Save(context.Background(), c) // always nil: in knows better
	switch {
	case in.err != nil:
		return in.err
	case !in.changed:
		return ErrNotKept
	}
	tx.OnCommit(func() { s.marks.set(key, c.Resume) })
	return nil
}

// inside is the storage as one transaction sees it.
type inside struct {
	under   *storage
	tx      *bbolt.Tx
	changed bool
	err     error
}

func (in *inside) do(r *request) error {
	in.err = in.under.contain(func() error {
		b, err := in.tx.CreateBucketIfNotExists(bucketName)
		if err != nil {
			return err
		}
		return r.do(&in.under.order, b, r)
	})
	in.changed = in.err == nil
	return in.err
}

func (in *inside) Write(_ context.Context, key string, doc []byte, limit int) error {
	return in.do(&request{do: put, key: []byte(key), doc: doc, limit: limit})
}

func (in *inside) Remove(_ context.Context, key string, only []byte) error {
	return in.do(&request{do: remove, key: []byte(key), doc: only})
}

// The rest is not asked by a save.
var errOnlySaves = errors.New("bolt: only a save runs inside a transaction")

func (in *inside) Read(context.Context, string) ([]byte, error) { return nil, errOnlySaves }

func (in *inside) List(context.Context) ([][]byte, error) { return nil, errOnlySaves }

func (in *inside) Clear(context.Context) error { return errOnlySaves }
