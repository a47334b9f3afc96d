package proxy

import "time"

// Reset ends both sides behind a byte with a reset (RST): what the other end had not read yet is gone.
const Reset Kind = "reset"

var reset = kind{nothing, func(p *pipe, _ *Fault, _ time.Duration) { p.end = endReset }}
