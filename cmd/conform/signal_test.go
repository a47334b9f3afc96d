//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// started is a run of the process lane that has printed its first line; by are words to put in front of the command.
func started(t *testing.T, out string, by ...string) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	words := append(by, "conform", "run", "--transport", "sse", "--lane", "process", "--tags", "@GATE-001 or @GATE-002 or @GATE-007", "--out", out)
	c := exec.CommandContext(t.Context(), words[0], words[1:]...)
	stdout, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(stdout, 16).ReadSlice(' '); err != nil {
		t.Fatal(err)
	}
	return c, stdout
}

// left reads what the report says of a run.
func left(t *testing.T, out string) (partial bool, results int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, "envelope.json"))
	var e struct {
		Partial bool
		Results []struct{ Scenario, Outcome string }
	}
	if err := errors.Join(err, json.Unmarshal(data, &e)); err != nil {
		t.Fatal(err)
	}
	for _, r := range e.Results {
		if r.Outcome != "passed" { // what was cut off is left out: it proves nothing against anybody
			t.Errorf("%s: %s", r.Scenario, r.Outcome)
		}
	}
	return e.Partial, len(e.Results)
}

// TestSignals: a run that is told to end, also because its terminal was closed, reports what is done and exits with 130.
func TestSignals(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		out := filepath.Join(t.TempDir(), "out")
		c, stdout := started(t, out)
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, stdout); err != nil {
			t.Fatal(err)
		}
		if _ = c.Wait(); c.ProcessState.ExitCode() != exitInterrupted {
			t.Errorf("%v: %v", sig, c.ProcessState)
		}
		if partial, results := left(t, out); !partial || results == 0 {
			t.Errorf("%v: partial %v, %d results", sig, partial, results)
		}
	}
}

// TestHangUpIsIgnored: under nohup a closed terminal ends nothing.
func TestHangUpIsIgnored(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	c, stdout := started(t, out, "sh", "-c", `trap "" HUP; exec "$@"`, "sh")
	if err := c.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if partial, results := left(t, out); partial || results != 9 {
		t.Errorf("partial %v, %d results", partial, results)
	}
}

// TestReaderIsGone: `conform run | head -n 1` ends like any other run, and its report is whole.
func TestReaderIsGone(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	c, stdout := started(t, out)
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if partial, results := left(t, out); partial || results != 9 {
		t.Errorf("partial %v, %d results", partial, results)
	}
}

// TestOutputCannotBeWritten: the report is made all the same, and the run says why it failed.
func TestOutputCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skip("only Linux has a file that is always full:", err)
	}
	defer full.Close()
	out := filepath.Join(t.TempDir(), "out")
	c := exec.CommandContext(t.Context(), "conform", "run", "--transport", "sse", "--lane", "virtual", "--row", "GATE-001", "--out", out)
	c.Stdout = full
	if _ = c.Run(); c.ProcessState.ExitCode() != exitHarness {
		t.Error(c.ProcessState)
	}
	if _, results := left(t, out); results != 1 {
		t.Errorf("%d results", results)
	}
}
