package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// message is an item as generated code has it.
func message(it *Item) *pb.Event {
	ev := &it.ev
	out := &pb.Event{Document: ev.Payload, Cursor: ev.Pos.Cursor, Id: ev.ID, DocumentBytes: int64(it.size)}
	switch {
	case !it.captured:
	case ev.Kind == event.Malformed:
		out.Defect = &pb.Defect{Reason: ev.Fault.String(), Detail: ev.Detail, Hole: ev.Hole}
	default:
		out.Kind, out.Merge = pb.Event_Kind(ev.Kind), ev.Merge
		if ev.Pos.Seq != event.NoSeq {
			out.Sequence = proto.Int64(int64(ev.Pos.Seq))
		}
		out.Watermark, out.Timestamp, out.DeltaToken = ev.Pos.Watermark, ev.Pos.Timestamp, ev.Pos.DeltaToken
		if t := ev.Trace; t != nil {
			out.Correlation = &pb.Correlation{OperationInstance: t.OperationInstance, Correlation: t.Correlation, Audit: t.Audit, Proposal: t.Proposal}
		}
	}
	return out
}

// item is message's way back, without any check.
func item(in *pb.Event) Item {
	it := Item{ev: event.Event{Payload: in.Document, Pos: event.Position{Seq: event.NoSeq, Cursor: in.Cursor}, ID: in.Id}, size: int(in.DocumentBytes)}
	ev := &it.ev
	it.captured = in.Kind != 0 || in.Defect != nil
	if d := in.Defect; d != nil {
		ev.Fault, _ = event.ParseReason(d.Reason)
		ev.Detail, ev.Hole = d.Detail, d.Hole
	}
	ev.Kind, ev.Merge = event.Kind(in.Kind), in.Merge
	if in.Sequence != nil {
		ev.Pos.Seq = event.Seq(*in.Sequence)
	}
	ev.Pos.Watermark, ev.Pos.Timestamp, ev.Pos.DeltaToken = in.Watermark, in.Timestamp, in.DeltaToken
	if t := in.Correlation; t != nil {
		ev.Trace = &event.Correlation{OperationInstance: t.OperationInstance, Correlation: t.Correlation, Audit: t.Audit, Proposal: t.Proposal}
	}
	return it
}

// generated encodes a batch with the generated code.
func generated(t testing.TB, items ...*Item) []byte {
	t.Helper()
	batch := &pb.Batch{}
	for _, it := range items {
		batch.Events = append(batch.Events, message(it))
	}
	return encoded(t, &pb.PluginFrame{Frame: &pb.PluginFrame_Batch{Batch: batch}})
}

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// take is what a message is to a connection that had the ones before it: a copy of each event, or a signal.
func (f *Frame) take(in []byte) (items []Item, signal *transport.Signal, err error) {
	if err := (Codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(in)}, f); err != nil {
		return nil, nil, err
	}
	for {
		it, err := f.Next()
		if err != nil {
			return items, nil, err
		}
		if it == nil {
			break
		}
		items = append(items, *it)
	}
	s, ok, err := f.Signal()
	if err != nil || !ok {
		return items, nil, err
	}
	return items, &s, nil
}

func decode(in []byte) ([]Item, *transport.Signal, error) { return new(Frame).take(in) }

// different says how two items differ; no bytes are no bytes, nil or empty.
func different(a, b []Item) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(Item{}), cmp.Comparer(func(x, y []byte) bool { return bytes.Equal(x, y) }))
}

func raw(d transport.Document) *Item {
	return &Item{ev: event.Event{Pos: event.Position{Seq: event.NoSeq, Cursor: d.Cursor}, ID: d.ID, Payload: d.JSON}}
}

var someText = rapid.StringN(0, 40, -1)

func maybe(t *rapid.T, name string) bool { return rapid.Bool().Draw(t, name) }

// someItems are items of all three kinds that a plugin may send.
var someItems = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *Item {
	it := raw(transport.Document{JSON: rapid.SliceOfN(rapid.Byte(), 1, 400).Draw(t, "json"), Cursor: someText.Draw(t, "cursor"), ID: someText.Draw(t, "id")})
	ev := &it.ev
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0:
		return it
	case 1:
		it.captured = true
		ev.Fault, ev.Detail = event.InvalidEvent, someText.Draw(t, "detail")
		ev.Hole = maybe(t, "hole")
		if !ev.Hole && maybe(t, "conflict") {
			ev.Fault = event.CheckpointConflict
		}
		return it
	}
	it.captured = true
	ev.Kind = event.Kind(rapid.IntRange(int(event.Snapshot), int(event.Delta)).Draw(t, "kind"))
	ev.Merge = ev.Kind == event.Snapshot && maybe(t, "merge")
	if maybe(t, "sequenced") {
		ev.Pos.Seq = event.Seq(rapid.Int64Range(0, int64(event.MaxSeq)).Draw(t, "sequence"))
	}
	ev.Pos.Watermark, ev.Pos.Timestamp, ev.Pos.DeltaToken = someText.Draw(t, "watermark"), someText.Draw(t, "timestamp"), someText.Draw(t, "token")
	if maybe(t, "correlated") {
		ev.Trace = &event.Correlation{OperationInstance: someText.Draw(t, "instance"), Correlation: someText.Draw(t, "correlation"), Audit: someText.Draw(t, "audit"), Proposal: someText.Draw(t, "proposal")}
	}
	return it
}), 1, MaxBatchEvents)

// Both codecs, in both directions, say the same.
func TestHandWrittenCodecEqualsGeneratedCode(t *testing.T) {
	var f Frame // one for all, as on a connection
	rapid.Check(t, func(rt *rapid.T) {
		items := someItems.Draw(rt, "items")
		var b Batch
		size := 0
		want := make([]Item, len(items))
		for i, it := range items {
			want[i] = *it
			size += it.Size()
			b.Add(it, it.Size())
		}
		if b.Len() != len(items) || b.Size() != size {
			rt.Fatalf("Len %d, Size %d; want %d, %d", b.Len(), b.Size(), len(items), size)
		}
		out, err := (Codec{}).Marshal(&b)
		if err != nil {
			rt.Fatal(err)
		}
		hand := out.Materialize()
		out.Free()
		if b.Len() != 0 || b.Size() != 0 {
			rt.Fatal("the batch is not empty after it was sent")
		}
		if stock := generated(t, items...); !bytes.Equal(hand, stock) {
			rt.Fatalf("bytes differ:\n%x\n%x", hand, stock)
		}
		in := &pb.PluginFrame{}
		if err := proto.Unmarshal(hand, in); err != nil {
			rt.Fatal(err)
		}
		var read []Item
		for _, e := range in.GetBatch().Events {
			read = append(read, item(e))
		}
		if diff := different(want, read); diff != "" {
			rt.Fatal("generated code reads other events:", diff)
		}
		got, signal, err := f.take(hand)
		if err != nil || signal != nil {
			rt.Fatal(err, signal)
		}
		if diff := different(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// The numbers are written down twice; the descriptor of the generated code knows them too.
func TestFieldNumbersAgree(t *testing.T) {
	numbers := map[proto.Message]map[string]protoreflect.FieldNumber{
		&pb.PluginFrame{}: {"batch": frameBatch, "signal": frameSignal, "part": framePart},
		&pb.Batch{}:       {"events": batchEvents},
		&pb.Part{}:        {"offset": partOffset, "data": partData},
		&pb.Defect{}:      {"reason": defectReason, "detail": defectDetail, "hole": defectHole},
		&pb.Correlation{}: {"operation_instance": traceInstance, "correlation": traceCorrelation, "audit": traceAudit, "proposal": traceProposal},
		&pb.Event{}: {
			"document": eventDocument, "cursor": eventCursor, "id": eventID, "kind": eventKind, "merge": eventMerge, "sequence": eventSequence,
			"watermark": eventWatermark, "timestamp": eventTimestamp, "delta_token": eventDeltaToken, "correlation": eventCorrelation,
			"defect": eventDefect, "document_bytes": eventBytes,
		},
	}
	for m, want := range numbers {
		fields := m.ProtoReflect().Descriptor().Fields()
		if fields.Len() != len(want) {
			t.Errorf("%T has %d fields, the hand-written codec knows %d", m, fields.Len(), len(want))
		}
		for i := range fields.Len() {
			if f := fields.Get(i); want[string(f.Name())] != f.Number() {
				t.Errorf("%s is %d, the hand-written codec says %d", f.FullName(), f.Number(), want[string(f.Name())])
			}
		}
	}
	for k := event.Snapshot; k <= event.Delta; k++ {
		if name := pb.Event_Kind(k).String(); name != strings.ToUpper(k.String()) {
			t.Errorf("kind %v is %s in the protocol", k, name)
		}
	}
}

func TestBatchLimits(t *testing.T) {
	var b Batch
	small := raw(transport.Document{JSON: []byte("x")})
	for range MaxBatchEvents {
		if !b.Fits(small.Size()) {
			t.Fatalf("full after %d events", b.Len())
		}
		b.Add(small, small.Size())
	}
	if b.Fits(small.Size()) {
		t.Errorf("more than %d events fit", MaxBatchEvents)
	}
	b = Batch{}
	texts := raw(transport.Document{JSON: []byte("x"), Cursor: strings.Repeat("c", MaxFraming)})
	if !b.Fits(texts.Size()) {
		t.Error("an event of large texts does not even fit alone")
	}
	b.Add(texts, texts.Size())
	if b.Fits(small.Size()) {
		t.Error("an event of large texts does not travel alone")
	}
	b = Batch{}
	b.Add(small, small.Size())
	exact := raw(transport.Document{JSON: make([]byte, MaxBatchBytes-b.Size()-8)})
	if !b.Fits(exact.Size()) || b.Size()+exact.Size() != MaxBatchBytes {
		t.Errorf("%d bytes do not fit into %d", b.Size()+exact.Size(), MaxBatchBytes)
	}
	exact.ev.Payload = append(exact.ev.Payload, 'x')
	if b.Fits(exact.Size()) {
		t.Error("one byte too many fits")
	}
}

// The largest header that may cross, framing or members, stays within a message.
func TestLargestEventFitsAMessage(t *testing.T) {
	document := make([]byte, MaxBatchBytes)
	long := strings.Repeat("x", MaxFraming)
	member := long[:MaxMember]
	for name, it := range map[string]*Item{
		"raw":    raw(transport.Document{JSON: document, Cursor: long, ID: long}),
		"defect": {captured: true, ev: event.Event{Fault: event.InvalidEvent, Detail: long[:MaxDetail], ID: long, Pos: event.Position{Seq: event.NoSeq, Cursor: long}, Payload: document}},
		"captured": {captured: true, ev: event.Event{
			Kind: event.Snapshot, Merge: true, ID: long[:event.MaxIDBytes], Payload: document,
			Pos:   event.Position{Seq: event.MaxSeq, Cursor: member, Watermark: member, Timestamp: member, DeltaToken: member},
			Trace: &event.Correlation{OperationInstance: member, Correlation: member, Audit: member, Proposal: member},
		}},
	} {
		if in := generated(t, it); len(in) > MaxMessage {
			t.Errorf("%s: %d bytes, the limit is %d", name, len(in), MaxMessage)
		} else if got, _, err := decode(in); err != nil || different([]Item{*it}, got) != "" {
			t.Errorf("%s does not cross: %v", name, err)
		}
	}
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	ev := event.Event{Kind: event.Delta, Pos: event.Position{Seq: 3, Cursor: "c"}, Payload: []byte("two"), Trace: &event.Correlation{Audit: "a"}}
	items := []*Item{raw(transport.Document{JSON: []byte("one"), ID: "i"}), {captured: true, ev: ev}}
	future := []byte{0xf8, 0x07, 0x01, 0xfa, 0x07, 0x02, 'h', 'i', 0xfd, 0x07, 1, 2, 3, 4} // field 127: varint, bytes, fixed32
	want := []Item{*items[0], *items[1]}
	in := new(pb.PluginFrame)
	if err := proto.Unmarshal(generated(t, items...), in); err != nil {
		t.Fatal(err)
	}
	events := in.GetBatch().Events
	for _, m := range []proto.Message{in, in.GetBatch(), events[0], events[1], events[1].Correlation} {
		m.ProtoReflect().SetUnknown(future)
	}
	got, _, err := decode(append(bytes.Clone(future), encoded(t, in)...))
	if diff := different(want, got); err != nil || diff != "" {
		t.Errorf("%v, %v", err, diff)
	}
	if got, _, err := decode(future); err != nil || len(got) != 0 {
		t.Errorf("a frame of unknown content: %v, %v", got, err)
	}
	defect := &pb.Event{Document: []byte("x"), Defect: &pb.Defect{Reason: "invalid-event"}}
	defect.Defect.ProtoReflect().SetUnknown(future)
	if got, _, err := decode(encoded(t, batchOf(defect))); err != nil || len(got) != 1 || got[0].ev.Fault != event.InvalidEvent {
		t.Errorf("a defect with unknown members: %v, %v", got, err)
	}
}

func batchOf(events ...*pb.Event) *pb.PluginFrame {
	return &pb.PluginFrame{Frame: &pb.PluginFrame_Batch{Batch: &pb.Batch{Events: events}}}
}

func TestDamagedFramesAreRefused(t *testing.T) {
	whole := generated(t, raw(transport.Document{JSON: []byte("document"), Cursor: "c", ID: "i"}), &Item{captured: true, ev: event.Event{
		Kind: event.Delta, Payload: []byte("document"), Pos: event.Position{Seq: 1 << 20, Watermark: "w"}, Trace: &event.Correlation{Audit: "a"},
	}})
	for n := 1; n < len(whole); n++ {
		if _, _, err := decode(whole[:n]); err == nil {
			t.Errorf("a frame cut at byte %d of %d was accepted", n, len(whole))
		}
	}
	for name, in := range map[string]string{
		"two contents":          string(whole) + string(whole),
		"cursor not UTF-8":      "\x0a\x05\x0a\x03\x12\x01\xff",
		"id not UTF-8":          "\x0a\x05\x0a\x03\x1a\x01\xff",
		"correlation not UTF-8": "\x0a\x07\x0a\x05\x52\x03\x1a\x01\xff",
		"length past the end":   "\x0a\xff\xff\xff\xff\x07",
		"event past the end":    "\x0a\x04\x0a\x02\x12\x7f",
		"group never closed":    "\x1b",
		"field number 0":        "\x00\x01",
		"member number 0":       "\x0a\x04\x0a\x02\x00\x01",
	} {
		if _, _, err := decode([]byte(in)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
