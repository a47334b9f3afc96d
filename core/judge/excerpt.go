package judge

import (
	"slices"
	"strings"

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
	mask := masker(records)
	var out []string
	for _, n := range sorted(want) {
		r := records[n-1]
		hide(&r, mask)
		out = append(out, r.String())
	}
	return out
}

// hide masks the planted secrets in a record before it is shortened: half a secret is one too.
func hide(r *trace.Record, mask *strings.Replacer) {
	for _, s := range []*string{&r.Type, &r.ID, &r.Cursor, &r.Watermark, &r.Timestamp, &r.DeltaToken, &r.Status, &r.Reason, &r.Detail, &r.Phase} {
		*s = mask.Replace(*s)
	}
	args := make(map[string]string, len(r.Args))
	for k, v := range r.Args {
		args[mask.Replace(k)] = mask.Replace(v)
	}
	r.Args = args
}

func sorted(set map[int]bool) []int {
	out := make([]int, 0, len(set))
	for n := range set {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}
