package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Limits of a schedule (law 8).
const (
	// MaxDraws bounds each list of draws: they repeat, and a scenario with more different delays than this explains nothing.
	MaxDraws = 4096
	// MaxDrawMicros bounds one drawn time: a minute is longer than any time-out that a delay should be able to hit by itself.
	MaxDrawMicros = 60_000_000
	// MaxRead bounds one drawn read size, in bytes: what a socket hands over at once.
	MaxRead = 1 << 20

	drawn = 256 // values that Draw makes per list: odd lengths of use keep their repetition from showing
)

// Draws is all chance of a run, drawn before it begins (law 2). The loop takes the values of each list in order and starts
// again at its front; an empty list means zero, and for Reads everything at once. Times are in microseconds.
type Draws struct {
	Dials   []int `json:"dials,omitempty"`   // from a client's request to the server
	Links   []int `json:"links,omitempty"`   // from the server to the client, per chunk; a link keeps the order
	Reads   []int `json:"reads,omitempty"`   // size of the client's reads, in bytes
	Jitter  []int `json:"jitter,omitempty"`  // of the back-off, in permille of the delay
	Applies []int `json:"applies,omitempty"` // time that the consumer takes
	Saves   []int `json:"saves,omitempty"`   // time that the store takes
}

// Draw makes the draws of a seed. Each list has a random stream of its own, so that a new list does not shift the others.
func Draw(seed uint64) Draws {
	list := func(stream uint64, low, high int) []int {
		r := rand.New(rand.NewPCG(seed, stream))
		out := make([]int, drawn)
		for i := range out {
			out[i] = low + r.IntN(high-low+1)
		}
		return out
	}
	d := Draws{
		Dials:   list(1, 100, 20_000),
		Links:   list(2, 50, 3_000),
		Reads:   list(3, 1, 400),
		Jitter:  list(4, 0, 500),
		Applies: list(5, 0, 2_000),
		Saves:   list(6, 150, 550),
	}
	// A quarter of the reads take whatever is there: both the torn and the lumped stream belong to a run.
	for i := 0; i < len(d.Reads); i += 4 {
		d.Reads[i] = MaxRead
	}
	return d
}

func (d *Draws) check() error {
	for _, l := range []struct {
		name      string
		list      []int
		low, high int
	}{
		{"dials", d.Dials, 0, MaxDrawMicros}, {"links", d.Links, 0, MaxDrawMicros}, {"reads", d.Reads, 1, MaxRead},
		{"jitter", d.Jitter, 0, 500}, {"applies", d.Applies, 0, MaxDrawMicros}, {"saves", d.Saves, 0, MaxDrawMicros},
	} {
		if len(l.list) > MaxDraws {
			return fmt.Errorf("draws.%s: %d values, limit %d", l.name, len(l.list), MaxDraws)
		}
		if i := slices.IndexFunc(l.list, func(v int) bool { return v < l.low || v > l.high }); i >= 0 {
			return fmt.Errorf("draws.%s[%d]: %d is not in %d to %d", l.name, i, l.list[i], l.low, l.high)
		}
	}
	return nil
}

// reel hands out one list.
type reel struct {
	list []int
	next int
}

func (r *reel) take(empty int) int {
	if len(r.list) == 0 {
		return empty
	}
	v := r.list[r.next%len(r.list)]
	r.next++
	return v
}
