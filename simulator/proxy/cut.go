package proxy

import "time"

// Cut ends both sides behind a byte, in the proper way (FIN), whatever was still under way.
const Cut Kind = "cut"

var cut = kind{nothing, func(p *pipe, _ *Fault, _ time.Duration) { p.end = endCut }}
