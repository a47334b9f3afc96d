package session_test

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// TestAnyLaneInputs: whatever a fleet-wake transport says, in any order, the gate hears nothing, the mark is never lowered and goes into
// every attempt, nothing is counted that this connection did not count, and alive is said only of a connection that was heard.
func TestAnyLaneInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := gate.New(gate.Config{Saves: true}, gate.Start{})
		if err != nil {
			t.Fatal(err)
		}
		p := session.FleetPolicy()
		p.Jitter, p.Notes = func(int) int { return 0 }, true
		s, err := session.New(g, p)
		if err != nil {
			t.Fatal(err)
		}
		var now time.Duration
		var epoch session.Epoch
		var mark int64
		counted := false // by this connection
		heard := time.Duration(-1)
		s.Open(session.Now{})
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			d := s.Take()
			if d.Apply != nil || d.Save != nil || d.Forget || len(d.Resolved) > 0 {
				t.Fatalf("the gate owes %+v", d)
			}
			for _, n := range d.Notes {
				if n.Kind == session.Enqueued || n.Kind == session.Resnapshotted {
					t.Fatalf("gate input %d", n.Kind)
				}
			}
			if d.Connect != nil {
				epoch, heard, counted = d.Connect.Epoch, -1, false
				want := event.NoPosition
				if mark > 0 {
					want.Watermark = strconv.FormatInt(mark, 10)
				}
				if d.Connect.Resume != want {
					t.Fatalf("attempt from %+v, the mark is %d", d.Connect.Resume, mark)
				}
			}
			o := s.ObserveWake()
			if o.Watermark < mark {
				t.Fatalf("the mark fell from %d to %d", mark, o.Watermark)
			}
			mark = o.Watermark
			if _, known := o.PendingAtCatchUp.Value(); known && o.Connected && !counted {
				t.Fatalf("%v pending, and nobody counted on connection %d", o.PendingAtCatchUp, epoch)
			}
			if v := session.Liveness(&o, session.Now{Mono: now}); bool(v.Alive) && (heard < 0 || now-heard > session.WakeHorizon) || v.Reason == "" {
				t.Fatalf("at %v: %v %q, heard at %v", now, v.Alive, v.Reason, heard)
			}
			now += time.Duration(rapid.SampledFrom([]int{0, 1, 7000, 90000, 90001, 301000}).Draw(t, "ms")) * time.Millisecond
			stamp := session.Now{Mono: now}
			s.Wake(stamp)
			if c := s.Take().Connect; c != nil {
				epoch, heard, counted = c.Epoch, -1, false
			}
			e := epoch
			if rapid.IntRange(0, 5).Draw(t, "stale") == 0 {
				e--
			}
			before := s.Observe(stamp).Link
			speaks := e == epoch && (before == session.LinkDialing || before == session.LinkUp)
			id := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id")
			seq := event.Seq(rapid.IntRange(-1, 50).Draw(t, "seq"))
			kind := rapid.IntRange(0, 8).Draw(t, "input")
			if speaks && kind < 5 {
				heard = now
			}
			switch kind {
			case 0:
				s.Up(e, stamp)
			case 1:
				s.Beat(e, stamp)
			case 2:
				s.WakeStated(e, stamp, session.WakeState{SubscriptionID: id, ArmedForViewer: seq > 9})
			case 3:
				s.Woken(e, stamp, session.Wake{SubscriptionID: id, LogID: seq})
			case 4:
				s.Woken(e, stamp, session.Wake{SubscriptionID: id, LogID: seq, Dropped: "malformed"})
			case 5:
				c := session.CatchUp{State: session.CatchUpState(rapid.IntRange(0, 4).Draw(t, "state")), Pending: session.Known(int64(seq)), Watermark: seq}
				s.CaughtUp(e, stamp, c)
				counted = counted || speaks && before == session.LinkUp && c.State == session.CatchUpDone
			case 6:
				s.Down(e, stamp, session.Down{Kind: session.DownKind(rapid.SampledFrom([]int{0, 1, 3, 4, 6, 7}).Draw(t, "down")), Hole: seq > 9})
			case 7:
				s.Require(stamp, event.TransportGap, "")
			case 8:
				s.Mark(e, stamp, id)
				if speaks {
					heard = now
				}
			}
		}
	})
}
