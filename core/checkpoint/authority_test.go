package checkpoint

import (
	"fmt"
	"strings"
	"testing"
)

// TestAuthorityTable: all 84 combinations of phase, checkpoint and clock (facts 3.3), written out. A column is a clock; a
// cell is the first letter of the state, ! if it is authoritative, then the age if there is one.
func TestAuthorityTable(t *testing.T) {
	const saved = 1000
	clocks := []Clock{
		{},                              // nothing known
		{StaleAfter: 10, Bounded: true}, // a bound without a clock
		{Now: saved, NowKnown: true},    // a clock without a bound
		{Now: saved + 10, NowKnown: true, StaleAfter: 10, Bounded: true}, // at the bound
		{Now: saved + 11, NowKnown: true, StaleAfter: 10, Bounded: true}, // over it
		{Now: saved - 5, NowKnown: true, StaleAfter: 0, Bounded: true},   // from the future
		{Now: saved, NowKnown: true, StaleAfter: -1, Bounded: true},      // a bound below zero
	}
	const table = `
awaiting-snapshot   none | R  R  R   R    R    R   R
awaiting-snapshot   held | R  R  R0  R10  R11  R0  R0
resuming            none | R  R  R   R    R    R   R
resuming            held | R  R  R0  R10  R11  R0  R0
resnapshot-required none | R  R  R   R    R    R   R
resnapshot-required held | R  R  R0  R10  R11  R0  R0
live                none | L! L! L!  L!   L!   L!  L!
live                held | L! L! L!0 L!10 S!11 L!0 S!0
error               none | T  T  T   T    T    T   T
error               held | T! T! T!0 T!10 T!11 T!0 T!0
closed              none | T  T  T   T    T    T   T
closed              held | T! T! T!0 T!10 T!11 T!0 T!0
`
	letters := map[AuthorityState]string{Replaying: "R", LiveState: "L", Stale: "S", Terminal: "T"}
	cells := 0
	for line := range strings.Lines(strings.TrimSpace(table)) {
		head, row, _ := strings.Cut(line, "|")
		phase, which := strings.Fields(head)[0], strings.Fields(head)[1]
		var held *Checkpoint
		if which == "held" {
			held = &Checkpoint{SavedAt: saved}
		}
		for i, want := range strings.Fields(row) {
			a := Derive(phase, held, clocks[i])
			got := letters[a.State]
			if a.Authoritative {
				got += "!"
			}
			if a.AgeKnown {
				got += fmt.Sprint(a.AgeMs)
			} else if a.AgeMs != 0 {
				t.Errorf("%s: an age that is not known is %d", line, a.AgeMs)
			}
			if got != want {
				t.Errorf("%s %s, clock %d: got %s, want %s", phase, which, i, got, want)
			}
			cells++
		}
	}
	if cells != 84 {
		t.Errorf("the table has %d cells, want 84", cells)
	}
	if a := Derive("no phase", &Checkpoint{SavedAt: saved}, clocks[2]); a.State != Replaying || a.Authoritative {
		t.Errorf("unknown phase: %+v", a)
	}
}
