package gate_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/conform-dev/conform/core/oracle"
)

// TestTable runs the readable table: facts 2.7 as the decisions changed it, each row by its id. A case must reach the row
// that it stands for; a case of an abolished row must reach the row that took its place.
func TestTable(t *testing.T) {
	if _, err := os.Stat("testdata/table"); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	datadriven.Walk(t, "testdata/table", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var id, by, now string
			d.ScanArgs(t, "id", &id)
			if d.Cmd == "abolished" {
				d.ScanArgs(t, "by", &by)
				d.ScanArgs(t, "now", &now)
			} else {
				now = id
			}
			shown[id] = by
			var s script
			out := s.run(d.Input)
			for _, row := range strings.Split(now, "+") {
				if !s.rows[row] {
					d.Fatalf(t, "the case of %s does not reach %s but %v\n%s", id, row, s.rows, out)
				}
			}
			return out
		})
	})
	for _, r := range oracle.Table {
		if _, ok := shown[r.ID]; !ok {
			t.Errorf("row %s (%s: %s) has no case", r.ID, r.Phase, r.Input)
		}
		delete(shown, r.ID)
	}
	for _, r := range oracle.Abolished {
		by, ok := shown[r.ID]
		if !ok || by != strings.ReplaceAll(r.Decision, ", ", "+") {
			t.Errorf("abolished row %s: its case names %q, want %q", r.ID, by, r.Decision)
		}
		delete(shown, r.ID)
	}
	for id := range shown {
		t.Errorf("testdata has a row %s that the table does not know", id)
	}
}

// TestFieldCases runs the field cases that a gate alone can show, in the same form. Where a case speaks of a transport or a
// session, its file runs what they ask of the gate.
func TestFieldCases(t *testing.T) {
	want := map[string]bool{"P-CON-12": true}
	for i := 1; i <= 18; i++ {
		want[fmt.Sprintf("P-GATE-%02d", i)] = true
	}
	delete(want, "P-GATE-12") // 64 events, in Go: TestOverflow
	delete(want, "P-GATE-18") // mutation, in Go: TestMutationAfterEnqueue
	datadriven.RunTest(t, "testdata/cases", func(t *testing.T, d *datadriven.TestData) string {
		var id string
		d.ScanArgs(t, "id", &id)
		delete(want, id)
		var s script
		return s.run(d.Input)
	})
	for id := range want {
		t.Errorf("field case %s is not run", id)
	}
}
