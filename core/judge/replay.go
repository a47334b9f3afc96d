package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/oracle"
	"github.com/conform-dev/conform/core/trace"
)

// replay feeds every gate input of the trace into the reference model and compares every output and state (law 4). It
// reports the first difference of each gate: behind it the two are on different ways.
func replay(records []trace.Record) []Finding {
	var out []Finding
	var g *replayed
	end := func() {
		if g != nil && g.bad == nil {
			g.settled(len(records))
			g.owed(len(records), "the end of the trace")
		}
		if g != nil && g.bad != nil {
			out = append(out, *g.bad)
		}
	}
	for i := range records {
		r := &records[i]
		if r.Actor != trace.Gate {
			continue
		}
		if r.Kind == trace.GateStart {
			end()
			g = start(r)
			continue
		}
		if g == nil || g.bad != nil {
			continue
		}
		switch {
		case r.GateInput():
			g.input(r)
		case r.Kind == trace.GateState:
			g.state(r)
		default:
			g.output(r)
		}
	}
	end()
	return out
}

// replayed is one gate of a trace beside its model.
type replayed struct {
	model *oracle.Model
	names map[uint64]string // ticket to the event's name, for findings
	due   []owed            // taken from the model and not yet seen in the trace
	shown oracle.State      // the last state that the trace shows
	at    int               // its record
	last  int               // the last input
	after string            // the same in words
	bad   *Finding
}

// owed is one output that the model demands.
type owed struct {
	kind trace.Kind
	text string
	same func(r *trace.Record) bool
}

func (g *replayed) differ(record int, expected, seen string) {
	if g.bad == nil {
		g.bad = &Finding{Check: Model, Expected: expected, Seen: seen, Record: record, Related: []int{g.last}}
	}
}

func start(r *trace.Record) *replayed {
	g := &replayed{names: map[uint64]string{}, last: r.N, at: r.N, after: "the start"}
	cfg, st, err := startOf(r)
	if err == nil {
		g.model, err = oracle.New(cfg, st)
	}
	if err != nil {
		g.differ(r.N, "a start that a gate can have", err.Error())
		return g
	}
	g.shown = oracle.State{Phase: r.Phase, Reason: r.Reason, Detail: r.Detail, Persisted: r.Persisted}
	if want := g.model.State(); want != g.shown {
		g.differ(r.N, "a start in "+show(want), show(g.shown))
	}
	return g
}

func startOf(r *trace.Record) (oracle.Config, oracle.Start, error) {
	var cfg oracle.Config
	var st oracle.Start
	for _, n := range []struct {
		name string
		to   *int
	}{{"maxPending", &cfg.MaxPending}, {"maxIDs", &cfg.MaxIDs}, {"saveEvery", &cfg.SaveEvery}} {
		text, ok := r.Args[n.name]
		if !ok {
			continue
		}
		v, err := strconv.Atoi(text)
		if err != nil || v < 0 {
			return cfg, st, fmt.Errorf("argument %s: %q is no number", n.name, text)
		}
		*n.to = v
	}
	cfg.Saves = r.Args["saves"] == "true"
	if r.Seq != event.NoSeq {
		held := position(r)
		st.Held, st.Persisted = &held, r.Persisted
		if ids := r.Args["ids"]; ids != "" {
			if err := json.Unmarshal([]byte(ids), &st.IDs); err != nil {
				return cfg, st, fmt.Errorf("argument ids: %w", err)
			}
		}
	} else {
		st.Refused, st.Detail = r.Reason, r.Detail
	}
	return cfg, st, nil
}

func position(r *trace.Record) oracle.Position {
	return oracle.Position{Seq: int64(r.Seq), Cursor: r.Cursor, Watermark: r.Watermark, Timestamp: r.Timestamp, DeltaToken: r.DeltaToken}
}

// input checks that nothing is left owed or unsaid, then gives the model what the gate was given.
func (g *replayed) input(r *trace.Record) {
	g.settled(r.N)
	if len(g.due) > 0 {
		g.owed(r.N, "the next input")
	}
	if g.bad != nil {
		return
	}
	g.last, g.after = r.N, strings.TrimSpace(string(r.Kind)+" "+r.Reason)
	if r.Kind == trace.GateEnqueue {
		g.after = name(r)
	}
	var err error
	switch r.Kind {
	case trace.GateEnqueue:
		ticket := g.model.Enqueue(oracle.Event{Type: r.Type, Merge: r.Merge, Fault: r.Reason, Detail: r.Detail, ID: r.ID, Position: position(r)})
		g.names[ticket] = name(r)
		if ticket != r.Ticket {
			g.differ(r.N, fmt.Sprintf("ticket %d for %s", ticket, name(r)), fmt.Sprintf("ticket %d", r.Ticket))
		}
	case trace.GateApplied:
		err = g.model.Applied(r.Reason == "")
	case trace.GateSaved:
		err = g.model.Saved(r.Reason == "")
	case trace.GateRequire:
		err = g.model.RequireResnapshot(r.Reason, r.Detail)
	case trace.GateRefresh:
		g.model.Refresh(position(r))
	case trace.GateFail:
		err = g.model.Fail(r.Reason)
	case trace.GateClose:
		err = g.model.Close(r.Reason)
	}
	if err != nil {
		g.differ(r.N, "an input that the contract knows here", err.Error())
	}
}

// output compares one output with what the model owes next.
func (g *replayed) output(r *trace.Record) {
	if len(g.due) == 0 {
		g.take()
	}
	if len(g.due) == 0 {
		g.differ(r.N, "nothing more from the gate", g.describe(r))
		return
	}
	next := g.due[0]
	g.due = g.due[1:]
	if next.kind != r.Kind || !next.same(r) {
		g.differ(r.N, next.text, g.describe(r))
	}
}

// owed reports what the model still demands.
func (g *replayed) owed(record int, before string) {
	if len(g.due) == 0 {
		g.take()
	}
	if len(g.due) > 0 {
		g.differ(record, g.due[0].text+" before "+before, "nothing")
	}
}

// take asks the model what is due since the last output.
func (g *replayed) take() {
	due := g.model.Take()
	if due.Abort {
		g.due = append(g.due, owed{trace.GateAbort, "an abort of the running call", func(*trace.Record) bool { return true }})
	}
	for _, d := range due.Resolved {
		text := fmt.Sprintf("%s ends as %s", g.names[d.Ticket], d.Status)
		if d.Reason != "" {
			text += " with " + d.Reason
		}
		if d.Seq != oracle.NoSeq {
			text += fmt.Sprintf(", %d held", d.Seq)
		}
		g.due = append(g.due, owed{trace.GateDelivery, text, func(r *trace.Record) bool {
			return r.Ticket == d.Ticket && r.Status == d.Status && r.Reason == d.Reason && int64(r.Seq) == d.Seq
		}})
	}
	if ev := due.Apply; ev != nil {
		text := fmt.Sprintf("%s %d goes to the consumer", ev.Type, ev.Seq)
		g.due = append(g.due, owed{trace.GateApply, text, func(r *trace.Record) bool {
			return r.Type == ev.Type && int64(r.Seq) == ev.Seq && r.ID == ev.ID
		}})
	}
	if held := due.Save; held != nil {
		text := fmt.Sprintf("the position of %d goes to the store", held.Seq)
		g.due = append(g.due, owed{trace.GateSave, text, func(r *trace.Record) bool {
			p := position(r)
			bare := oracle.Position{Seq: p.Seq}
			return p == *held || p == bare && p.Seq == held.Seq // a record may name the sequence alone
		}})
	}
}

// state compares a state that the trace shows.
func (g *replayed) state(r *trace.Record) {
	g.shown = oracle.State{Phase: r.Phase, Reason: r.Reason, Detail: r.Detail, Persisted: r.Persisted, Pending: r.Pending,
		Accepted: r.Accepted, Duplicates: r.Duplicates, Gaps: r.Gaps, Overflows: r.Overflows}
	g.at = r.N
	if want := g.model.State(); want != g.shown {
		g.differ(r.N, "after "+g.after+" the gate shows "+show(want), show(g.shown))
	}
}

// settled reports a state of the model that the trace did not show before the next input, or its end.
func (g *replayed) settled(record int) {
	if want := g.model.State(); want != g.shown {
		g.differ(record, "after "+g.after+" the gate shows "+show(want), fmt.Sprintf("it still shows %s (record %d)", show(g.shown), g.at))
	}
}

func (g *replayed) describe(r *trace.Record) string {
	switch r.Kind {
	case trace.GateDelivery:
		text := fmt.Sprintf("%s ends as %s", g.names[r.Ticket], r.Status)
		if g.names[r.Ticket] == "" {
			text = fmt.Sprintf("ticket %d ends as %s", r.Ticket, r.Status)
		}
		if r.Reason != "" {
			text += " with " + r.Reason
		}
		if r.Seq != event.NoSeq {
			text += fmt.Sprintf(", %d held", r.Seq)
		}
		return text
	case trace.GateApply:
		return fmt.Sprintf("%s %d goes to the consumer", r.Type, r.Seq)
	case trace.GateSave:
		return fmt.Sprintf("the position of %d goes to the store", r.Seq)
	}
	return r.String()
}

// name is an offered event in words.
func name(r *trace.Record) string {
	text := ref(r)
	if r.ID != "" {
		text += fmt.Sprintf(" (id %.40q)", r.ID)
	}
	return text
}

func show(s oracle.State) string {
	text := s.Phase
	if s.Reason != "" {
		text += " " + s.Reason
	}
	if s.Detail != "" {
		text += fmt.Sprintf(" (%s)", trace.Clip(s.Detail))
	}
	if s.Persisted {
		text += ", persisted"
	}
	return text + fmt.Sprintf(", pending %d, accepted %d, duplicates %d, gaps %d, overflows %d", s.Pending, s.Accepted, s.Duplicates, s.Gaps, s.Overflows)
}
