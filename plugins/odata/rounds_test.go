package odata

import (
	"strings"
	"testing"
)

// TestRounds plays every case of testdata/rounds.txt whole, in pieces and byte by byte, and compares with what the case says.
func TestRounds(t *testing.T) {
	all := loadRounds(t, "testdata/rounds.txt")
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			want := strings.Join(s.lines, "\n")
			for _, step := range []int{0, 7, 1} {
				if _, got := s.run(step); got != want {
					t.Fatalf("in steps of %d: got\n%s\nwant\n%s", step, got, want)
				}
			}
		})
	}
	if len(all) < 40 {
		t.Fatalf("only %d cases", len(all))
	}
}
