package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/plugin/wire"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// sink queues what a transport reports while the sender is busy, and blocks the transport when the queue holds one full batch. There
// is no timer: the sender takes what is there as soon as it is free. So a single event leaves at once, and under load batches
// fill by themselves.
type sink struct {
	send   func(any) error
	cancel context.CancelFunc // the transport's: called when sending failed
	stop   func() bool
	done   chan struct{} // closed when the sender has returned

	mu     sync.Mutex
	change sync.Cond // queue, err or closed changed
	queue  []any     // *wire.Batch, *wire.Part and *pb.PluginFrame (signals), in wire order
	items  int       // events, parts and signals in queue
	bytes  int
	final  bool  // a final signal was queued: nothing may follow
	closed bool  // the transport has returned
	err    error // sending failed or the call ended: nothing is accepted any more

	parting bool // a document is being queued in parts: nothing else is
}

var _ transport.EventSink = (*sink)(nil)

var errAfterFinal = errors.New("the connection was already ended by a final signal")

func newSink(ctx context.Context, send func(any) error, cancel context.CancelFunc) *sink {
	s := &sink{send: send, cancel: cancel, done: make(chan struct{})}
	s.change.L = &s.mu
	s.stop = context.AfterFunc(ctx, func() { s.fail(context.Cause(ctx)) })
	go s.run()
	return s
}

// Document captures d, here in the plugin's process, and queues a copy behind everything before it. It blocks while a full batch
// waits, and fails when the host is gone, when d breaks a limit of the protocol, or after a final signal.
func (s *sink) Document(d transport.Document) error {
	var it wire.Item
	if err := it.Capture(d); err != nil {
		return fmt.Errorf("event cannot be sent: %w", err)
	}
	return s.put(&it)
}

// Event queues a copy of ev as Document does. It fails for an event that capture could not have given.
func (s *sink) Event(ev *event.Event) error {
	var it wire.Item
	if err := it.SetEvent(ev); err != nil {
		return fmt.Errorf("event cannot be sent: %w", err)
	}
	return s.put(&it)
}

func (s *sink) put(it *wire.Item) error {
	size := it.Size()
	if size > wire.MaxBatchBytes {
		return s.putParts(it)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.await(size); err != nil {
		return err
	}
	s.add(it, size)
	return nil
}

// putParts queues an event and then its document piece by piece, as room comes: the document is never copied whole. Nothing
// else gets in between.
func (s *sink) putParts(it *wire.Item) error {
	document := it.Cut()
	size := it.Size()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.await(size); err != nil {
		return err
	}
	s.add(it, size)
	s.parting = true
	defer func() { s.parting = false; s.change.Broadcast() }()
	for at := 0; at < len(document); {
		s.room(wire.MaxPart)
		if s.err != nil {
			return s.err
		}
		var part *wire.Part
		part, at = wire.NewPart(document, at)
		s.queue = append(s.queue, part)
		s.queued(part.Size())
	}
	return nil
}

// add queues an item. The lock is held.
func (s *sink) add(it *wire.Item, size int) {
	batch, ok := s.tail().(*wire.Batch)
	if !ok || !batch.Fits(size) {
		batch = new(wire.Batch)
		s.queue = append(s.queue, batch)
	}
	batch.Add(it, size)
	s.queued(size)
}

// Signal queues sig behind everything before it, and blocks and fails as Document does.
func (s *sink) Signal(sig transport.Signal) error {
	out, err := wire.FromSignal(sig)
	if err != nil {
		return fmt.Errorf("signal cannot be sent: %w", err)
	}
	size := proto.Size(out) // a wake brings its envelope, a refresh its tokens
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.await(size); err != nil {
		return err
	}
	s.queue = append(s.queue, &pb.PluginFrame{Frame: &pb.PluginFrame_Signal{Signal: out}})
	s.final = sig.Kind.Final()
	s.queued(size)
	return nil
}

// await returns when size more bytes may be queued. The lock is held.
func (s *sink) await(size int) error {
	for s.room(size); s.parting && s.err == nil; s.room(size) {
		s.change.Wait()
	}
	if s.err != nil {
		return s.err
	}
	if s.final || s.closed {
		return errAfterFinal
	}
	return nil
}

// room waits until size more bytes fit into the queue, or nothing is queued any more. The lock is held.
func (s *sink) room(size int) {
	for s.err == nil && !s.final && s.items > 0 && (s.items >= wire.MaxBatchEvents || s.bytes+size > wire.MaxBatchBytes) {
		s.change.Wait()
	}
}

func (s *sink) tail() any {
	if len(s.queue) == 0 {
		return nil
	}
	return s.queue[len(s.queue)-1]
}

func (s *sink) queued(size int) {
	s.items++
	s.bytes += size
	s.change.Broadcast()
}

// run is the sender. It alone calls send.
func (s *sink) run() {
	defer close(s.done)
	var spare []any
	for {
		s.mu.Lock()
		for s.err == nil && len(s.queue) == 0 && !s.closed {
			s.change.Wait()
		}
		if s.err != nil || len(s.queue) == 0 {
			s.mu.Unlock()
			return
		}
		taken := s.queue
		s.queue, s.items, s.bytes = spare[:0], 0, 0
		s.change.Broadcast()
		s.mu.Unlock()
		for i, m := range taken {
			if err := s.send(m); err != nil {
				s.fail(err)
				return
			}
			taken[i] = nil
		}
		spare = taken
	}
}

// fail ends the queue: who waits for room or for the sender wakes.
func (s *sink) fail(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.change.Broadcast()
	s.mu.Unlock()
	s.cancel()
}

// finish sends what is queued and waits for the sender. It says whether the connection was ended by a final signal.
func (s *sink) finish() (final bool, err error) {
	s.mu.Lock()
	s.closed = true
	s.change.Broadcast()
	s.mu.Unlock()
	<-s.done
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final, s.err
}
