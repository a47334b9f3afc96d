package proxy

import (
	"errors"
	"time"
)

// Delay hands everything behind a byte on later by a time, in the order in which it came. One piece is held at a time, so that what comes while
// another is held is read when that has gone, and is late by up to twice the time.
const Delay Kind = "delay"

var delay = kind{
	func(f *Fault) error {
		if f.By == 0 {
			return errors.New("delay needs by")
		}
		return nil
	},
	func(p *pipe, f *Fault, _ time.Duration) { p.by = f.By },
}
