package oracle

import (
	"reflect"
	"strings"
	"testing"
)

// A trace that no gate could have produced is an error, and the model stays as it was.
func TestImpossibleInputs(t *testing.T) {
	start := func() *Model {
		m, err := New(Config{Saves: true}, Start{Held: &Position{Seq: 10}})
		if err != nil {
			t.Fatal(err)
		}
		m.Enqueue(Event{Type: "delta", Position: Position{Seq: 11}})
		return m
	}
	for name, try := range map[string]func(*Model) error{
		"a result before the call was handed out": func(m *Model) error { return m.Applied(true) },
		"a save result while the consumer runs":   func(m *Model) error { m.Take(); return m.Saved(true) },
		"a save result that nobody owes":          func(m *Model) error { return m.Saved(false) },
		"requireResnapshot(sequence-gap)":         func(m *Model) error { return m.RequireResnapshot("sequence-gap", "") },
		"requireResnapshot()":                     func(m *Model) error { return m.RequireResnapshot("", "") },
		"fail()":                                  func(m *Model) error { return m.Fail("") },
		"fail(compatible)":                        func(m *Model) error { return m.Fail("compatible") },
		"close(transport-gap)":                    func(m *Model) error { return m.Close("transport-gap") },
	} {
		m := start()
		before := m.State()
		if err := try(m); err == nil || !strings.HasPrefix(err.Error(), "oracle: ") {
			t.Errorf("%s: error %v", name, err)
		}
		if m.State() != before {
			t.Errorf("%s: state %+v, before %+v", name, m.State(), before)
		}
	}
	for name, s := range map[string]Start{
		"held and refused":      {Held: &Position{Seq: 1}, Refused: "query-changed"},
		"held without sequence": {Held: &Position{Seq: NoSeq}},
	} {
		if _, err := New(Config{}, s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Take hands out everything once, and what it handed out does not change afterwards.
func TestTake(t *testing.T) {
	m, _ := New(Config{Saves: true}, Start{})
	m.Enqueue(Event{Type: "snapshot", Position: Position{Seq: 5, Cursor: "digest-5"}})
	first := m.Take()
	if first.Apply == nil || first.Apply.Seq != 5 {
		t.Fatalf("%+v", first)
	}
	if again := m.Take(); !reflect.DeepEqual(again, Due{}) {
		t.Errorf("handed out twice: %+v", again)
	}
	m.Applied(true)
	save := m.Take()
	m.Saved(true)
	done := m.Take()
	m.Enqueue(Event{Type: "delta", Position: Position{Seq: 6, Cursor: "digest-6"}})
	m.Take()
	m.Applied(true)
	if save.Save == nil || *save.Save != (Position{Seq: 5, Cursor: "digest-5"}) {
		t.Errorf("saved %+v", save.Save)
	}
	if want := []Delivery{{1, "applied", "", 5}}; !reflect.DeepEqual(done.Resolved, want) {
		t.Errorf("deliveries %+v, want %+v", done.Resolved, want)
	}
	if held, ok := m.Held(); !ok || held.Cursor != "digest-6" {
		t.Errorf("held %+v", held)
	}
	if rows := strings.Join(m.Rows(), " "); rows != "G-A04 G-O13 G-L09" {
		t.Errorf("rows %s", rows)
	}
	if rows := m.Rows(); len(rows) != 0 {
		t.Errorf("rows told twice: %v", rows)
	}
}

// The table's ids are unique, and an abolished row names a decision.
func TestTableIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range append(append([]Row(nil), Table...), Abolished...) {
		if seen[r.ID] || !strings.HasPrefix(r.ID, "G-") {
			t.Errorf("row id %q", r.ID)
		}
		seen[r.ID] = true
	}
	for _, r := range Abolished {
		if !strings.HasPrefix(r.Decision, "D-") {
			t.Errorf("%s names no decision", r.ID)
		}
	}
}
