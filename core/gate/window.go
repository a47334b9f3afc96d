package gate

import (
	"hash/maphash"
	"math/bits"
)

// window remembers the last n event ids in constant time per id, and allocates nothing once each of its n buffers has grown
// to the longest id it saw. It owns its bytes.
//
// The hash is seeded at random, so that nobody outside can choose ids that collide. The seed changes only the order of
// probing, never an answer: the gate stays a pure function of its inputs.
type window struct {
	seed maphash.Seed
	ids  [][]byte // ring, by order of acceptance
	hash []uint64 // of ids[i]
	cell []uint16 // open addressing, linear probing: index into ids + 1; 0 is free
	mask uint64
	next int // where the next id goes
	n    int
}

// newWindow makes a window of size ids. At least half of the cells stay free, which keeps probe runs short.
func newWindow(size int) *window {
	cells := 1 << bits.Len(uint(2*size-1))
	return &window{
		seed: maphash.MakeSeed(),
		ids:  make([][]byte, size),
		hash: make([]uint64, size),
		cell: make([]uint16, cells),
		mask: uint64(cells - 1),
	}
}

func (w *window) sum(id string) uint64 { return maphash.String(w.seed, id) }

// has says whether id, whose sum is h, is remembered.
func (w *window) has(id string, h uint64) bool {
	for i := h & w.mask; w.cell[i] != 0; i = (i + 1) & w.mask {
		if k := w.cell[i] - 1; w.hash[k] == h && string(w.ids[k]) == id {
			return true
		}
	}
	return false
}

// add remembers id and forgets the oldest one when the window is full.
func (w *window) add(id string, h uint64) {
	k := w.next
	if w.n == len(w.ids) {
		w.forget(k)
	} else {
		w.n++
	}
	w.ids[k] = append(w.ids[k][:0], id...)
	w.hash[k] = h
	i := h & w.mask
	for w.cell[i] != 0 {
		i = (i + 1) & w.mask
	}
	w.cell[i] = uint16(k + 1)
	if w.next++; w.next == len(w.ids) {
		w.next = 0
	}
}

// forget frees the cell of entry k and moves later members of its probe run back, so that no run ever has a hole.
func (w *window) forget(k int) {
	hole := w.hash[k] & w.mask
	for w.cell[hole] != uint16(k+1) {
		hole = (hole + 1) & w.mask
	}
	for i := (hole + 1) & w.mask; w.cell[i] != 0; i = (i + 1) & w.mask {
		home := w.hash[w.cell[i]-1] & w.mask
		if (i-home)&w.mask >= (i-hole)&w.mask {
			w.cell[hole] = w.cell[i]
			hole = i
		}
	}
	w.cell[hole] = 0
}

// reset forgets everything and keeps the buffers.
func (w *window) reset() {
	clear(w.cell)
	w.next, w.n = 0, 0
}

// list copies the ids, oldest first.
func (w *window) list() []string {
	out := make([]string, 0, w.n)
	for i := range w.n {
		out = append(out, string(w.ids[(w.next-w.n+i+len(w.ids))%len(w.ids)]))
	}
	return out
}
