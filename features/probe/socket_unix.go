//go:build unix

package probe

import "syscall"

// smallReceiveBuffer keeps the kernel from reading ahead for a stream that nobody reads: before the connection, so that it is announced.
func smallReceiveBuffer(_, _ string, c syscall.RawConn) error {
	var set error
	if err := c.Control(func(fd uintptr) {
		set = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, receiveBuffer)
	}); err != nil {
		return err
	}
	return set
}
