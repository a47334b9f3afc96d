package odata

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// chance is what a chain of requests needs of it: jitter, all of it from the attempt's Draw (law 2) by SHA-256 over the draw and a counter.
type chance struct {
	draw [32]byte
	next uint64
}

// upTo is a time from 0 to d, in whole milliseconds.
func (c *chance) upTo(d time.Duration) time.Duration {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(c.draw[:len(c.draw):len(c.draw)], c.next))
	c.next++
	return time.Duration(binary.BigEndian.Uint64(sum[:8])%(uint64(d/time.Millisecond)+1)) * time.Millisecond
}

// backoff is the wait before the n-th retry, n from 0, never below floor (D-34).
func (c *chance) backoff(n int, floor time.Duration) time.Duration {
	d := capWait
	if n < 20 {
		d = min(baseWait<<n, capWait)
	}
	d = max(d, floor)
	return d + c.upTo(d/2)
}
