package gate

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// The window agrees with a list that is searched from the front, at every size and also when all ids share one hash.
func TestWindowAgreesWithList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 3, 4, 5, 8, 31, 256}).Draw(t, "size")
		spread := rapid.SampledFrom([]uint64{1, 2, 5, 1 << 62}).Draw(t, "hashes")
		w := newWindow(size)
		var list []string
		for range 200 {
			id := "id" + strconv.Itoa(rapid.IntRange(0, 3*size).Draw(t, "id"))
			h := w.sum(id) % spread
			if got, want := w.has(id, h), slices.Contains(list, id); got != want {
				t.Fatalf("has(%s) = %v, the list says %v: %v", id, got, want, list)
			}
			switch {
			case rapid.IntRange(0, 99).Draw(t, "reset") == 77:
				w.reset()
				list = nil
			case !slices.Contains(list, id):
				w.add(id, h)
				list = append(list, id)
				list = list[max(0, len(list)-size):]
			}
			if got := w.list(); !slices.Equal(got, list) {
				t.Fatalf("list() = %v, want %v", got, list)
			}
		}
	})
}

// The window owns its bytes: an id that is changed afterwards is remembered as it was.
func TestWindowCopies(t *testing.T) {
	w := newWindow(2)
	batch := []byte("abcdef")
	id := string(batch[2:4])
	w.add(id, w.sum(id))
	if &w.ids[0][0] == &batch[2] || !w.has("cd", w.sum("cd")) {
		t.Error("the window does not hold its own copy")
	}
}
