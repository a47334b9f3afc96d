package wire

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/mem"

	"github.com/conform-dev/conform/core/event"
)

func BenchmarkEncode(b *testing.B) {
	it := benchItem(1)
	b.SetBytes(300)
	b.ReportAllocs()
	var batch Batch
	for b.Loop() {
		batch.Add(&it, it.Size())
		if batch.Len() == MaxBatchEvents {
			batch.message().Free()
		}
	}
}

// benchItem takes about 300 bytes on the wire.
func benchItem(n int) Item {
	return Item{captured: true, ev: event.Event{
		Kind: event.Delta, ID: fmt.Sprintf("evt-%016d", n), Pos: event.Position{Seq: event.Seq(n), Cursor: fmt.Sprintf("%012d", n)}, Payload: make([]byte, 256),
	}}
}

func BenchmarkDecode(b *testing.B) {
	var batch Batch
	for i := range MaxBatchEvents {
		it := benchItem(i)
		batch.Add(&it, it.Size())
	}
	in := mem.BufferSlice{mem.SliceBuffer(batch.message().Materialize())}
	b.SetBytes(300)
	b.ReportAllocs()
	var f Frame
	for n := 0; b.Loop(); n++ {
		if n%MaxBatchEvents == 0 {
			if err := f.read(in); err != nil {
				b.Fatal(err)
			}
		}
		if it, err := f.Next(); it == nil || err != nil {
			b.Fatal(it, err)
		}
	}
}
