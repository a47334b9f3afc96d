package judge

import (
	"slices"

	"github.com/conform-dev/conform/core/trace"
)

// excerpt shows the related records of a finding and what stands around the place where it showed, oldest first.
func excerpt(records []trace.Record, f Finding) []string {
	const before, after = 6, 1
	want := map[int]bool{}
	add := func(n int) {
		if n >= 1 && n <= len(records) && len(want) < MaxExcerpt {
			want[n] = true
		}
	}
	add(f.Record)
	for _, n := range f.Related {
		add(n)
	}
	for d := 1; d <= before; d++ {
		if f.Record > 0 {
			add(f.Record - d)
		}
	}
	for d := 1; d <= after; d++ {
		if f.Record > 0 {
			add(f.Record + d)
		}
	}
	var out []string
	for _, n := range sorted(want) {
		out = append(out, records[n-1].String())
	}
	return out
}

func sorted(set map[int]bool) []int {
	out := make([]int, 0, len(set))
	for n := range set {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}
