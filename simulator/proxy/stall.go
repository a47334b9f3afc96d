package proxy

import "time"

// Stall holds everything behind a byte back for a time, or for good. Both connections stay open.
const Stall Kind = "stall"

var stall = kind{nothing, func(p *pipe, f *Fault, now time.Duration) {
	if p.forever = f.For == 0; !p.forever {
		p.until = now + f.For
	}
}}
