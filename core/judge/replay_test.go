package judge

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/trace"
)

// wild plays random inputs on the real gate, with a consumer and a store that answer whenever they like, and writes the
// trace.
func wild(t *rapid.T) []trace.Record {
	log, _ := trace.NewLog(0)
	cfg := gate.Config{MaxPending: rapid.IntRange(1, 4).Draw(t, "pending"), MaxIDs: 4, Saves: rapid.Bool().Draw(t, "saves")}
	start := gate.Start{}
	held := event.NoSeq
	switch rapid.IntRange(0, 2).Draw(t, "start") {
	case 1:
		held = 3
		start.Held = &gate.Held{Pos: event.Position{Seq: 3, Cursor: "c3"}}
	case 2:
		start.Refused, start.Detail = event.CursorExpired, "old"
	}
	g, err := gate.New(cfg, start)
	if err != nil {
		t.Fatal(err)
	}
	shown := g.State()
	put := func(kind trace.Kind, fill func(*trace.Record)) {
		r := trace.New(trace.Gate, kind)
		if fill != nil {
			fill(&r)
		}
		log.Append(r)
	}
	put(trace.GateStart, func(r *trace.Record) {
		state(r, shown)
		r.Seq = held
		if held != event.NoSeq {
			r.Cursor = trace.Digest("cursor", "c3")
		}
		r.Args = map[string]string{"maxPending": digits(cfg.MaxPending), "maxIDs": "4", "saves": map[bool]string{true: "true", false: "false"}[cfg.Saves]}
	})
	applying, saving := false, false
	input := func(kind trace.Kind, fill func(*trace.Record)) {
		put(kind, fill)
		if st := g.State(); st != shown {
			shown = st
			put(trace.GateState, func(r *trace.Record) { state(r, st) })
		}
		if rapid.IntRange(0, 3).Draw(t, "lazy") == 0 {
			return // the driver takes after the next input
		}
		due := g.Take()
		outputs(put, due)
		applying, saving = applying || due.Apply != nil, saving || due.Save != nil
	}
	seq := event.Seq(3)
	for range rapid.IntRange(1, 40).Draw(t, "inputs") {
		switch what := rapid.IntRange(0, 11).Draw(t, "input"); {
		case what <= 5:
			ev := event.Event{Kind: rapid.SampledFrom([]event.Kind{event.Snapshot, event.Upsert, event.Upsert, event.Delta, event.Malformed}).Draw(t, "kind"), Pos: event.Position{Seq: event.NoSeq}}
			if ev.Kind == event.Malformed {
				ev.Fault = event.CheckpointConflict
			} else {
				seq = max(0, seq+event.Seq(rapid.SampledFrom([]int{1, 1, 1, 1, 0, 2, -1}).Draw(t, "step")))
				ev.Pos = event.Position{Seq: seq, Cursor: rapid.SampledFrom([]string{"", "c3", "c4"}).Draw(t, "cursor")}
				ev.ID = rapid.SampledFrom([]string{"", "", "a", "b", "c", "d", "e", "f"}).Draw(t, "id")
			}
			ticket := g.Enqueue(&ev)
			input(trace.GateEnqueue, func(r *trace.Record) {
				r.Ticket, r.Type, r.Seq, r.ID, r.Cursor = uint64(ticket), ev.Kind.String(), ev.Pos.Seq, ev.ID, trace.Digest("cursor", ev.Pos.Cursor)
				r.Reason = ev.Fault.String()
			})
		case what <= 8 && applying:
			applying = false
			fail := rapid.IntRange(0, 9).Draw(t, "fails") == 0
			var err error
			if fail {
				err = errConsumer
			}
			g.Applied(0, err)
			input(trace.GateApplied, func(r *trace.Record) {
				if fail {
					r.Reason = "consumer-failed"
				}
			})
		case what <= 8 && saving:
			saving = false
			g.Saved(nil)
			input(trace.GateSaved, nil)
		case what == 9:
			g.RequireResnapshot(event.TransportGap, "told")
			input(trace.GateRequire, func(r *trace.Record) { r.Reason, r.Detail = "transport-gap", "told" })
		case what == 10 && rapid.Bool().Draw(t, "refreshes"):
			pos := event.Position{Seq: rapid.SampledFrom([]event.Seq{seq, seq, seq - 1, event.NoSeq}).Draw(t, "at"), Cursor: rapid.SampledFrom([]string{"", "c3", "c4"}).Draw(t, "cursor")}
			g.Refresh(0, pos)
			input(trace.GateRefresh, func(r *trace.Record) { r.Seq, r.Cursor = pos.Seq, trace.Digest("cursor", pos.Cursor) })
		case what == 10 && rapid.IntRange(0, 5).Draw(t, "ends") == 0:
			g.Close(event.Cancelled)
			input(trace.GateClose, func(r *trace.Record) { r.Reason = "cancelled" })
		}
	}
	put(trace.GateRequire, func(r *trace.Record) { r.Reason = "transport-gap" })
	g.RequireResnapshot(event.TransportGap, "")
	if st := g.State(); st != shown {
		put(trace.GateState, func(r *trace.Record) { state(r, st) })
	}
	outputs(put, g.Take())
	return log.Records()
}

// outputs writes down what a gate hands out.
func outputs(put func(trace.Kind, func(*trace.Record)), due gate.Due) {
	if due.Abort {
		put(trace.GateAbort, nil)
	}
	for _, d := range due.Resolved {
		put(trace.GateDelivery, func(r *trace.Record) {
			r.Ticket, r.Status, r.Reason, r.Seq = uint64(d.Ticket), d.Status.String(), d.Reason.String(), d.Seq
		})
	}
	if due.Apply != nil {
		put(trace.GateApply, func(r *trace.Record) { r.Type, r.Seq, r.ID = due.Apply.Kind.String(), due.Apply.Pos.Seq, due.Apply.ID })
	}
	if due.Save != nil {
		put(trace.GateSave, func(r *trace.Record) { r.Seq = due.Save.Pos.Seq })
	}
}

func digits(n int) string { return string(rune('0' + n)) }

// TestReplayAgreesWithTheGate: whatever is done to the real gate, its trace and the model agree; and as soon as one thing that
// the gate answered is changed or left out, they do not.
func TestReplayAgreesWithTheGate(t *testing.T) {
	changed := map[string]int{}
	for range 20 {
		rapid.Check(t, func(t *rapid.T) { doctored(t, changed) })
	}
	for _, how := range []string{"delivery left out", "delivery twice", "delivery changed", "state left out", "state changed", "apply left out", "apply twice",
		"apply changed", "save left out", "save twice", "save changed", "abort left out", "abort twice"} {
		if changed[how] == 0 {
			t.Errorf("%s was never tried: %v", how, changed)
		}
	}
	t.Log(changed)
}

func doctored(t *rapid.T, changed map[string]int) {

	records := wild(t)
	if f := replay(records); len(f) > 0 {
		for _, r := range records {
			t.Log(r)
		}
		t.Fatalf("%+v", f)
	}
	kind := rapid.SampledFrom([]trace.Kind{trace.GateAbort, trace.GateDelivery, trace.GateApply, trace.GateSave, trace.GateSave, trace.GateState}).Draw(t, "kind")
	var outputs []int
	for i := range records {
		if records[i].Kind == kind {
			outputs = append(outputs, i)
		}
	}
	if len(outputs) == 0 {
		return
	}
	i := rapid.SampledFrom(outputs).Draw(t, "change")
	r := &records[i]
	how := string(r.Kind)
	switch rapid.IntRange(0, 2).Draw(t, "how") {
	case 0:
		how += " left out"
		if r.Kind == trace.GateAbort && overtaken(records[i+1:]) {
			return
		}
		records = drop(records, i)
	case 1:
		how += " twice"
		if r.Kind == trace.GateState {
			return // saying a state again is no lie
		}
		records = insert(records, i, *r)
	default:
		how += " changed"
		switch r.Kind {
		case trace.GateDelivery:
			r.Reason = "closed"
		case trace.GateState:
			r.Accepted++
		case trace.GateAbort:
			return
		default:
			r.Seq++
		}
	}
	changed[how]++
	if f := replay(records); len(f) == 0 {
		for _, r := range records {
			t.Log(r)
		}
		t.Fatalf("%s was not noticed in place %d", how, i)
	} else if f[0].Check != Model || f[0].Expected == "" || f[0].Seen == "" {
		t.Fatalf("%+v", f[0])
	}
}

// overtaken says whether the result of a running call came before any other output. A driver that asks for what is due only
// then is never told to abort, and its trace cannot show whether the gate would have said so.
func overtaken(rest []trace.Record) bool {
	for i := range rest {
		switch r := &rest[i]; {
		case r.Kind == trace.GateApplied || r.Kind == trace.GateSaved:
			return true
		case !r.GateInput() && r.Kind != trace.GateState:
			return false
		}
	}
	return false
}

// TestEveryGateOfATraceIsReplayed: a client that is started again is a new gate.
func TestEveryGateOfATraceIsReplayed(t *testing.T) {
	s := newStory(t).publish(5).client(event.NoSeq, gate.Config{}).request(1, event.NoSeq, "200").send(event.Snapshot, 5).end()
	s.publish(6).client(5, gate.Config{}).request(2, 5, "200").send(event.Upsert, 6).end()
	records := s.log.Records()
	if f := append(replay(records), witnesses(records)...); len(f) > 0 {
		t.Fatalf("%+v", f)
	}
	for n := 1; n <= 2; n++ {
		r := slices.Clone(records)
		r[find(t, r, trace.Gate, trace.GateDelivery, n)].Status = "duplicate"
		if f := replay(r); len(f) != 1 {
			t.Errorf("gate %d: %+v", n, f)
		}
	}
	both := slices.Clone(records)
	for n := 1; n <= 2; n++ {
		both[find(t, both, trace.Gate, trace.GateDelivery, n)].Status = "duplicate"
	}
	if f := replay(both); len(f) != 2 {
		t.Errorf("%d findings for two gates", len(f))
	}
}

// TestFailedConsumer: a consumer that failed has not seen the event.
func TestFailedConsumer(t *testing.T) {
	s := newStory(t).publish(665).client(event.NoSeq, gate.Config{}).request(1, event.NoSeq, "200").send(event.Snapshot, 665)
	s.publish(failing).send(event.Upsert, failing)
	s.expect(trace.ExpectPhase, "phase", "error", "reason", "consumer-failed")
	s.expect(trace.ExpectDelivery, "event", "upsert 666", "status", "error", "reason", "consumer-failed")
	out := Judge(s.end().log.Records(), row(t, "GATE-010"), trace.Virtual)
	if out.Verdict != Passed {
		t.Errorf("%+v", out)
	}
}

// TestRestartedFeed: after a restart two lives of the server have the same numbers and other rows; the consumer is held
// against the life that sent the event.
func TestRestartedFeed(t *testing.T) {
	play := func(rows string) []Finding {
		s := newStory(t).publish(5, 6).client(event.NoSeq, gate.Config{}).request(1, event.NoSeq, "200").send(event.Snapshot, 6)
		s.put(trace.New(trace.Server, trace.ServerRestart), func(r *trace.Record) { r.Seq, r.Detail, r.Args = 5, "v8", map[string]string{"rows": "rows-5"} })
		s.put(trace.New(trace.Server, trace.ServerPublish), func(r *trace.Record) { r.Seq, r.Args = 6, map[string]string{"rows": "other-6"} })
		s.require(event.SourceVersionChanged).request(2, 6, "200")
		s.offer(event.Event{Kind: event.Snapshot, Pos: event.Position{Seq: 6}, ID: "new"})
		records := s.log.Records()
		records[find(t, records, trace.Consumer, trace.ConsumerSaw, 2)].Args = map[string]string{"rows": rows}
		return wire(records)
	}
	if f := play("other-6"); len(f) > 0 {
		t.Errorf("%+v", f)
	}
	if f := play("rows-6"); len(f) != 1 || !strings.Contains(f[0].Expected, "rows other-6") {
		t.Errorf("%+v", f)
	}
}
