package bolt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.etcd.io/bbolt"
)

// bucketName is the bucket that holds the records, one per scope key.
var bucketName = []byte("conform-checkpoints")

// storage is a store.Storage over a bbolt file.
type storage struct {
	file  *file
	order order // used only by who has the write transaction

	mu     sync.RWMutex // held for reading while something is put into the queue
	closed bool
	queue  chan *request
	over   chan struct{} // closed when the writer is done; nil before start

	// Once bbolt panicked its locks may never be free again: calls fail from then on instead of waiting for them.
	breaking sync.Once
	broken   chan struct{} // closed then
	why      error         // read after broken

	reading sync.Mutex  // one reader at a time: what the first one breaks, the second one does not wait for
	hook    func(phase) // told by the writer where a commit is; set by tests before start
}

// phase is a place in a commit.
type phase uint8

const (
	commitBegins phase = iota + 1
	commitEnds
)

func newStorage(f *file) *storage {
	return &storage{file: f, queue: make(chan *request, maxBatch), broken: make(chan struct{})}
}

func (s *storage) Read(ctx context.Context, key string) (doc []byte, err error) {
	err = s.view(ctx, func(b *bbolt.Bucket) error {
		v := b.Get([]byte(key))
		if v == nil {
			return nil
		}
		_, found, err := decode([]byte(key), v)
		doc = slices.Clone(found) // v is mapped, and gone after this
		return err
	})
	return doc, err
}

func (s *storage) List(ctx context.Context) (docs [][]byte, err error) {
	err = s.view(ctx, func(b *bbolt.Bucket) error {
		var all []entry
		err := scan(b, func(e entry) { all = append(all, e) })
		slices.SortFunc(all, oldestFirst)
		for _, e := range all {
			if e.doc != nil { // who lists wants what can be read; a load says what is wrong with the rest
				docs = append(docs, slices.Clone(e.doc))
			}
		}
		return err
	})
	return docs, err
}

func (s *storage) Write(ctx context.Context, key string, doc []byte, limit int) error {
	if key == "" || len(key) > bbolt.MaxKeySize || limit < 1 {
		return fmt.Errorf("bolt: no key of 1 to %d bytes, or a limit of %d", bbolt.MaxKeySize, limit)
	}
	return s.submit(ctx, &request{do: put, key: []byte(key), doc: doc, limit: limit})
}

func (s *storage) Remove(ctx context.Context, key string, only []byte) error {
	return s.submit(ctx, &request{do: remove, key: []byte(key), doc: only})
}

func (s *storage) Clear(ctx context.Context) error {
	return s.submit(ctx, &request{do: wipe})
}

// view reads the bucket, if there is one.
func (s *storage) view(ctx context.Context, f func(*bbolt.Bucket) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	db, err := s.ready()
	if err != nil {
		return err
	}
	return s.contain(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			if b := tx.Bucket(bucketName); b != nil {
				return f(b)
			}
			return nil
		})
	})
}

// ready gives the database unless a call must not touch it any more.
func (s *storage) ready() (*bbolt.DB, error) {
	select {
	case <-s.broken:
		return nil, s.why
	default:
		return s.file.get()
	}
}

// contain is contain, and breaks the storage over a panic.
func (s *storage) contain(f func() error) error {
	err := contain(f)
	if c := (*crash)(nil); errors.As(err, &c) {
		s.breaking.Do(func() {
			s.why = err
			close(s.broken)
		})
	}
	return err
}
