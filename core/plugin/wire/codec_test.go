package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// generated encodes documents with the generated code.
func generated(t testing.TB, docs []transport.Document) []byte {
	t.Helper()
	batch := &pb.Batch{}
	for _, d := range docs {
		batch.Events = append(batch.Events, &pb.Event{Document: d.JSON, Cursor: d.Cursor, Id: d.ID})
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pb.PluginFrame{Frame: &pb.PluginFrame_Batch{Batch: batch}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// decode reads a message with the hand-written decoder, copying what it hands out.
func decode(in []byte) (docs []transport.Document, signal *transport.Signal, err error) {
	var f Frame
	defer f.Free()
	if err := (Codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(in)}, &f); err != nil {
		return nil, nil, err
	}
	for {
		d, ok, err := f.Next()
		if err != nil {
			return docs, nil, err
		}
		if !ok {
			break
		}
		d.JSON = bytes.Clone(d.JSON)
		docs = append(docs, d)
	}
	s, ok, err := f.Signal()
	if err != nil || !ok {
		return docs, nil, err
	}
	return docs, &s, nil
}

var someDocs = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) transport.Document {
	return transport.Document{
		JSON:   rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "json"),
		Cursor: rapid.StringN(0, 20, -1).Draw(t, "cursor"),
		ID:     rapid.StringN(0, 200, -1).Draw(t, "id"),
	}
}), 1, 70)

// Both codecs, in both directions, say the same.
func TestHandWrittenCodecEqualsGeneratedCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := someDocs.Draw(t, "docs")
		var b Batch
		size := 0
		for _, d := range docs {
			size += EventSize(d)
			b.Add(d)
		}
		if b.Len() != len(docs) || b.Size() != size {
			t.Fatalf("Len %d, Size %d; want %d, %d", b.Len(), b.Size(), len(docs), size)
		}
		out, err := (Codec{}).Marshal(&b)
		if err != nil {
			t.Fatal(err)
		}
		encoded := bytes.Clone(out.Materialize())
		out.Free()
		if b.Len() != 0 || b.Size() != 0 {
			t.Fatal("the batch is not empty after it was sent")
		}
		in := &pb.PluginFrame{}
		if err := proto.Unmarshal(encoded, in); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, 0)
		want, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(want, in)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encoded, want) {
			t.Fatalf("bytes differ:\n%x\n%x", encoded, want)
		}
		got, signal, err := decode(want)
		if err != nil || signal != nil {
			t.Fatal(err, signal)
		}
		for i := range docs {
			if len(docs[i].JSON) == 0 {
				docs[i].JSON = nil
			}
			if len(got[i].JSON) == 0 {
				got[i].JSON = nil
			}
		}
		if diff := cmp.Diff(docs, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestBatchLimits(t *testing.T) {
	var b Batch
	small := transport.Document{JSON: []byte("x")}
	for range MaxBatchEvents {
		if !b.Fits(small) {
			t.Fatalf("full after %d events", b.Len())
		}
		b.Add(small)
	}
	if b.Fits(small) {
		t.Errorf("more than %d events fit", MaxBatchEvents)
	}
	b = Batch{}
	huge := transport.Document{JSON: make([]byte, 2*MaxBatchBytes)}
	if !b.Fits(huge) {
		t.Error("a large event does not even fit alone")
	}
	b.Add(huge)
	if b.Fits(small) {
		t.Error("a large event does not travel alone")
	}
	b = Batch{}
	b.Add(small)
	exact := transport.Document{JSON: make([]byte, MaxBatchBytes-b.Size()-8)}
	if !b.Fits(exact) || b.Size()+EventSize(exact) != MaxBatchBytes {
		t.Errorf("%d bytes do not fit into %d", b.Size()+EventSize(exact), MaxBatchBytes)
	}
	exact.JSON = append(exact.JSON, 'x')
	if b.Fits(exact) {
		t.Error("one byte too many fits")
	}
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	docs := []transport.Document{{JSON: []byte("one"), Cursor: "c"}, {JSON: []byte("two"), ID: "i"}}
	future := []byte{0xf8, 0x07, 0x01, 0xfa, 0x07, 0x02, 'h', 'i', 0xfd, 0x07, 1, 2, 3, 4} // field 127: varint, bytes, fixed32
	message := append(append([]byte(nil), future...), generated(t, docs)...)
	message = append(message, future...)
	got, _, err := decode(message)
	if err != nil || cmp.Diff(docs, got) != "" {
		t.Errorf("%v, %v", got, err)
	}
	if got, _, err := decode(future); err != nil || len(got) != 0 {
		t.Errorf("a frame of unknown content: %v, %v", got, err)
	}
}

func TestDamagedFramesAreRefused(t *testing.T) {
	whole := generated(t, []transport.Document{{JSON: []byte("document"), Cursor: "c", ID: "i"}})
	for n := 1; n < len(whole); n++ {
		if _, _, err := decode(whole[:n]); err == nil {
			t.Errorf("a frame cut at byte %d of %d was accepted", n, len(whole))
		}
	}
	for name, in := range map[string]string{
		"two contents":        string(whole) + string(whole),
		"cursor not UTF-8":    "\x0a\x05\x0a\x03\x12\x01\xff",
		"id not UTF-8":        "\x0a\x05\x0a\x03\x1a\x01\xff",
		"length past the end": "\x0a\xff\xff\xff\xff\x07",
		"group never closed":  "\x1b",
		"field number 0":      "\x00\x01",
	} {
		if _, _, err := decode([]byte(in)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Whatever arrives, the hand-written decoder does not panic, and what it accepts the generated one accepts and reads the same.
func FuzzFrame(f *testing.F) {
	f.Add(generated(f, []transport.Document{{JSON: []byte(`{"type":"delta"}`), Cursor: "c", ID: "i"}, {}}))
	f.Add([]byte("\x12\x02\x08\x01"))
	f.Add([]byte("\x0a\x05\x0a\x03\x12\x01\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		docs, signal, err := decode(in)
		if err != nil {
			return
		}
		var want pb.PluginFrame
		if err := proto.Unmarshal(in, &want); err != nil {
			t.Fatalf("accepted what protobuf refuses: %v", err)
		}
		if signal != nil {
			if want.GetSignal() == nil {
				t.Fatal("a signal out of nothing")
			}
			if _, err := FromSignal(*signal); err != nil {
				t.Fatalf("a signal that cannot be sent on: %v", err)
			}
		}
		if len(docs) != len(want.GetBatch().GetEvents()) {
			t.Fatalf("%d events, protobuf reads %d", len(docs), len(want.GetBatch().GetEvents()))
		}
		for i, e := range want.GetBatch().GetEvents() {
			if !bytes.Equal(docs[i].JSON, e.Document) || docs[i].Cursor != e.Cursor || docs[i].ID != e.Id {
				t.Fatalf("event %d differs", i)
			}
		}
	})
}

func TestCheckDocument(t *testing.T) {
	for want, d := range map[string]transport.Document{
		"":                                   {JSON: []byte("x"), Cursor: "c"},
		"document is 67108865 bytes long":    {JSON: make([]byte, MaxDocument+1)},
		"cursor is not UTF-8":                {Cursor: "\xff"},
		"id is 600000 bytes long, the limit": {ID: strings.Repeat("x", 600_000)},
	} {
		err := CheckDocument(d)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	d := transport.Document{JSON: make([]byte, 300), Cursor: "c-0123456789"}
	b.SetBytes(300)
	b.ReportAllocs()
	var batch Batch
	for b.Loop() {
		batch.Add(d)
		if batch.Len() == MaxBatchEvents {
			batch.message().Free()
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, cursor := range []string{"", "c-0123456789"} {
		b.Run(fmt.Sprintf("cursor=%d", len(cursor)), func(b *testing.B) {
			docs := make([]transport.Document, MaxBatchEvents)
			for i := range docs {
				docs[i] = transport.Document{JSON: make([]byte, 300), Cursor: cursor}
			}
			in := mem.BufferSlice{mem.SliceBuffer(generated(b, docs))}
			b.SetBytes(300)
			b.ReportAllocs()
			var f Frame
			for n := 0; b.Loop(); n++ {
				if n%MaxBatchEvents == 0 {
					if err := f.read(in); err != nil {
						b.Fatal(err)
					}
				}
				if _, ok, err := f.Next(); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
