package drive_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// TestWakeSignals: what a fleet-wake transport says reaches the session whole, and what is not known stays so.
func TestWakeSignals(t *testing.T) {
	g, err := gate.New(gate.Config{}, gate.Start{})
	if err != nil {
		t.Fatal(err)
	}
	p := session.FleetPolicy()
	p.Jitter = func(int) int { return 0 }
	s, err := session.New(g, p)
	if err != nil {
		t.Fatal(err)
	}
	s.Open(session.Now{})
	s.Take()
	for _, sig := range []transport.Signal{
		{Kind: transport.Open},
		{Kind: transport.WakeStated, WakeState: &transport.WakeState{Armed: true, Reason: "armed", HasReason: true, LastPushAt: -1, ConnectedIdentities: 0, ArmedForViewer: true, SubscriptionID: "sub-7"}},
		{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: transport.CatchUpDone, Pending: 3, Watermark: 40}},
		{Kind: transport.Woken, Wake: &transport.Wake{SubscriptionID: "sub-7", LogID: 43}},
		{Kind: transport.Woken, Wake: &transport.Wake{LogID: event.NoSeq, Dropped: "malformed"}},
	} {
		drive.Signal(s, 1, session.Now{}, sig)
	}
	got, want := s.ObserveWake(), session.WakeObservation{
		Running: true, Connected: true, Framed: true, Stated: true, StatedHere: true, LastDisconnect: session.NotStarted,
		LastState:      session.WakeState{Armed: true, Reason: "armed", HasReason: true, ConnectedIdentities: session.Known(0), ArmedForViewer: true, SubscriptionID: "sub-7"},
		SubscriptionID: "sub-7", Vouched: true, Watermark: 43, PendingAtCatchUp: session.Known(3), Told: true,
		CatchUp:    session.CatchUp{State: session.CatchUpDone, Pending: session.Known(3), Watermark: 40},
		RetryFloor: session.FleetBase, Wakes: 1, Dropped: 1, LastDropped: "malformed",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(session.Count{})); diff != "" {
		t.Error(diff)
	}
	for state, want := range map[transport.CatchUpState]session.CatchUpState{
		transport.CatchUpUnknown: session.CatchUpUnknown, transport.CatchUpDone: session.CatchUpDone, transport.CatchUpFailed: session.CatchUpFailed,
		transport.CatchUpNotFired: session.CatchUpNotFired, transport.CatchUpNoSeam: session.CatchUpNoSeam,
	} {
		drive.Signal(s, 1, session.Now{}, transport.Signal{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: state, Pending: -1, Watermark: event.NoSeq}})
		if o := s.ObserveWake(); o.CatchUp.State != want {
			t.Errorf("%s is %v", state, o.CatchUp.State)
		}
	}
	drive.Signal(s, 1, session.Now{}, transport.Signal{Kind: transport.Woken})
	if ob := s.Observe(session.Now{}); ob.Ending == nil || ob.Ending.Cause != session.ProtocolError {
		t.Errorf("a wake without content: %+v", ob.Ending)
	}
}
