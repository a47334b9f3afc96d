package bolt

import (
	"context"
	"runtime"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// Limits of one commit.
const (
	// maxBatch is how many requests share a commit: one for each scope that a store can keep.
	maxBatch = 512
	// maxBatchBytes bounds what a commit holds in memory; a single document may be larger.
	maxBatchBytes = 8 << 20
)

// request is one change that waits for its commit.
type request struct {
	do     func(*order, *bbolt.Bucket, *request) error
	key    []byte
	doc    []byte // put: the document; remove: only while the key holds this, unless nil
	limit  int
	state  atomic.Uint32
	answer chan error
}

// The states of a request. Who moves it out of waiting decides.
const (
	waiting uint32 = iota
	taken
	withdrawn
)

// submit has r done by the writer and waits until it is on disk. A request whose ctx ends before its commit began is
// withdrawn; once it began its outcome is waited for, so that an error means that nothing was written.
func (s *storage) submit(ctx context.Context, r *request) error {
	r.answer = make(chan error, 1)
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case err := <-r.answer:
		return err
	case <-s.broken:
		return s.why
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err()
		}
	}
	select {
	case err := <-r.answer:
		return err
	case <-s.broken:
		return s.why
	}
}

func (s *storage) enqueue(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	select {
	case s.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.broken:
		return s.why
	}
}

func (s *storage) start() {
	s.over = make(chan struct{})
	go s.write()
}

// close lets the writer finish what was put into the queue, and waits for it.
func (s *storage) close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	if s.over != nil {
		select {
		case <-s.over:
		case <-s.broken:
		}
	}
}

// write is the one goroutine that commits. What waits when it is free goes into one transaction; it never waits for more.
func (s *storage) write() {
	defer close(s.over)
	batch := make([]*request, 0, maxBatch)
	for first := range s.queue {
		s.gather()
		batch = s.collect(batch[:0], first)
		if len(batch) == 0 {
			continue
		}
		err := s.commit(batch)
		for i, r := range batch {
			if err != nil && len(batch) > 1 { // one of them may be at fault: each gets a commit of its own
				r.answer <- s.commit(batch[i : i+1])
			} else {
				r.answer <- err
			}
			batch[i] = nil
		}
	}
}

// gather lets those run who are about to ask: their requests then share this commit instead of waiting for the next. It
// stops when nobody came, so that a caller who is alone does not wait.
func (s *storage) gather() {
	for n := -1; n < len(s.queue) && n < maxBatch; {
		n = len(s.queue)
		runtime.Gosched()
	}
}

// collect takes first and what else waits.
func (s *storage) collect(batch []*request, first *request) []*request {
	bytes := 0
	add := func(r *request) {
		if r.state.CompareAndSwap(waiting, taken) {
			batch = append(batch, r)
			bytes += len(r.doc)
		}
	}
	add(first)
	for len(batch) < maxBatch && bytes < maxBatchBytes {
		select {
		case r, ok := <-s.queue:
			if !ok {
				return batch
			}
			add(r)
		default:
			return batch
		}
	}
	return batch
}

// commit does all of batch in one transaction and returns when that is on disk.
func (s *storage) commit(batch []*request) error {
	db, err := s.ready()
	if err != nil {
		return err
	}
	if s.hook != nil {
		s.hook(commitBegins)
		defer s.hook(commitEnds)
	}
	return s.contain(func() error {
		return db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(bucketName)
			if err != nil {
				return err
			}
			for _, r := range batch {
				if err := r.do(&s.order, b, r); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
