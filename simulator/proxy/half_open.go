package proxy

import "time"

// HalfOpen forgets one side behind a byte: what it still sends is taken and thrown away, and the other side is told nothing, not even that
// the connection is over.
const HalfOpen Kind = "half-open"

var halfOpen = kind{nothing, func(p *pipe, _ *Fault, _ time.Duration) { p.deaf = true }}
