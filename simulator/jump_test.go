package simulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
)

// TestOwnNumbers: ids, times, rows and numbers are those that were given, on both wires: snapshot-1, delta-2, gap-4, snapshot-100,
// delta-101.
func TestOwnNumbers(t *testing.T) {
	row := func(id, state string) Row {
		return Row{ID: id, Feature: json.RawMessage(`{ "state": "` + state + `" }`)}
	}
	r := newRig(t, Options{Head: 1, Seed: []Row{row("1", "open"), row("2", "monitoring")}, Start: 1785124799500, SnapshotID: "snapshot-", Watermark: "mark-"})
	publish := func(c Change) {
		t.Helper()
		c.Kind, c.At = event.Delta, 1785124799500
		if _, err := r.sim.Publish(r.clock(), c); err != nil {
			t.Fatal(err)
		}
		r.drain()
	}
	s, w := r.get("/stream", ""), r.dial("/ws", nil)
	publish(Change{ID: "delta-2", Upserts: []Row{row("3", "new"), row("1", "assigned"), row("3", "new")}, Deletes: []string{"2"}})
	r.must(r.sim.Jump(r.clock(), Jump{To: 3}))
	publish(Change{ID: "gap-4", Upserts: []Row{row("999", "must-not-apply")}})
	r.must(r.sim.Jump(r.clock(), Jump{To: 100, Rows: []Row{row("1", "assigned"), row("3", "new")}}))
	s2, w2 := r.get("/stream", ""), r.dial("/ws", nil)
	publish(Change{ID: "delta-101", Upserts: []Row{row("3", "resolved"), row("4", "staged")}, Deletes: []string{"2"}})

	brief := func(docs []string) string {
		var out []string
		for _, text := range docs {
			var d struct {
				Type, EventID, Timestamp, Watermark string
				Sequence                            event.Seq
			}
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Fatal(err)
			}
			if d.Type == "status" {
				continue
			}
			if d.Watermark != fmt.Sprintf("mark-%d", d.Sequence) || d.EventID != "snapshot-100" && d.Timestamp != "2026-07-27T03:59:59.500Z" {
				t.Errorf("%s", text)
			}
			out = append(out, d.EventID)
		}
		return strings.Join(out, " ")
	}
	data := func(c Conn) (out []string) {
		for _, e := range r.events(c) {
			out = append(out, e.data)
		}
		return out
	}
	for _, c := range []struct {
		docs []string
		want string
	}{
		{data(s), "snapshot-1 delta-2 gap-4 delta-101"}, {r.messages(w), "snapshot-1 delta-2 gap-4 delta-101"},
		{data(s2), "snapshot-100 delta-101"}, {r.messages(w2), "snapshot-100 delta-101"},
	} {
		if got := brief(c.docs); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	rows := NewRows("incidents")
	for _, doc := range data(s2)[1:] {
		apply(t, rows, doc)
	}
	if rows.Digest() != r.sim.State().Digest {
		t.Error("rows differ from the feed's")
	}
	for _, position := range []string{"c-7-2", "c-7-4", "c-7-99"} {
		if e := r.events(r.get("/stream", position)); !strings.Contains(e[0].data, "cursor-expired") {
			t.Errorf("%s: %+v", position, e[0])
		}
	}
	if e := r.events(r.get("/stream", "c-7-100")); !strings.Contains(e[0].data, `"resumed":true`) || !strings.Contains(e[1].data, "delta-101") {
		t.Errorf("from 100: %+v", e)
	}
}

// TestJumpBehind: a stream that was not done with the history is told that its place is gone.
func TestJumpBehind(t *testing.T) {
	r := newRig(t, Options{})
	c := r.get("/stream", "")
	r.sim.Pause(r.clock())
	r.publish(AutoUpsert, 1)
	r.must(r.sim.Jump(r.clock(), Jump{To: 50}))
	r.sim.Resume(r.clock())
	r.drain()
	events := r.events(c)
	if last := events[len(events)-1]; !strings.Contains(last.data, "transport-gap") || r.closed[c] != EOF {
		t.Errorf("%+v, %s", last, r.closed[c])
	}
}

// TestJumpRefuses: what cannot be is refused and changes nothing; so is what an option or a change may not hold.
func TestJumpRefuses(t *testing.T) {
	r := newRig(t, Options{Head: 5})
	before := r.sim.State()
	many := make([]Row, MaxRows+1)
	for _, c := range []struct {
		jump Jump
		want string
	}{
		{Jump{To: 5}, "to: 5 is not in 6 to 9007199254675455"},
		{Jump{To: event.MaxSeq}, "to: 9007199254740991 is not in 6 to"},
		{Jump{To: 9, Rows: many}, "rows: 16385 is more than 16384"},
		{Jump{To: 9, Rows: many[:1]}, "rows[0]: id: a row's id has 1 to 256 bytes of UTF-8"},
	} {
		if err := r.sim.Jump(r.clock(), c.jump); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if after := r.sim.State(); after.Head != before.Head || after.Digest != before.Digest || len(r.records) != 1 {
		t.Errorf("%+v", after)
	}
	long := strings.Repeat("x", MaxIDBytes+1)
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Rows: 2, Seed: []Row{}}, "rows: 2 stands beside a seed; give one of them"},
		{Options{Seed: []Row{{ID: "1", Feature: json.RawMessage("7")}}}, "seed: rows[0]: feature: a row's feature is a JSON object"},
		{Options{Seed: make([]Row, MaxRows+1)}, "seed: rows: 16385 is more than 16384"},
		{Options{SnapshotID: long}, "snapshotId: "}, {Options{Watermark: "a b"}, "watermark: "}, {Options{Start: MaxTime + 1}, "start: 253402300800000 is not in 0 to 253402300799999"},
	} {
		if _, err := New(c.opt); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{ID: long}, "changes[0]: eventId: "}, {Change{ID: "a\nb"}, "changes[0]: eventId: "},
		{Change{At: -1}, "changes[0]: timestamp: -1 is not in 0 to"}, {Change{At: MaxTime + 1}, "changes[0]: timestamp: "},
	} {
		c.change.Kind, c.change.Deletes = event.Delete, []string{"1"}
		if _, err := r.sim.Publish(r.clock(), c.change); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
