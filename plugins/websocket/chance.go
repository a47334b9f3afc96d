package websocket

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// chance is what a connection needs of it: all of it comes from the attempt's Draw (law 2), in blocks of SHA-256 over the draw and
// a counter. The same draw gives the same bytes.
type chance struct {
	draw  [32]byte
	next  uint64
	block [sha256.Size]byte
	left  int
}

func (c *chance) fill(b []byte) {
	for len(b) > 0 {
		if c.left == 0 {
			c.block = sha256.Sum256(binary.BigEndian.AppendUint64(c.draw[:len(c.draw):len(c.draw)], c.next))
			c.next++
			c.left = len(c.block)
		}
		n := copy(b, c.block[len(c.block)-c.left:])
		c.left -= n
		b = b[n:]
	}
}

// key is a mask key.
func (c *chance) key() (k [4]byte) {
	c.fill(k[:])
	return k
}

// upTo is a time from 0 to below d, in whole milliseconds.
func (c *chance) upTo(d time.Duration) time.Duration {
	var b [8]byte
	c.fill(b[:])
	ms := binary.BigEndian.Uint64(b[:]) % uint64(d/time.Millisecond)
	return time.Duration(ms) * time.Millisecond
}
