package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
)

// up is a lane that is connected and heard a frame at 0.
func up(change func(*session.WakeObservation)) session.WakeObservation {
	o := session.WakeObservation{Running: true, Connected: true, Framed: true, LastDisconnect: session.NotStarted}
	if change != nil {
		change(&o)
	}
	return o
}

// stated is such a lane after a state frame.
func stated(st session.WakeState, pending session.Count) session.WakeObservation {
	return up(func(o *session.WakeObservation) { o.Stated, o.LastState, o.PendingAtCatchUp = true, st, pending })
}

// TestLivenessTable is the truth table of fleet facts 6, row by row and byte by byte. The first row that fits wins.
func TestLivenessTable(t *testing.T) {
	armed := session.WakeState{Armed: true, ArmedForViewer: true, Reason: "armed", HasReason: true, SubscriptionID: "s"}
	for _, c := range []struct {
		name string
		o    session.WakeObservation
		ms   time.Duration
		want session.Verdict
	}{
		{"1: never started", session.WakeObservation{LastDisconnect: session.NotStarted}, 0, session.Verdict{Reason: "wake stream consumer not running"}},
		{"1: stopped while connected", up(func(o *session.WakeObservation) { o.Running = false }), 0, session.Verdict{Reason: "wake stream consumer not running"}},
		{"2: silent", stated(armed, session.Known(3)), 90_001, session.Verdict{Reason: "wake stream silent for 90s — liveness unconfirmed"}},
		{"2: seconds are rounded", stated(armed, session.Count{}), 90_500, session.Verdict{Reason: "wake stream silent for 91s — liveness unconfirmed"}},
		{"2: before 3", up(nil), 91_000, session.Verdict{Reason: "wake stream silent for 91s — liveness unconfirmed"}},
		{"3: no state yet", up(nil), 0, session.Verdict{Alive: true, Reason: "composed wake stream connected · state event pending"}},
		{"3: with pending", up(func(o *session.WakeObservation) { o.PendingAtCatchUp = session.Known(2) }), 0,
			session.Verdict{Alive: true, Reason: "composed wake stream connected · state event pending · 2 pending caught up"}},
		{"4: armed", stated(armed, session.Count{}), 0, session.Verdict{Alive: true, Reason: "composed wake stream connected · armed for this viewer"}},
		{"4: exactly 90,000 ms", stated(armed, session.Count{}), 90_000, session.Verdict{Alive: true, Reason: "composed wake stream connected · armed for this viewer"}},
		{"4: a clock that went back", stated(armed, session.Count{}), -5000, session.Verdict{Alive: true, Reason: "composed wake stream connected · armed for this viewer"}},
		{"4: nothing pending", stated(armed, session.Known(0)), 0, session.Verdict{Alive: true, Reason: "composed wake stream connected · armed for this viewer"}},
		{"4: with pending", stated(armed, session.Known(4)), 0, session.Verdict{Alive: true, Reason: "composed wake stream connected · armed for this viewer · 4 pending caught up"}},
		{"5: not armed", stated(session.WakeState{Armed: true, Reason: "armed", HasReason: true}, session.Count{}), 0,
			session.Verdict{Alive: true, Reason: "composed wake stream connected · not armed for this viewer (armed)"}},
		{"5: no reason", stated(session.WakeState{}, session.Known(1)), 0,
			session.Verdict{Alive: true, Reason: "composed wake stream connected · not armed for this viewer (no reason carried) · 1 pending caught up"}},
		{"5: empty reason", stated(session.WakeState{HasReason: true}, session.Count{}), 0,
			session.Verdict{Alive: true, Reason: "composed wake stream connected · not armed for this viewer ()"}},
		{"6: not connected", session.WakeObservation{Running: true, LastDisconnect: "stream refused: HTTP 401", Stated: true, LastState: armed}, 0,
			session.Verdict{Reason: "wake stream disconnected (stream refused: HTTP 401) — poll remains the truth lane"}},
	} {
		if got := session.Liveness(&c.o, session.Now{Mono: c.ms * time.Millisecond}); got != c.want {
			t.Errorf("%s:\ngot  %v %s\nwant %v %s", c.name, got.Alive, got.Reason, c.want.Alive, c.want.Reason)
		}
	}
	const none = "no fleet-surface credential declared (fleet.planeAdmissionBearer / fleet.planeAdmissionBearerFile) — poll remains the truth lane"
	if got := session.Undeclared(""); got != (session.Verdict{Reason: none}) {
		t.Errorf("7: %v", got)
	}
	if got := session.Undeclared("fleet.planeAdmissionBearerFile is empty"); got != (session.Verdict{Reason: none + " · fleet.planeAdmissionBearerFile is empty"}) {
		t.Errorf("7, with a file problem: %v", got)
	}
}

// A count is a number or null, and null is what a count is if nobody counted.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		count session.Count
		json  string
	}{
		{session.Count{}, "null"}, {session.Known(0), "0"}, {session.Known(7), "7"}, {session.Known(-1), "null"},
		{session.Known(int64(event.MaxSeq)), "9007199254740991"}, {session.Known(int64(event.MaxSeq) + 1), "null"},
	} {
		out, err := json.Marshal(c.count)
		if _, known := c.count.Value(); err != nil || string(out) != c.json || known != (c.json != "null") || c.count.String() != c.json {
			t.Errorf("%s is %s known %v, %v", c.json, out, known, err)
		}
	}
	out, _ := json.Marshal([]session.Alive{session.AliveTrue, session.AliveUnknown})
	if string(out) != `[true,"unknown"]` {
		t.Errorf("alive is %s", out)
	}
}

// TestCatchUpAxis is D-59: what the axis says where nobody told it anything.
func TestCatchUpAxis(t *testing.T) {
	told := func(c session.CatchUp) session.WakeObservation {
		return up(func(o *session.WakeObservation) { o.Told, o.CatchUp = true, c })
	}
	for _, c := range []struct {
		name, want string
		o          session.WakeObservation
	}{
		{"not running", "unknown null wake stream consumer not running", session.WakeObservation{}},
		{"not connected", "unknown null no connection to catch up on", session.WakeObservation{Running: true, Told: true, CatchUp: session.CatchUp{State: session.CatchUpDone, Pending: session.Known(2)}}},
		{"no state frame", "unknown null state event pending", up(nil)},
		{"nothing vouched", "not-fired null no subscription id is vouched on this connection", up(func(o *session.WakeObservation) { o.StatedHere = true })},
		{"no answer", "unknown null catch-up poll not answered yet", up(func(o *session.WakeObservation) { o.StatedHere, o.Vouched = true, true })},
		{"done", "done 0 ", told(session.CatchUp{State: session.CatchUpDone, Pending: session.Known(0)})},
		{"done, no count", "done null the answer holds no count", told(session.CatchUp{State: session.CatchUpDone})},
		{"done, no count, a reason", "done null text", told(session.CatchUp{State: session.CatchUpDone, Reason: "text"})},
		{"failed", "failed null status 500", told(session.CatchUp{State: session.CatchUpFailed, Reason: "status 500"})},
		{"no seam", "no-seam null none", told(session.CatchUp{State: session.CatchUpNoSeam, Reason: "none"})},
	} {
		got := session.CatchUpAxis(&c.o)
		if text := got.State.String() + " " + got.Pending.String() + " " + got.Reason; text != c.want {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
	}
	if session.ParseCatchUpState("no-seam") != session.CatchUpNoSeam || session.ParseCatchUpState("else") != session.CatchUpUnknown || session.CatchUpState(9).String() != "unknown" {
		t.Error("a word of a state is read wrongly")
	}
}
