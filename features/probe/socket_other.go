//go:build !unix

package probe

import "syscall"

// smallReceiveBuffer does nothing here: a stream that nobody reads takes more wakes until the server has to end it.
func smallReceiveBuffer(_, _ string, _ syscall.RawConn) error { return nil }
