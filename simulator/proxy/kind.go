package proxy

import (
	"slices"
	"time"
)

// Kind is what a fault does.
type Kind string

// kind is what a kind of fault checks, and does when the bytes have come to its place. Each has a file of its own.
type kind struct {
	check  func(f *Fault) error
	strike func(p *pipe, f *Fault, now time.Duration)
}

// kinds are all of them.
var kinds = map[Kind]kind{Cut: cut, Reset: reset, Stall: stall, Delay: delay, Drip: drip, HalfOpen: halfOpen, Refuse: refuse}

// Kinds lists their names, sorted.
func Kinds() []string {
	var out []string
	for k := range kinds {
		out = append(out, string(k))
	}
	slices.Sort(out)
	return out
}

func nothing(*Fault) error { return nil }
