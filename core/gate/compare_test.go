package gate_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/oracle"
	"pgregory.net/rapid"
)

// What the comparison must reach in the ordinary test run. Under the race detector it only looks for races.
const (
	leastEvents  = 1_000_000
	leastPerRow  = 1_000
	leastApplied = 30 // percent of the events offered
)

// lives is for internal/prove, which wants a broken gate to be found within a fixed number of inputs.
var lives = flag.Int("lives", 0, "gate lives to compare, about 80 inputs each; 0 compares as many as the figures need and checks them")

// move is one kind of input.
type move uint8

const (
	next move = iota
	mergeNext
	dup
	snapLow
	mergeDup
	gap
	mergeGap
	snapHigh
	snapConflict
	conflict
	reuse
	snapReuse
	missing
	snapMissing
	malformed
	stride
	refresh
	require
	closing
	failing
	moves
)

// weights steer each phase to its rare rows, in 256ths; what is left over is next.
var weights = map[gate.Phase][moves]int{
	gate.AwaitingSnapshot: {refresh: 4, dup: 16, snapLow: 20, gap: 10, snapHigh: 90, snapReuse: 10, missing: 24, snapMissing: 24, malformed: 24, require: 30, closing: 3, failing: 2},
	gate.Resuming: {refresh: 14, mergeNext: 14, dup: 22, snapLow: 22, gap: 18, snapHigh: 18, snapConflict: 12, conflict: 14, reuse: 32, snapReuse: 26, missing: 20,
		malformed: 20, require: 4, closing: 1, failing: 1},
	gate.Live: {mergeNext: 10, dup: 12, snapLow: 8, mergeDup: 6, gap: 4, mergeGap: 4, snapHigh: 8, snapConflict: 2, conflict: 3, reuse: 4, snapReuse: 4,
		missing: 2, snapMissing: 2, malformed: 3, stride: 60, refresh: 5, require: 6, closing: 2, failing: 2},
	gate.ResnapshotRequired: {refresh: 4, next: 16, mergeNext: 4, gap: 4, snapLow: 44, snapHigh: 84, snapConflict: 24, snapReuse: 10, missing: 8, snapMissing: 12, malformed: 12,
		require: 34, closing: 2, failing: 2},
	gate.Failed: {refresh: 30, next: 60, snapHigh: 30, malformed: 20, require: 40, closing: 46, failing: 30},
	gate.Shut:   {refresh: 30, next: 60, snapHigh: 30, malformed: 20, require: 60, closing: 28, failing: 28},
}

// life is one gate from its start to its end.
type life struct {
	*twin
	t     *rapid.T
	tip   event.Seq // sequence of the last event that was offered and may be accepted
	fresh int       // ids given so far
	draws int
	reach map[string]int
	log   []string
}

// draw is a number below n. Rapid prefers small bytes, so they mean something else each time.
func (l *life) draw(n int, what string) int {
	l.draws++
	return (int(rapid.Byte().Draw(l.t, what))*167 + l.draws*101) % 256 * n / 256
}

func newLife(t *rapid.T, reach map[string]int) (*life, error) {
	l := &life{t: t, reach: reach, tip: 10}
	cfg := gate.Config{
		MaxPending: []int{1, 2, 2, 3, 3, 5, 64, 64}[l.draw(8, "pending")],
		MaxIDs:     []int{1, 2, 5, 256}[l.draw(4, "ids")],
		Saves:      l.draw(4, "saves") > 0,
		SaveEvery:  []int{0, 1, 2, 3, 5}[l.draw(5, "every")],
	}
	var start gate.Start
	switch k := l.draw(16, "start"); {
	case k < 10:
		start.Held = &gate.Held{Pos: event.Position{Seq: 10, Cursor: "c10", DeltaToken: "d10"}}
		start.IDs = []string{"old", "n0", "", "m9"}
		start.Persisted = k < 5
	case k < 11:
		start.Refused, start.Detail = event.QueryChanged, "stored"
	}
	var err error
	l.twin, err = newTwin(cfg, start)
	return l, err
}

func (l *life) pick(p gate.Phase) move {
	b := l.draw(256, "move")
	for m, w := range weights[p] {
		if b -= w; b < 0 {
			return move(m)
		}
	}
	return next
}

// ordinary is a contiguous event of any kind but a replacement snapshot.
func (l *life) ordinary() event.Event {
	ev := event.Event{Kind: []event.Kind{event.Delta, event.Upsert, event.Delete}[l.draw(3, "kind")], Pos: event.Position{Seq: l.tip + 1}}
	b := l.draw(256, "positions")
	if b&1 != 0 {
		ev.Pos.Cursor = "c" + strconv.Itoa(b>>5)
	}
	if b&2 != 0 {
		ev.Pos.DeltaToken = "d" + strconv.Itoa(b>>5)
	}
	if b&4 != 0 {
		ev.Pos.Watermark, ev.Pos.Timestamp = "w", "t"
	}
	if b&24 != 0 {
		l.fresh++
		ev.ID = "n" + strconv.Itoa(l.fresh)
	}
	return ev
}

func (l *life) snapshot(seq event.Seq) event.Event {
	ev := l.ordinary()
	ev.Kind, ev.Pos.Seq = event.Snapshot, max(seq, 0)
	return ev
}

// known is an id that the gate remembers, or one that it may have forgotten.
func (l *life) known() string {
	if ids := l.g.RecentIDs(); len(ids) > 0 && l.draw(4, "id") > 0 {
		return ids[l.draw(len(ids), "which")]
	}
	return "n" + strconv.Itoa(max(0, l.fresh-l.draw(8, "ago")))
}

func (l *life) offer(m move) event.Event {
	held, _ := l.g.Held()
	p := held.Pos.Seq
	ev := l.ordinary()
	switch m {
	case mergeNext:
		ev.Kind, ev.Merge = event.Snapshot, true
	case dup:
		ev.Pos = event.Position{Seq: max(0, p-event.Seq(l.draw(3, "back")))}
	case mergeDup:
		ev.Kind, ev.Merge, ev.Pos = event.Snapshot, true, event.Position{Seq: max(0, p-event.Seq(l.draw(2, "back")))}
	case gap:
		ev.Pos.Seq += event.Seq(1 + l.draw(3, "ahead"))
	case mergeGap:
		ev.Kind, ev.Merge = event.Snapshot, true
		ev.Pos.Seq += 2
	case snapHigh:
		ev = l.snapshot(max(l.tip, p) + event.Seq(1+l.draw(4, "ahead")))
	case snapLow:
		ev = l.snapshot(p - event.Seq(l.draw(4, "back")))
		ev.Pos.Cursor, ev.Pos.DeltaToken = "", ""
	case snapConflict, conflict:
		if m == snapConflict {
			ev = l.snapshot(p)
		}
		ev.Pos = event.Position{Seq: p, Cursor: "other"}
		if l.draw(2, "token") > 0 {
			ev.Pos = event.Position{Seq: p, DeltaToken: "other"}
		}
	case reuse:
		ev.ID = l.known()
	case snapReuse:
		ev = l.snapshot(max(l.tip, p) + 1)
		ev.ID = l.known()
	case missing, snapMissing:
		if m == snapMissing {
			ev = l.snapshot(0)
		}
		ev.Pos.Seq = []event.Seq{event.NoSeq, event.MaxSeq + 1, -5}[l.draw(3, "seq")]
	case malformed:
		ev = event.Event{Kind: event.Malformed, Pos: event.NoPosition, Fault: event.CheckpointConflict, Detail: "cursor: wrong"}
		switch l.draw(8, "fault") {
		case 0, 1, 2:
			ev.Fault = event.InvalidEvent
		case 3:
			ev.Fault = event.TransportGap // no fault that capture gives: counts as invalid-event
		case 4:
			ev = event.Event{Kind: event.Delta, Pos: event.Position{Seq: l.tip + 1}, ID: strings.Repeat("x", event.MaxIDBytes+1)}
		}
	}
	return ev
}

func (l *life) step() error {
	s := l.g.State()
	if l.owed != "" {
		often := 110
		switch {
		case l.aborted:
			often = 60 // let things happen while a superseded call holds the slot
		case s.Pending >= l.g.Bounds().MaxPending:
			often = 200 // an overflow now and then is enough
		}
		if l.draw(256, "return") < often {
			return l.result(l.draw(256, "ok") > 5)
		}
	}
	if s.Pending == 0 {
		if h, ok := l.g.Held(); ok {
			l.tip = h.Pos.Seq
		}
	}
	switch m := l.pick(s.Phase); m {
	case require:
		r := []event.Reason{event.CursorExpired, event.ResumeUnsupported, event.TransportGap, event.TransportGap, event.SourceVersionChanged, event.AuthorizationScopeChanged}
		return l.require(r[l.draw(6, "reason")], "why")
	case stride:
		return l.stride()
	case refresh:
		return l.refreshed()
	case closing:
		return l.close([]event.Reason{event.Closed, event.Cancelled}[l.draw(2, "reason")])
	case failing:
		return l.fail(event.DeliveryFailed)
	default:
		ev := l.offer(m)
		if ev.Pos.Seq > l.tip && ev.Pos.Seq <= l.tip+5 || ev.Replaces() && ev.Pos.Seq.Valid() {
			l.tip = ev.Pos.Seq
		}
		_, err := l.enqueue(ev)
		return err
	}
}

// refreshed is a refresh, mostly of what is held and mostly when nothing is pending.
func (l *life) refreshed() error {
	if l.draw(4, "settle") > 0 && l.g.State().Phase == gate.Live {
		if err := l.settle(true); err != nil {
			return err
		}
		l.count()
	}
	held, _ := l.g.Held()
	pos := l.ordinary().Pos
	pos.Seq = held.Pos.Seq
	switch l.draw(8, "at") {
	case 0:
		pos.Seq += event.Seq(1 + l.draw(3, "ahead"))
	case 1:
		pos.Seq -= event.Seq(1 + l.draw(3, "back"))
	case 2:
		pos.Seq = event.NoSeq
	}
	return l.refresh(pos)
}

// stride is a healthy stretch: contiguous events, each applied and saved before the next.
func (l *life) stride() error {
	for range 2 + l.draw(12, "stride") {
		if err := l.settle(true); err != nil || l.g.State().Phase != gate.Live {
			return err
		}
		held, _ := l.g.Held()
		l.tip = held.Pos.Seq
		if _, err := l.enqueue(l.ordinary()); err != nil {
			return err
		}
		l.count()
	}
	return nil
}

// count notes the rows that the last input reached.
func (l *life) count() {
	for _, r := range l.rows {
		l.reach[r]++
	}
	l.rows = nil
}

// live runs one life and returns the first disagreement.
func (l *life) live() error {
	after := 0
	for range 64 {
		if err := l.step(); err != nil {
			return err
		}
		l.count()
		if l.draw(8, "take") > 0 {
			if err := l.take(); err != nil {
				return err
			}
		}
		if l.g.State().Phase >= gate.Failed {
			if after++; after > 6 {
				break
			}
		}
	}
	if err := l.close(event.Closed); err != nil {
		return err
	}
	if err := l.settle(true); err != nil {
		return err
	}
	if len(l.resolved) != l.events {
		return fmt.Errorf("%d of %d events were answered", len(l.resolved), l.events)
	}
	return nil
}

// TestAgreesWithOracle compares the gate with the reference model over at least a million events and prints how often each
// row of the table was reached.
func TestAgreesWithOracle(t *testing.T) {
	whole := *lives == 0 && !raceEnabled && !testing.Short()
	switch {
	case *lives > 0:
		flag.Set("rapid.checks", strconv.Itoa(*lives))
	case whole:
		flag.Set("rapid.checks", "64000")
	default:
		flag.Set("rapid.checks", "500")
	}
	defer flag.Set("rapid.checks", "100")
	reach := map[string]int{}
	inputs, events, applied := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		l, err := newLife(t, reach)
		if err == nil {
			err = l.live()
		}
		if err != nil {
			t.Fatal(err)
		}
		inputs, events, applied = inputs+l.inputs, events+l.events, applied+l.applied
	})
	if t.Failed() {
		return
	}
	t.Logf("%d inputs, %d of them events, %d applied (%d %%)", inputs, events, applied, 100*applied/events)
	for _, r := range oracle.Table {
		t.Logf("%s %8d  %s: %s", r.ID, reach[r.ID], r.Phase, r.Input)
	}
	if !whole {
		return
	}
	for _, r := range oracle.Table {
		if reach[r.ID] < leastPerRow {
			t.Errorf("row %s was reached %d times, want %d", r.ID, reach[r.ID], leastPerRow)
		}
		delete(reach, r.ID)
	}
	for id, n := range reach {
		t.Errorf("the oracle names a row %q that is not in its table, %d times", id, n)
	}
	if events < leastEvents {
		t.Errorf("%d events, want %d", events, leastEvents)
	}
	if 100*applied < leastApplied*events {
		t.Errorf("%d of %d events were applied, want %d %%", applied, events, leastApplied)
	}
}

// FuzzAgreesWithOracle lets the fuzzer steer the same comparison.
func FuzzAgreesWithOracle(f *testing.F) {
	reach := map[string]int{}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		l, err := newLife(t, reach)
		if err == nil {
			err = l.live()
		}
		if err != nil {
			t.Fatal(err)
		}
	}))
}
