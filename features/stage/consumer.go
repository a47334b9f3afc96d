package stage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// errPlanned is what a consumer or a store says that was told to fail.
var errPlanned = errors.New("planned failure")

// consumer is the application of the process lane. It takes no notice of being cancelled: what it has begun it ends, and
// its effect stands.
type consumer struct {
	book *book
	rows *simulator.Rows

	mu     sync.Mutex
	blocks map[event.Seq]bool
	fails  map[event.Seq]bool
	gate   chan struct{} // closed to let a consumer go on that stands still
	still  bool
	moved  chan struct{} // closed when still becomes true
}

func newConsumer(b *book, s *Setup) (*consumer, error) {
	rows, err := s.Rows()
	if err != nil {
		return nil, err
	}
	return &consumer{book: b, rows: rows, blocks: map[event.Seq]bool{}, fails: map[event.Seq]bool{},
		gate: make(chan struct{}), moved: make(chan struct{})}, nil
}

func (c *consumer) apply(_ context.Context, ev *event.Event) error {
	seq := ev.Pos.Seq
	if wait := c.stop(seq); wait != nil {
		<-wait
	}
	r := trace.New(trace.Consumer, trace.ConsumerSaw)
	r.Type, r.Seq, r.ID = ev.Kind.String(), seq, ev.ID
	err := errPlanned
	if !c.failing(seq) {
		err = c.rows.Apply(ev.Payload)
	}
	if err != nil {
		r.Kind, r.Detail = trace.ConsumerFailed, err.Error()
	} else {
		r.Args = map[string]string{"rows": c.rows.Digest()}
	}
	c.book.add(r)
	return err
}

func (c *consumer) stop(seq event.Seq) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.blocks[seq] {
		return nil
	}
	delete(c.blocks, seq)
	c.still = true
	close(c.moved)
	return c.gate
}

func (c *consumer) failing(seq event.Seq) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	fail := c.fails[seq]
	delete(c.fails, seq)
	return fail
}

func (c *consumer) block(seq event.Seq) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks[seq] = true
}

func (c *consumer) fail(seq event.Seq) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails[seq] = true
}

// unblock waits until the consumer stands still, and lets it go on.
func (c *consumer) unblock(ctx context.Context, b *book) error {
	if err := c.stopped(ctx, b); err != nil {
		return err
	}
	c.release()
	return nil
}

// stopped waits until the consumer stands still.
func (c *consumer) stopped(ctx context.Context, b *book) error {
	c.mu.Lock()
	moved := c.moved
	c.mu.Unlock()
	patience := b.patience()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-moved:
	case <-timer.C:
		b.ranOut("the consumer to stand still", patience)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// release lets a consumer go on that stands still, and forgets that others should.
func (c *consumer) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.blocks)
	if c.still {
		c.still = false
		close(c.gate)
		c.gate, c.moved = make(chan struct{}), make(chan struct{})
	}
}
