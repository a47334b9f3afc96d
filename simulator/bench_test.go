package simulator

import (
	"testing"

	"github.com/conform-dev/conform/core/event"
)

// BenchmarkPublish is one change published, sent to one client and written: what one event costs the virtual lane.
func BenchmarkPublish(b *testing.B) {
	sim, err := New(Options{Heartbeat: -1})
	if err != nil {
		b.Fatal(err)
	}
	now := Now{}
	sim.Request(now, 1, Request{Method: "GET", Target: "/stream"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sim.PublishAuto(now, AutoUpsert, 1); err != nil {
			b.Fatal(err)
		}
		for o, ok := sim.Take(); ok; o, ok = sim.Take() {
			if len(o.Bytes) > 0 {
				sim.Written(now, 1, len(o.Bytes))
			}
		}
	}
	if st := sim.State(); st.Connections[0].Sent != st.Head || st.Head < event.Seq(b.N) {
		b.Fatalf("sent %d of %d", st.Connections[0].Sent, st.Head)
	}
}
