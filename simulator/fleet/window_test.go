package fleet

import (
	"testing"

	"pgregory.net/rapid"
)

// naive is the limiter as its rule says it, without any state but the history: attempt i is in the window that begins with the
// first attempt that is in none before it.
func naive(times []int64, most int, length int64) []bool {
	out := make([]bool, len(times))
	for i := 0; i < len(times); {
		first, n := times[i], 0
		for i < len(times) && times[i] < first+length {
			n++
			out[i] = n <= most
			i++
		}
	}
	return out
}

// TestWindowModel holds the limiter against the independent model, several keys at once.
func TestWindowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 5).Draw(t, "most")
		length := rapid.Int64Range(1, 50).Draw(t, "length")
		w := newWindow(most, length)
		times, got := map[string][]int64{}, map[string][]bool{}
		now := int64(0)
		for range rapid.IntRange(0, 80).Draw(t, "attempts") {
			now += rapid.Int64Range(0, 20).Draw(t, "later")
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
			ok, left := w.attempt(key, now)
			if left < 1 || left > length {
				t.Fatalf("left %d", left)
			}
			times[key], got[key] = append(times[key], now), append(got[key], ok)
		}
		for key := range times {
			want := naive(times[key], most, length)
			for i := range want {
				if got[key][i] != want[i] {
					t.Fatalf("key %s attempt %d of %v (%d per %d): %v", key, i, times[key], most, length, got[key][i])
				}
			}
		}
	})
}

// TestWindowForm: what was measured at the reference, 5 per 3 s.
func TestWindowForm(t *testing.T) {
	w := newWindow(5, 3000)
	got := ""
	for at := int64(100); at < 6500; at += 250 {
		if ok, _ := w.attempt("k", at); ok {
			got += "+"
		} else {
			got += "-"
		}
	}
	if got != "+++++-------+++++-------++" {
		t.Error(got)
	}
}
