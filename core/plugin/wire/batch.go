package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// firstBuffer is a full batch of 300-byte events; the pool keeps this size.
const firstBuffer = 32 << 10

// Batch collects events in their encoded form: a document is copied once, into the bytes that go over the wire. Generated code
// gives the same bytes (tested) through a struct and several allocations per event, which costs about half of the rate. The zero
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

// Fits says whether an item of that size may join the batch: always when it is empty, else within MaxBatchEvents and
// MaxBatchBytes. An item above MaxBatchBytes is not for a batch, see Item.Cut.
func (b *Batch) Fits(size int) bool {
	return b.n == 0 || b.n < MaxBatchEvents && b.Size()+size <= MaxBatchBytes
}

// Add encodes it, of that size, behind the events already there.
func (b *Batch) Add(it *Item, size int) {
	b.reserve(size)
	*b.buf = it.appendEvent(*b.buf)
	b.n++
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
