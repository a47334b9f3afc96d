package drive_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/oracle"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// TestTraceReplays: whatever happens to a session, or to a loop that polls, its trace holds every input that its gate got, in order. The reference
// model, fed with those inputs alone, owes exactly the outputs that the trace shows, and ends in the same state.
func TestTraceReplays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLife(t)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			l.step()
		}
		replay(t, l.records, l.s.State())
	})
}

// life drives one loop at random and records it.
type life struct {
	t       *rapid.T
	s       drive.Loop
	polls   bool
	r       *drive.Recorder
	records []trace.Record
	now     session.Now
	epoch   session.Epoch
	apply   bool
	save    bool
}

func newLife(t *rapid.T) *life {
	l := &life{t: t}
	l.r = drive.NewRecorder(func(r trace.Record) { l.records = append(l.records, r) })
	start := gate.Start{}
	switch rapid.IntRange(0, 2).Draw(t, "start") {
	case 0:
		start = gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 5, Cursor: "c5"}}, IDs: []string{"a", "b"}, Persisted: true}
	case 1:
		start.Refused, start.Detail = event.CursorExpired, "checkpoint-expired"
	}
	g, err := gate.New(gate.Config{
		MaxPending: rapid.IntRange(1, 3).Draw(t, "pending"), MaxIDs: 3,
		Saves: rapid.Bool().Draw(t, "saves"), SaveEvery: rapid.IntRange(1, 3).Draw(t, "every"),
	}, start)
	if err != nil {
		t.Fatal(err)
	}
	l.r.Started(l.now, start, g)
	d := transport.Descriptor{Freshness: transport.Push}
	if l.polls = rapid.Bool().Draw(t, "polls"); l.polls {
		d.Freshness = transport.Poll
	}
	l.s, err = drive.NewLoop(g, d, session.Policy{
		Notes: true, Jitter: func(int) int { return 0 }, Resume: session.ByCursor, Vouch: session.Vouch(rapid.IntRange(1, 2).Draw(t, "vouch")),
		Arrival: rapid.Bool().Draw(t, "arrival"), SourceVersion: "v1",
	})
	if err != nil {
		t.Fatal(err)
	}
	l.s.Open(l.now)
	l.take()
	return l
}

func (l *life) take() {
	d := l.s.Take()
	l.r.Due(l.now, &d)
	l.apply, l.save = l.apply || d.Apply != nil, l.save || d.Save != nil
	if d.Connect != nil {
		l.epoch = d.Connect.Epoch
	}
}

func (l *life) signal(sig transport.Signal) {
	l.r.Signal(l.now, l.epoch, sig)
	drive.Signal(l.s, l.epoch, l.now, sig)
}

func (l *life) step() {
	t := l.t
	var err error
	if rapid.IntRange(0, 30).Draw(t, "fails") == 0 {
		err = errors.New("no")
	}
	switch n := rapid.IntRange(0, 20).Draw(t, "input"); {
	case l.polls && rapid.IntRange(0, 3).Draw(t, "poll") == 0:
		l.poll()
	case n < 3:
		if at, ok := l.s.Deadline(); ok {
			l.now.Mono = max(l.now.Mono, at)
			l.s.Wake(l.now)
		}
	case n < 5:
		l.signal(transport.Signal{Kind: transport.Answered, Answer: transport.Answer{
			StreamEpoch: rapid.SampledFrom([]string{"v1", "v1", "v2"}).Draw(t, "epoch"), Head: event.NoSeq,
			Resumed: transport.Tristate(rapid.IntRange(0, 2).Draw(t, "resumed"))}})
	case n < 6:
		l.signal(transport.Signal{Kind: rapid.SampledFrom([]transport.SignalKind{transport.Expired, transport.Gap, transport.Ended}).Draw(t, "end"), Reason: event.TransportGap})
	case n < 7:
		l.signal(transport.Signal{Kind: transport.Mark})
	case n == 7 && rapid.IntRange(0, 20).Draw(t, "rare") == 0:
		l.s.Close(l.now, event.Cancelled)
	case n == 8 && rapid.IntRange(0, 20).Draw(t, "rare") == 0:
		l.s.Fail(l.now, event.DeliveryFailed)
	case n < 14:
		l.document()
	case l.apply:
		l.apply = false
		l.s.Applied(l.now, err)
	case l.save:
		l.save = false
		l.s.Saved(l.now, err)
	}
	l.now.Mono += time.Millisecond
	l.take()
}

// poll is what only a transport that polls says.
func (l *life) poll() {
	h, ok := l.s.Held()
	switch rapid.IntRange(0, 3).Draw(l.t, "what") {
	case 0:
		l.signal(transport.Signal{Kind: transport.Recovering, Reason: rapid.SampledFrom([]event.Reason{event.CursorExpired, event.SequenceGap}).Draw(l.t, "why")})
	case 1:
		l.signal(transport.Signal{Kind: transport.Polled, Poll: &transport.PollReport{Seq: h.Pos.Seq}})
	default:
		pos := event.Position{Seq: h.Pos.Seq, Cursor: rapid.SampledFrom([]string{"", "x", "y"}).Draw(l.t, "newer")}
		if !ok || rapid.IntRange(0, 4).Draw(l.t, "elsewhere") == 0 {
			pos.Seq++
		}
		l.signal(transport.Signal{Kind: transport.Refreshed, Position: pos})
	}
}

func (l *life) document() {
	t := l.t
	if l.s.Room() == 0 {
		return
	}
	seq := rapid.IntRange(0, 12).Draw(t, "seq")
	if h, ok := l.s.Held(); ok && rapid.Bool().Draw(t, "next") {
		seq = int(h.Pos.Seq) + 1
	}
	doc := fmt.Sprintf(`{"type":%q,"sequence":%d,"eventId":%q,"features":[]}`,
		rapid.SampledFrom([]string{"snapshot", "delta", "delta", "upsert"}).Draw(t, "type"), seq, rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "id"))
	var ev event.Event
	drive.Document(l.s, l.epoch, l.now, transport.Document{JSON: []byte(doc), Cursor: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "cursor")}, &ev)
}

// replay feeds the gate's inputs of the trace to the model and compares what it owes with the outputs of the trace.
func replay(t *rapid.T, records []trace.Record, end gate.State) {
	m := model(t, &records[0])
	var owed []string
	for i := range records[1:] {
		r := &records[1+i]
		switch {
		case r.Actor != trace.Gate:
		case r.GateInput():
			if len(owed) > 0 {
				t.Fatalf("record %d: the trace lacks %q", i, owed)
			}
			if err := input(m, r); err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
		case r.Kind == trace.GateState:
			if st := m.State(); st.Phase != r.Phase || st.Reason != r.Reason || st.Accepted != r.Accepted || st.Gaps != r.Gaps || st.Pending != r.Pending {
				t.Fatalf("record %d: the model is in %+v, the trace in %+v", i, st, *r)
			}
		default:
			if len(owed) == 0 {
				owed = due(m)
			}
			if len(owed) == 0 || owed[0] != output(r) {
				t.Fatalf("record %d: the trace has %s, the model owes %q", i, output(r), owed)
			}
			owed = owed[1:]
		}
	}
	if owed = append(owed, due(m)...); len(owed) > 0 {
		t.Fatalf("the trace lacks %q at its end", owed)
	}
	if st := m.State(); st.Phase != end.Phase.String() || st.Accepted != end.Accepted || st.Duplicates != end.Duplicates {
		t.Fatalf("the model ends in %+v, the gate in %+v", st, end)
	}
}

func model(t *rapid.T, r *trace.Record) *oracle.Model {
	num := func(name string) int {
		n, err := strconv.Atoi(r.Args[name])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	start := oracle.Start{Refused: r.Reason, Detail: r.Detail}
	if r.Seq.Valid() {
		start = oracle.Start{Held: place(r), Persisted: r.Persisted}
		if err := json.Unmarshal([]byte(r.Args["ids"]), &start.IDs); err != nil {
			t.Fatal(err)
		}
	}
	m, err := oracle.New(oracle.Config{MaxPending: num("maxPending"), MaxIDs: num("maxIDs"), SaveEvery: num("saveEvery"), Saves: r.Args["saves"] == "true"}, start)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func place(r *trace.Record) *oracle.Position {
	return &oracle.Position{Seq: int64(r.Seq), Cursor: r.Cursor, Watermark: r.Watermark, Timestamp: r.Timestamp, DeltaToken: r.DeltaToken}
}

func input(m *oracle.Model, r *trace.Record) error {
	switch r.Kind {
	case trace.GateEnqueue:
		if got := m.Enqueue(oracle.Event{Type: r.Type, Merge: r.Merge, Fault: r.Reason, Detail: r.Detail, ID: r.ID, Position: *place(r)}); got != r.Ticket {
			return fmt.Errorf("ticket %d, the model gave %d", r.Ticket, got)
		}
		return nil
	case trace.GateApplied:
		return m.Applied(r.Reason == "")
	case trace.GateSaved:
		return m.Saved(r.Reason == "")
	case trace.GateRequire:
		return m.RequireResnapshot(r.Reason, r.Detail)
	case trace.GateRefresh:
		m.Refresh(*place(r))
		return nil
	case trace.GateFail:
		return m.Fail(r.Reason)
	default:
		return m.Close(r.Reason)
	}
}

func due(m *oracle.Model) (out []string) {
	d := m.Take()
	if d.Abort {
		out = append(out, "abort")
	}
	for _, r := range d.Resolved {
		out = append(out, fmt.Sprint("delivery ", r.Ticket, " ", r.Status, " ", r.Reason, " ", r.Seq))
	}
	if d.Apply != nil {
		out = append(out, fmt.Sprint("apply ", d.Apply.Type, " ", d.Apply.Seq, " ", d.Apply.ID))
	}
	if d.Save != nil {
		out = append(out, fmt.Sprint("save ", d.Save.Seq))
	}
	return out
}

func output(r *trace.Record) string {
	switch r.Kind {
	case trace.GateDelivery:
		return fmt.Sprint("delivery ", r.Ticket, " ", r.Status, " ", r.Reason, " ", int64(r.Seq))
	case trace.GateApply:
		return fmt.Sprint("apply ", r.Type, " ", int64(r.Seq), " ", r.ID)
	case trace.GateSave:
		return fmt.Sprint("save ", int64(r.Seq))
	}
	return string(r.Kind)
}

// TestMain tries more orders than rapid does by itself: 1,000 take about 0.3 s.
func TestMain(m *testing.M) {
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() == f.DefValue {
		if err := f.Value.Set("1000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
