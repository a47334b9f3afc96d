//go:build !linux

package host

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync"
)

// superviseProcess starts cmd, reports the start and waits for its end.
//
// Outside Linux there is no parent-death signal and no process group here: when the host is killed, a plugin written with core/plugin
// notices within a second (it polls its parent and watches its connection), unless it is stopped or its author's own code holds
// the process; another plugin must do the same by itself. Children of a plugin are the plugin's own business.
func superviseProcess(cmd *exec.Cmd, _ *sync.Mutex, started chan<- error) error {
	err := cmd.Start()
	started <- err
	if err != nil {
		return err
	}
	return cmd.Wait()
}

func killProcess(cmd *exec.Cmd) { cmd.Process.Kill() }

// runnable leaves the answer to the operating system.
func runnable(fs.FileInfo) bool { return true }

func startProblem(path string, err error) error {
	return fmt.Errorf("%s cannot be started: %w", path, err)
}

// lockFile never gets a lock here, so nothing is swept: what a killed host leaves is left to the system's own cleaning.
func lockFile(*os.File) bool { return false }
