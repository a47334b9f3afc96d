package wire

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/conform-dev/conform/core/event"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// count reads a message and counts its complete events.
func (f *Frame) count(in []byte) (n int, err error) {
	if err := f.read(mem.BufferSlice{mem.SliceBuffer(in)}); err != nil {
		return 0, err
	}
	for {
		it, err := f.Next()
		if it == nil || err != nil {
			return n, err
		}
		n++
	}
}

func part(offset int, data []byte) *pb.PluginFrame {
	return &pb.PluginFrame{Frame: &pb.PluginFrame_Part{Part: &pb.Part{Offset: int64(offset), Data: data}}}
}

// A document of any size arrives whole behind its event, in parts of the same bytes as generated code writes, and the reader holds
// no more than twice of what came.
func TestDocumentsCrossInParts(t *testing.T) {
	for _, size := range []int{1, MaxPart - 1, MaxPart, MaxPart + 1, 2*MaxPart + 7, DefaultDocument} {
		document := make([]byte, size)
		for i := range document {
			document[i] = byte(rand.Uint32())
		}
		it := Item{captured: true, ev: event.Event{Kind: event.Snapshot, ID: "i", Pos: event.Position{Seq: 5, Cursor: "c"}, Payload: document}}
		cut := it.Cut()
		if &cut[0] != &document[0] || len(cut) != size {
			t.Fatal("Cut copies")
		}
		var f Frame
		if got, _, err := f.take(generated(t, &it)); err != nil || len(got) != 0 {
			t.Fatalf("%d: the header alone gives %d events, %v", size, len(got), err)
		}
		var got []Item
		for at := 0; at < size; {
			p, next := NewPart(document, at)
			if p.Size() > MaxMessage {
				t.Fatalf("a part of %d bytes", p.Size())
			}
			out, err := (Codec{}).Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			hand := out.Materialize()
			out.Free()
			if stock := encoded(t, part(at, document[at:next])); !bytes.Equal(hand, stock) {
				t.Fatalf("%d: the part at %d differs from generated code", size, at)
			}
			if len(got) != 0 {
				t.Fatal("complete before its end")
			}
			if got, _, err = f.take(hand); err != nil {
				t.Fatal(err)
			}
			at = next
			if held := cap(f.parts.doc); held > 2*max(at, MaxPart) || held > size {
				t.Fatalf("%d bytes held for %d of %d", held, at, size)
			}
		}
		if len(got) != 1 || !bytes.Equal(got[0].Document().JSON, document) || got[0].ev.ID != "i" || got[0].ev.Pos.Seq != 5 {
			t.Fatalf("%d: arrived as %d events", size, len(got))
		}
		// The connection goes on.
		if got, s, err := f.take(generated(t, raw(transport.Document{JSON: []byte("next")}))); err != nil || s != nil || len(got) != 1 {
			t.Fatalf("%d: afterwards: %v", size, err)
		}
	}
}

func TestARawDocumentCrossesInParts(t *testing.T) {
	var f Frame
	header := batchOf(&pb.Event{Document: []byte("first")}, &pb.Event{Cursor: "c", DocumentBytes: 32})
	if n, err := f.count(encoded(t, header)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	json := `{"type":"delta","sequence":1   }`
	if n, err := f.count(encoded(t, part(0, []byte(json[:10])))); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	got, _, err := f.take(encoded(t, part(10, []byte(json[10:]))))
	if err != nil || len(got) != 1 || got[0].Captured() {
		t.Fatal(got, err)
	}
	if ev := got[0].Event(); ev.Kind != event.Delta || ev.Pos.Cursor != "c" || string(ev.Payload) != json {
		t.Errorf("%+v", ev)
	}
}

// Parts out of order, too many, too large, too small, or interrupted: the reader says what is wrong and is done.
func TestPartsAreChecked(t *testing.T) {
	open := batchOf(&pb.Event{DocumentBytes: 10})
	signal := &pb.PluginFrame{Frame: &pb.PluginFrame_Signal{Signal: &pb.Signal{Kind: pb.Signal_HEARTBEAT}}}
	large := batchOf(&pb.Event{DocumentBytes: 1 << 20})
	ten := []byte("0123456789")
	for want, frames := range map[string][]proto.Message{
		"a part belongs to no event":                          {part(0, ten)},
		"a part belongs to no event ":                         {open, part(0, ten), part(10, ten)},
		"part.offset is 3, 0 bytes went before":               {open, part(3, ten[3:])},
		"part.offset is 0, 4 bytes went before":               {open, part(0, ten[:4]), part(0, ten[:4])},
		"part.offset is 18446744073709551615":                 {open, part(-1, ten)},
		"part.data goes beyond the 10 bytes":                  {open, part(0, ten[:6]), part(6, ten[5:])},
		"part.data is 0 bytes long":                           {open, part(0, nil)},
		"part.data is 262145 bytes long, outside 1 to 262144": {large, part(0, make([]byte, MaxPart+1))},
		"not complete, and something else came":               {open, part(0, ten[:4]), signal},
		"not complete, and something else came ":              {open, open},
		"not complete, and something else came  ":             {batchOf(&pb.Event{DocumentBytes: 10}, &pb.Event{Document: ten})},
		"plugin frame is damaged":                             {open, part(0, ten[:2]), nil},
	} {
		f := Frame{MaxDocument: 1 << 20}
		var err error
		for i, m := range frames {
			if err != nil {
				t.Errorf("%q: refused too early, at %d: %v", want, i, err)
			}
			in := []byte("\x1a\x02\x12\x09") // a part whose data ends too early
			if m != nil {
				in = encoded(t, m)
			}
			_, _, err = f.take(in)
		}
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f := Frame{MaxDocument: 9}
	if _, err := f.count(encoded(t, open)); err == nil || !strings.Contains(err.Error(), "is 10, outside 0 to 9 (maxEventBytes)") {
		t.Errorf("above the limit of the connection: %v", err)
	}
}

// FuzzParts feeds one connection frames cut from the input: it never panics and never holds more than it was sent, twice.
func FuzzParts(f *testing.F) {
	f.Add(encoded(f, batchOf(&pb.Event{DocumentBytes: 4})), encoded(f, part(0, []byte("ab"))), encoded(f, part(2, []byte("cd"))))
	f.Add(encoded(f, batchOf(&pb.Event{DocumentBytes: 1 << 24})), encoded(f, part(0, []byte("ab"))), []byte("\x12\x02\x08\x02"))
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		var frame Frame
		sent := 0
		for _, in := range [][]byte{a, b, c} {
			sent += len(in)
			items, _, err := frame.take(in)
			if held := cap(frame.parts.doc); held > 2*sent+MaxPart {
				t.Fatalf("%d bytes held, %d were sent", held, sent)
			}
			for i := range items {
				if len(items[i].ev.Payload) > sent {
					t.Fatal("a document out of nothing")
				}
			}
			if err != nil {
				return
			}
		}
	})
}
