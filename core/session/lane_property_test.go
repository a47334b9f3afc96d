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
		m := &laneModel{t: t, heard: -1}
		if m.s, err = session.New(g, p); err != nil {
			t.Fatal(err)
		}
		m.s.Open(session.Now{})
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			m.take()
			m.now += time.Duration(rapid.SampledFrom([]int{0, 1, 7000, 90000, 90001, 301000}).Draw(t, "ms")) * time.Millisecond
			m.s.Wake(session.Now{Mono: m.now})
			m.take()
			m.input()
		}
		m.take()
	})
}

// laneModel checks a session from outside.
type laneModel struct {
	t       *rapid.T
	s       *session.Session
	now     time.Duration
	epoch   session.Epoch
	mark    int64
	counted bool          // this connection's poll was answered
	heard   time.Duration // last frame of this connection; -1 if there was none
}

// take checks what is due and what is shown.
func (m *laneModel) take() {
	t := m.t
	d := m.s.Take()
	if d.Apply != nil || d.Save != nil || d.Forget || len(d.Resolved) > 0 {
		t.Fatalf("the gate owes %+v", d)
	}
	for _, n := range d.Notes {
		if n.Kind == session.Enqueued || n.Kind == session.Resnapshotted {
			t.Fatalf("gate input %d", n.Kind)
		}
	}
	if d.Connect != nil {
		m.epoch, m.heard, m.counted = d.Connect.Epoch, -1, false
		want := event.NoPosition
		if m.mark > 0 {
			want.Watermark = strconv.FormatInt(m.mark, 10)
		}
		if d.Connect.Resume != want {
			t.Fatalf("attempt from %+v, the mark is %d", d.Connect.Resume, m.mark)
		}
	}
	o := m.s.ObserveWake()
	if o.Watermark < m.mark {
		t.Fatalf("the mark fell from %d to %d", m.mark, o.Watermark)
	}
	m.mark = o.Watermark
	if _, known := o.PendingAtCatchUp.Value(); known && o.Connected && !m.counted {
		t.Fatalf("%v pending, and nobody counted on connection %d", o.PendingAtCatchUp, m.epoch)
	}
	v := session.Liveness(&o, session.Now{Mono: m.now})
	if bool(v.Alive) && (m.heard < 0 || m.now-m.heard > session.WakeHorizon) || v.Reason == "" {
		t.Fatalf("at %v: %v %q, heard at %v", m.now, v.Alive, v.Reason, m.heard)
	}
}

// input gives one input, of this connection or of the one before it.
func (m *laneModel) input() {
	t, now := m.t, session.Now{Mono: m.now}
	e := m.epoch
	if rapid.IntRange(0, 5).Draw(t, "stale") == 0 {
		e--
	}
	link := m.s.Observe(now).Link
	speaks := e == m.epoch && (link == session.LinkDialing || link == session.LinkUp)
	id := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id")
	seq := event.Seq(rapid.IntRange(-1, 50).Draw(t, "seq"))
	kind := rapid.IntRange(0, 8).Draw(t, "input")
	if speaks && kind < 6 {
		m.heard = m.now
	}
	switch kind {
	case 0:
		m.s.Up(e, now)
	case 1:
		m.s.Beat(e, now)
	case 2:
		m.s.WakeStated(e, now, session.WakeState{SubscriptionID: id, ArmedForViewer: seq > 9})
	case 3:
		m.s.Woken(e, now, session.Wake{SubscriptionID: id, LogID: seq})
	case 4:
		m.s.Woken(e, now, session.Wake{SubscriptionID: id, LogID: seq, Dropped: "malformed"})
	case 5:
		m.s.Mark(e, now, id)
	case 6:
		c := session.CatchUp{State: session.CatchUpState(rapid.IntRange(0, 4).Draw(t, "state")), Pending: session.Known(int64(seq)), Watermark: seq}
		m.s.CaughtUp(e, now, c)
		m.counted = m.counted || speaks && link == session.LinkUp && c.State == session.CatchUpDone
	case 7:
		m.s.Down(e, now, session.Down{Kind: session.DownKind(rapid.SampledFrom([]int{0, 1, 3, 4, 6, 7}).Draw(t, "down")), Hole: seq > 9})
	case 8:
		m.s.Require(now, event.TransportGap, "")
	}
}
