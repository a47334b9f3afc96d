//go:build unix

package storeproc

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process that stands still is not waited for longer than its patience, whatever is wanted of it.
func TestStandsStill(t *testing.T) {
	for name, do := range map[string]func(*Process){
		"save":  func(p *Process) { _ = p.Save(context.Background(), record("one", 1)) },
		"close": func(p *Process) { _ = p.Close() },
	} {
		p, h := started(t, 0)
		p.patience = 10 * time.Millisecond
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		do(p)
		if p.cmd != nil {
			t.Errorf("%s: it still runs", name)
		}
		if got := strings.Join(*h, ", "); name == "save" && got != "save storage-failed" {
			t.Errorf("reported %s", got)
		}
	}
}
