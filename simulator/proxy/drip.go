package proxy

import (
	"errors"
	"time"
)

// Drip hands everything behind a byte on in pieces of so many bytes, one in each interval.
const Drip Kind = "drip"

var drip = kind{
	func(f *Fault) error {
		if f.Bytes < 1 || f.Every == 0 {
			return errors.New("drip needs bytes (1 or more) and every")
		}
		return nil
	},
	func(p *pipe, f *Fault, now time.Duration) { p.piece, p.every, p.until = f.Bytes, f.Every, now },
}
