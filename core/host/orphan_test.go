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

func TestPluginDiesWithItsHost(t *testing.T) {
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
