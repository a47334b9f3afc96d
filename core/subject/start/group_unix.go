//go:build unix

package start

import (
	"os/exec"
	"syscall"
	"time"
)

// own gives the process a group of its own: what it starts ends with it.
func own(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func ask(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }

// vanish waits until nobody of the group is left: what was killed takes a moment to go. Whom nobody reaps is waited for no longer than
// settle.
func vanish(c *exec.Cmd) {
	for end := time.Now().Add(settle); time.Now().Before(end); time.Sleep(settle / 100) {
		if syscall.Kill(-c.Process.Pid, 0) != nil {
			return
		}
	}
}

// settle bounds that wait.
const settle = 500 * time.Millisecond

func kill(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
