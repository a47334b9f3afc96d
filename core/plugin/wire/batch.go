package wire

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/conform-dev/conform/core/transport"
)

// Field numbers of transport.proto that the hand-written ends use. codec_test.go compares them with the generated code.
const (
	frameBatch  protowire.Number = 1        // PluginFrame.batch
	frameSignal protowire.Number = 2        // PluginFrame.signal
	batchEvents protowire.Number = 1        // Batch.events
	eventDoc    protowire.Number = 1        // Event.document
	eventCursor protowire.Number = 2        // Event.cursor
	eventID     protowire.Number = 3        // Event.id
	firstBuffer                  = 32 << 10 // a full batch of 300-byte events fits; the pool keeps this size
)

// Batch collects events in their encoded form: a document is copied once, into the bytes that go over the wire. Generated code
// gives the same bytes (tested) through a struct and two allocations per event, which costs about half of the rate. The zero
// value is an empty batch. It is not safe for concurrent use.
type Batch struct {
	buf *[]byte // from pool; nil while empty
	n   int
}

var pool = mem.DefaultBufferPool()

// Len is the number of events.
func (b *Batch) Len() int { return b.n }

// Size is the number of bytes.
func (b *Batch) Size() int {
	if b.buf == nil {
		return 0
	}
	return len(*b.buf)
}

// EventSize is what d takes in a batch.
func EventSize(d transport.Document) int {
	inner := eventInner(d)
	return protowire.SizeTag(batchEvents) + protowire.SizeBytes(inner)
}

// Fits says whether d may join the batch: always when it is empty, else within MaxBatchEvents and MaxBatchBytes.
func (b *Batch) Fits(d transport.Document) bool {
	return b.n == 0 || b.n < MaxBatchEvents && b.Size()+EventSize(d) <= MaxBatchBytes
}

// CheckDocument refuses what an Event cannot carry: a document above MaxDocument, a cursor or id that is no UTF-8 or above
// Overhead together. It never quotes them.
func CheckDocument(d transport.Document) error {
	if len(d.JSON) > MaxDocument {
		return fmt.Errorf("document is %d bytes long, the limit is %d", len(d.JSON), MaxDocument)
	}
	// Half of Overhead each leaves room for framing.
	if err := checkText("cursor", d.Cursor, Overhead/2-64); err != nil {
		return err
	}
	return checkText("id", d.ID, Overhead/2-64)
}

// Add encodes d, which CheckDocument has passed, behind the events already there.
func (b *Batch) Add(d transport.Document) {
	b.reserve(EventSize(d))
	out := *b.buf
	out = protowire.AppendTag(out, batchEvents, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(eventInner(d)))
	if len(d.JSON) > 0 {
		out = protowire.AppendTag(out, eventDoc, protowire.BytesType)
		out = protowire.AppendBytes(out, d.JSON)
	}
	if d.Cursor != "" {
		out = protowire.AppendTag(out, eventCursor, protowire.BytesType)
		out = protowire.AppendString(out, d.Cursor)
	}
	if d.ID != "" {
		out = protowire.AppendTag(out, eventID, protowire.BytesType)
		out = protowire.AppendString(out, d.ID)
	}
	*b.buf = out
	b.n++
}

// eventInner is the size of the Event message itself.
func eventInner(d transport.Document) int {
	size := 0
	if len(d.JSON) > 0 {
		size += protowire.SizeTag(eventDoc) + protowire.SizeBytes(len(d.JSON))
	}
	if d.Cursor != "" {
		size += protowire.SizeTag(eventCursor) + protowire.SizeBytes(len(d.Cursor))
	}
	if d.ID != "" {
		size += protowire.SizeTag(eventID) + protowire.SizeBytes(len(d.ID))
	}
	return size
}

// reserve makes room for n more bytes in a buffer of the pool.
func (b *Batch) reserve(n int) {
	have := b.Size()
	if b.buf != nil && cap(*b.buf)-have >= n {
		return
	}
	want := max(firstBuffer, have+n)
	if have > 0 {
		want = max(want, 2*cap(*b.buf))
	}
	grown := pool.Get(want)
	*grown = (*grown)[:0]
	if b.buf != nil {
		*grown = append(*grown, *b.buf...)
		pool.Put(b.buf)
	}
	b.buf = grown
}

// message hands the bytes over as a PluginFrame and leaves b empty; gRPC returns the buffer to the pool when they are sent.
func (b *Batch) message() mem.BufferSlice {
	head := protowire.AppendTag(make([]byte, 0, 8), frameBatch, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(b.Size()))
	out := mem.BufferSlice{mem.SliceBuffer(head)}
	if b.buf != nil {
		out = append(out, mem.NewBuffer(b.buf, pool))
	}
	*b = Batch{}
	return out
}
