package gate_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

func mustGate(t *testing.T, cfg gate.Config, start gate.Start) *gate.Gate {
	t.Helper()
	g, err := gate.New(cfg, start)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func delta(seq event.Seq, id string) *event.Event {
	return &event.Event{Kind: event.Delta, Pos: event.Position{Seq: seq}, ID: id}
}

func snapshot(seq event.Seq) *event.Event {
	return &event.Event{Kind: event.Snapshot, Pos: event.Position{Seq: seq}}
}

// TestSettings: a setting above its ceiling is refused by name, value and ceiling, never clamped (D-13).
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		cfg  gate.Config
		want string
	}{
		{gate.Config{MaxPending: 65_536, MaxIDs: 4_096, SaveEvery: 65_536}, ""},
		{gate.Config{MaxPending: 65_537}, "MaxPending is 65537, above its ceiling of 65536"},
		{gate.Config{MaxIDs: 4_097}, "MaxIDs is 4097, above its ceiling of 4096"},
		{gate.Config{SaveEvery: 65_537}, "SaveEvery is 65537, above its ceiling of 65536"},
		{gate.Config{MaxPending: -1}, "MaxPending is -1, but must be at least 1"},
		{gate.Config{MaxIDs: -1}, "MaxIDs is -1, but must be at least 1"},
		{gate.Config{SaveEvery: -1}, "SaveEvery is -1, but must be at least 1"},
	} {
		_, err := gate.New(c.cfg, gate.Start{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
	if got := mustGate(t, gate.Config{}, gate.Start{}).Bounds(); got.MaxPending != 64 || got.MaxIDs != 256 || got.SaveEvery != 1 || got.Saves {
		t.Errorf("defaults are %+v", got)
	}
}

// TestStart: what a gate may begin with.
func TestStart(t *testing.T) {
	held := &gate.Held{Pos: event.Position{Seq: 10}}
	for _, c := range []struct {
		start gate.Start
		want  string
	}{
		{gate.Start{Held: held, Refused: event.QueryChanged}, "cannot both hold a position and be refused"},
		{gate.Start{Held: &gate.Held{Pos: event.NoPosition}}, "the held sequence -1 is not between"},
		{gate.Start{Held: &gate.Held{Pos: event.Position{Seq: event.MaxSeq + 1}}}, "is not between"},
		{gate.Start{Refused: event.ConsumerFailed}, `"consumer-failed" is no reason for refusing`},
		{gate.Start{Refused: event.Compatible}, `"compatible" is no reason for refusing`},
		{gate.Start{Refused: event.Reason(200)}, "is no reason for refusing"},
		{gate.Start{Held: held, IDs: make([]string, 4_097)}, "4097 stored event ids, above the ceiling of 4096"},
		{gate.Start{Held: held, IDs: []string{strings.Repeat("x", 4_097)}}, "event id of 4097 bytes"},
	} {
		if _, err := gate.New(gate.Config{}, c.start); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.start, err, c.want)
		}
	}
	for _, r := range []event.Reason{event.InvalidCheckpoint, event.SourceChanged, event.QueryChanged, event.SourceVersionChanged,
		event.SchemaVersionChanged, event.AuthorizationScopeChanged, event.CursorExpired} { // D-26
		g := mustGate(t, gate.Config{}, gate.Start{Refused: r, Detail: "why"})
		if s := g.State(); s.Phase != gate.ResnapshotRequired || s.Reason != r || s.Detail != "why" {
			t.Errorf("refused by %v: %+v", r, s)
		}
	}
	g := mustGate(t, gate.Config{MaxIDs: 2}, gate.Start{Held: held, IDs: []string{"a", "b", "c"}})
	if ids := g.RecentIDs(); fmt.Sprint(ids) != "[b c]" {
		t.Errorf("a stored list is cut to its tail, not %v", ids)
	}
}

// TestOverflow is P-GATE-12: 1 applying and 63 queued fill the bound of 64; the 65th overflows; queued work is answered; one
// snapshot waits; the late result of the first event moves nothing.
func TestOverflow(t *testing.T) {
	g := mustGate(t, gate.Config{}, gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 0}}})
	status := map[gate.Ticket]string{}
	take := func() gate.Due {
		due := g.Take()
		for _, d := range due.Resolved {
			status[d.Ticket] = d.Status.String() + " " + d.Reason.String()
		}
		return due
	}
	for seq := event.Seq(1); seq <= 64; seq++ {
		if free := g.Free(); free != 65-int(seq) {
			t.Fatalf("before event %d: room for %d", seq, free)
		}
		g.Enqueue(delta(seq, ""))
		take()
	}
	if s := g.State(); s.Pending != 64 || s.Overflows != 0 || g.Free() != 0 {
		t.Fatalf("64 events: %+v", s)
	}
	g.Enqueue(delta(65, ""))
	if due := take(); !due.Abort {
		t.Error("the consumer of event 1 was not told to stop")
	}
	for ticket := gate.Ticket(2); ticket <= 65; ticket++ {
		if status[ticket] != "resnapshot-required buffer-overflow" {
			t.Errorf("event %d: %q", ticket, status[ticket])
		}
	}
	g.Enqueue(delta(66, ""))
	g.Enqueue(snapshot(70))
	g.Enqueue(delta(71, ""))
	take()
	if status[66] != "resnapshot-required buffer-overflow" || status[67] != "" || status[68] != "resnapshot-required buffer-overflow" {
		t.Errorf("66: %q, snapshot 70: %q, 71: %q", status[66], status[67], status[68])
	}
	if g.Free() != 0 {
		t.Errorf("room for %d while the recovery waits", g.Free())
	}
	g.Applied(1, nil) // event 1, at last
	due := take()
	if h, _ := g.Held(); h.Pos.Seq != 0 || status[1] != "cancelled cancelled" || due.Apply == nil || due.Apply.Pos.Seq != 70 {
		t.Errorf("after the late result: held %+v, event 1 %q, next %+v", h, status[1], due.Apply)
	}
	g.Applied(2, nil)
	take()
	if h, _ := g.Held(); h.Pos.Seq != 70 || h.SavedAt != 2 || g.State().Overflows != 1 || g.State().Phase != gate.Live {
		t.Errorf("at the end: held %+v, %+v", h, g.State())
	}
}

// TestMutationAfterEnqueue is P-GATE-18: what the caller does to its event afterwards changes nothing.
func TestMutationAfterEnqueue(t *testing.T) {
	g := mustGate(t, gate.Config{Saves: true}, gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 10}}})
	ev := delta(11, "a")
	g.Enqueue(ev)
	ev.Pos.Seq, ev.ID, ev.Pos.Cursor = 99, "b", "evil"
	*ev = *delta(12, "b")
	g.Enqueue(ev)
	ev.ID = "c"
	applied := 0
	for due := g.Take(); due.Apply != nil || due.Save != nil; due = g.Take() {
		if due.Apply != nil {
			g.Applied(1, nil)
			continue
		}
		if due.Save.Pos.Cursor != "" {
			t.Errorf("saved cursor %q", due.Save.Pos.Cursor)
		}
		g.Saved(nil)
		applied++
	}
	if h, _ := g.Held(); applied != 2 || h.Pos.Seq != 12 || fmt.Sprint(g.RecentIDs()) != "[a b]" {
		t.Errorf("%d applied, held %+v, ids %v", applied, h, g.RecentIDs())
	}
}

// TestLongID: the window's memory is bounded by the length of an id, too.
func TestLongID(t *testing.T) {
	for n, want := range map[int]gate.Phase{event.MaxIDBytes: gate.Live, event.MaxIDBytes + 1: gate.ResnapshotRequired} {
		g := mustGate(t, gate.Config{}, gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 10}}})
		g.Enqueue(delta(11, strings.Repeat("x", n)))
		if g.Take().Apply != nil {
			g.Applied(1, nil)
		}
		if s := g.State(); s.Phase != want {
			t.Errorf("an id of %d bytes: %+v", n, s)
		}
	}
}

// TestPayloadIsLetGo: a decided event no longer keeps its payload alive (D-14).
func TestPayloadIsLetGo(t *testing.T) {
	g := mustGate(t, gate.Config{MaxPending: 4}, gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 0}}})
	freed := make(chan int, 16)
	offer := func(n int, seq event.Seq) {
		payload := make([]byte, 1<<16)
		runtime.AddCleanup(&payload[0], func(n int) { freed <- n }, n)
		g.Enqueue(&event.Event{Kind: event.Delta, Pos: event.Position{Seq: seq}, Payload: payload})
	}
	offer(1, 1) // applied
	g.Take()
	g.Applied(1, nil)
	offer(2, 1) // duplicate
	offer(3, 2) // applying, superseded
	offer(4, 3) // queued
	g.Take()
	g.RequireResnapshot(event.TransportGap, "")
	g.Applied(1, nil)
	g.Take()
	offer(5, 9) // refused
	seen := map[int]bool{}
	for range 100 {
		runtime.GC()
		for len(freed) > 0 {
			seen[<-freed] = true
		}
		if len(seen) == 5 {
			break
		}
		runtime.Gosched()
	}
	if len(seen) != 5 {
		t.Errorf("only the payloads %v were let go", seen)
	}
	runtime.KeepAlive(g)
}

// TestDriverMistakes: a driver that lost count, or a reason that nobody can mean, stops at once instead of telling an
// application something untrue.
func TestDriverMistakes(t *testing.T) {
	for name, mistake := range map[string]func(*gate.Gate){
		"Applied without an Apply":          func(g *gate.Gate) { g.Applied(1, nil) },
		"Applied before the Take":           func(g *gate.Gate) { g.Enqueue(delta(11, "")); g.Applied(1, nil) },
		"Applied twice":                     func(g *gate.Gate) { g.Enqueue(delta(11, "")); g.Take(); g.Applied(1, nil); g.Applied(1, nil) },
		"Saved without a Save":              func(g *gate.Gate) { g.Saved(nil) },
		"RequireResnapshot(sequence-gap)":   func(g *gate.Gate) { g.RequireResnapshot(event.SequenceGap, "") },
		"RequireResnapshot(no reason)":      func(g *gate.Gate) { g.RequireResnapshot(event.None, "") },
		"Fail(no reason)":                   func(g *gate.Gate) { g.Fail(event.None) },
		"Fail(compatible)":                  func(g *gate.Gate) { g.Fail(event.Compatible) },
		"Fail(number that is no reason)":    func(g *gate.Gate) { g.Fail(event.Reason(99)) },
		"Close(a reason that is no ending)": func(g *gate.Gate) { g.Close(event.TransportGap) },
	} {
		g := mustGate(t, gate.Config{}, gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 10}}})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s went unnoticed", name)
				}
			}()
			mistake(g)
		}()
	}
	for r := event.None; r <= event.Closed; r++ {
		want := map[event.Reason]bool{event.CursorExpired: true, event.ResumeUnsupported: true, event.TransportGap: true,
			event.SourceVersionChanged: true, event.AuthorizationScopeChanged: true}[r]
		if gate.Recoverable(r) != want {
			t.Errorf("Recoverable(%v) = %v", r, !want)
		}
	}
}
