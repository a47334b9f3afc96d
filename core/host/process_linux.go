package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// superviseProcess starts cmd as the leader of its own process group, reports the start, waits for its end, kills what is left of the
// group and reaps it.
//
// The kernel kills the plugin when the thread that started it ends (PR_SET_PDEATHSIG), whatever state the plugin is in. So the
// starting thread is locked and stays here for as long as the plugin lives; when the host dies, by whatever signal, the thread
// dies and the plugin with it.
//
// mu is held while the process is reaped, and by whoever calls killProcess.
func superviseProcess(cmd *exec.Cmd, mu *sync.Mutex, started chan<- error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err := cmd.Start()
	started <- err
	if err != nil {
		return err
	}
	// Wait without reaping: while the leader is a zombie its number cannot be given to a stranger, so the group that is killed is ours.
	pid := cmd.Process.Pid
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	unix.Kill(-pid, unix.SIGKILL)
	return cmd.Wait()
}

// killProcess kills the process group of a started cmd, unless it was reaped: its number may be a stranger's by then.
func killProcess(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
}

// runnable says whether somebody may execute the file.
func runnable(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }

// startProblem says in one line why a program could not be started.
func startProblem(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s is no program for %s/%s (wrong architecture, or a script without #!)", path, runtime.GOOS, runtime.GOARCH)
	case errors.Is(err, syscall.ENOENT):
		return fmt.Errorf("%s cannot be started: the interpreter or loader that it names does not exist", path)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s may not be executed by this user", path)
	}
	return fmt.Errorf("%s cannot be started: %w", path, errors.Unwrap(err))
}

// lockFile takes the file's lock for as long as it is open in this process; false if another process has it. The lock ends with its
// holder, however that dies.
func lockFile(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
