//go:build linux

package host

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startMiddle runs a host in a process of its own, which the test then kills.
func startMiddle(t *testing.T, endpoint string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	host := exec.Command(mustSelf("x").Path, "host", endpoint)
	host.Stderr = os.Stderr
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Process.Kill(); host.Wait() })
	return host, bufio.NewReader(out)
}

func sigkill(t *testing.T, host *exec.Cmd, out io.Reader) {
	t.Helper()
	if err := host.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, out)
	host.Wait()
}

// shortTemp makes a temporary directory that is short enough for run directories, and the default one.
func shortTemp(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "orphan")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	t.Setenv("TMPDIR", base)
	return base
}

func TestPluginDiesWithItsHost(t *testing.T) {
	shortTemp(t)
	t.Run("in handshake", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pid")
		host, out := startMiddle(t, "sleeps:"+file)
		eventually(t, "plugin started", func() bool { return fileExists(file) })
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid := atoi(string(b))
		if dead(pid) {
			t.Fatal("there is no plugin")
		}
		sigkill(t, host, out)
		eventually(t, "plugin gone", func() bool { return dead(pid) })
	})
	for _, when := range []string{"in stream", "stopped"} {
		t.Run(when, func(t *testing.T) {
			s := newServer(t)
			host, out := startMiddle(t, s.l.Addr().String())
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid := atoi(strings.TrimSpace(line))
			s.accept()
			if dead(pid) {
				t.Fatal("there is no plugin")
			}
			if when == "stopped" {
				stopProcess(t, pid)
			}
			sigkill(t, host, out)
			eventually(t, "plugin gone", func() bool { return dead(pid) })
		})
	}
}

// A host that is killed cannot clean up; the next one does, and touches nobody who lives.
func TestTheNextHostSweeps(t *testing.T) {
	base := shortTemp(t)
	s := newServer(t)
	host, out := startMiddle(t, s.l.Addr().String())
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	living, err := makeRunDir(base)
	if err != nil {
		t.Fatal(err)
	}
	defer living.remove()
	dirs := func() int {
		found, _ := filepath.Glob(filepath.Join(base, runDirName+"*"))
		return len(found)
	}
	later := time.Now().Add(time.Hour) // so that age protects nobody
	sweep(base, later)
	if dirs() != 2 {
		t.Fatalf("%d run directories of two living hosts", dirs())
	}
	sigkill(t, host, out)
	sweep(base, time.Now().Add(-staleAfter))
	if dirs() != 2 {
		t.Error("a young directory was swept")
	}
	sweep(base, later)
	if dirs() != 1 {
		t.Errorf("%d run directories are left, want the one of the living host", dirs())
	}
	if _, err := os.Stat(living.path); err != nil {
		t.Error(err)
	}
}
