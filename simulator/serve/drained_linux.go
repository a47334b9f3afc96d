package serve

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// drained waits until the peer's kernel has taken everything that was written, at most limit. Linux tells the length of the
// send queue (SIOCOUTQ) but no event for it, so it is asked every 200 microseconds.
func drained(c *net.TCPConn, limit time.Duration) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	for end := time.Now().Add(limit); ; time.Sleep(200 * time.Microsecond) {
		left := -1
		if err := raw.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }); err != nil || left == 0 {
			return left == 0
		}
		if time.Now().After(end) {
			return false
		}
	}
}
