package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/conform-dev/conform/core/event"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// Whatever arrives, the hand-written decoder does not panic, and what it accepts the generated one accepts and reads the same.
func FuzzFrame(f *testing.F) {
	f.Add(generated(f, raw(transport.Document{JSON: []byte(`{"type":"delta"}`), Cursor: "c", ID: "i"}), raw(transport.Document{})))
	f.Add(generated(f, &Item{captured: true, ev: event.Event{
		Kind: event.Snapshot, Merge: true, ID: "i", Payload: []byte("{}"), Trace: &event.Correlation{Correlation: "k"},
		Pos: event.Position{Seq: 9, Cursor: "c", Watermark: "w", Timestamp: "t", DeltaToken: "d"},
	}}, &Item{captured: true, ev: event.Event{Fault: event.InvalidEvent, Hole: true, Detail: "d", Pos: event.NoPosition}}))
	f.Add([]byte("\x12\x02\x08\x01"))
	f.Add([]byte("\x0a\x05\x0a\x03\x12\x01\xff"))
	f.Add(encoded(f, &pb.PluginFrame{Frame: &pb.PluginFrame_Part{Part: &pb.Part{Data: []byte("x")}}}))
	for _, s := range []transport.Signal{
		{Kind: transport.Refreshed, Position: event.Position{Seq: 3, DeltaToken: "d"}},
		{Kind: transport.Polled, Poll: &transport.PollReport{Interval: 1e9, Seq: 3, Changed: true, Upserts: 1}},
		{Kind: transport.WakeStated, WakeState: &transport.WakeState{Reason: "armed", HasReason: true, LastPushAt: -1, SubscriptionID: "s"}},
		{Kind: transport.Woken, Wake: &transport.Wake{SubscriptionID: "s", EventID: "e", LogID: 3, Envelope: []byte("{}")}},
		{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: transport.CatchUpFailed, Pending: -1, Watermark: 3, Reason: "timeout"}},
	} {
		out, err := FromSignal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded(f, &pb.PluginFrame{Frame: &pb.PluginFrame_Signal{Signal: out}}))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		items, signal, err := decode(in)
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
		var read []Item
		for _, e := range want.GetBatch().GetEvents() {
			if e.DocumentBytes == 0 { // else it waits for its parts
				read = append(read, item(e))
			}
		}
		if diff := different(read, items); diff != "" {
			t.Fatal(diff)
		}
		for i := range items { // and what was accepted may be sent on
			var b Batch
			b.Add(&items[i], items[i].Size())
			if again, _, err := decode(b.message().Materialize()); err != nil || different(items[i:i+1], again) != "" {
				t.Fatalf("event %d does not cross again: %v", i, err)
			}
		}
	})
}
