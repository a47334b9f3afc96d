package world

import (
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestQueueOrder: whatever is planned, it runs in the order of time, and within one instant in the order of planning.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type planned struct {
			at time.Duration
			n  int
		}
		var q queue
		var want, got []planned
		for n, at := range rapid.SliceOfN(rapid.Int64Range(0, 8), 0, 64).Draw(t, "at") {
			p := planned{time.Duration(at), n}
			want = append(want, p)
			q.push(p.at, func() { got = append(got, p) })
		}
		sort.SliceStable(want, func(i, k int) bool { return want[i].at < want[k].at })
		for q.len() > 0 {
			at, _ := q.head()
			if j := q.pop(); j.at != at {
				t.Fatalf("head said %v, popped %v", at, j.at)
			} else {
				j.run()
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d of %d jobs ran", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("job %d is %v, want %v", i, got[i], want[i])
			}
		}
	})
}
