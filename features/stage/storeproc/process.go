package storeproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
)

// Patience bounds one call, and the end of the process: a commit takes less than a millisecond, two hundred under load.
const Patience = 5 * time.Second

// errGone is what became of a call to a process that is not there.
var errGone = errors.New("the process that holds the store is gone")

// Process is the store as the other side of the process sees it: a store.Store that never fails a subscription. It is safe for
// concurrent use.
type Process struct {
	path     string
	limit    int
	report   func(operation, reason string)
	patience time.Duration

	mu  sync.Mutex // one call at a time
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

var _ store.Store = (*Process)(nil)

// New names the file and how many scopes are kept (0 is the store's default). What the process reports, and that it is gone, is
// told to report in the words of a diagnostic. Nothing runs before Start.
func New(path string, limit int, report func(operation, reason string)) *Process {
	if limit == 0 {
		limit = store.DefaultMaxRecords
	}
	return &Process{path: path, limit: limit, report: report, patience: Patience}
}

// Start starts the process unless it runs.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append(append([]string{}, Args...), p.path, strconv.Itoa(p.limit))...)
	cmd.Env, cmd.Stderr = []string{}, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the process that holds the store: %w", err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, MaxLine)
	p.cmd, p.in, p.out = cmd, in, lines
	return nil
}

// Kill ends the process as the system would that runs out of memory, and waits until it is gone.
func (p *Process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return errGone
	}
	err := p.cmd.Process.Kill()
	p.reap()
	return err
}

// Close lets the process end by itself, and kills it if it does not.
func (p *Process) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	_ = p.in.Close()
	defer p.hurry().Stop()
	p.reap()
	return nil
}

// hurry kills the process when it was waited for too long; called under mu.
func (p *Process) hurry() *time.Timer {
	cmd := p.cmd // mu is not held when the timer fires
	return time.AfterFunc(p.patience, func() { _ = cmd.Process.Kill() })
}

// reap waits for the end of the process; called under mu.
func (p *Process) reap() {
	_ = p.cmd.Wait() // how it ended is what was asked for
	_ = p.in.Close()
	p.cmd = nil
}

// call makes one call. A process that does not answer in time is killed.
func (p *Process) call(q ask) (a answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return a, errGone
	}
	defer p.hurry().Stop()
	text, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	if _, err = p.in.Write(append(text, '\n')); err == nil && !p.out.Scan() {
		if err = p.out.Err(); err == nil {
			err = errGone
		}
	}
	if err != nil {
		p.reap()
		return a, err
	}
	if err = json.Unmarshal(p.out.Bytes(), &a); err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	for _, r := range a.Reports {
		p.report(r.Operation, r.Reason)
	}
	return a, err
}

// Load implements store.Store.
func (p *Process) Load(_ context.Context, scope checkpoint.Context) store.Answer {
	a, err := p.call(ask{Do: "load", Scope: scope})
	if err != nil {
		p.report(string(store.Loading), string(store.StorageFailed))
		return store.Answer{}
	}
	return a.found()
}

// Save implements store.Store.
func (p *Process) Save(_ context.Context, c checkpoint.Checkpoint) error {
	if _, err := p.call(ask{Do: "save", Checkpoint: c}); err != nil {
		p.report(string(store.Saving), string(store.StorageFailed))
	}
	return nil
}

// Forget implements store.Store.
func (p *Process) Forget(_ context.Context, scope checkpoint.Context) error {
	_, err := p.call(ask{Do: "forget", Scope: scope})
	return err
}

// Held is the place that the record under key names; ok is false if there is none. It lists the file and reads nothing by its key, so it
// does not depend on what the store answered to a save.
func (p *Process) Held(key string) (seq event.Seq, ok bool, err error) {
	a, err := p.call(ask{Do: "records"})
	for _, r := range a.Held {
		if r.Key == key {
			return r.Seq, true, err
		}
	}
	return event.NoSeq, false, err
}

// Sources are the source ids of what is kept, the least recently written first.
func (p *Process) Sources() ([]string, error) {
	a, err := p.call(ask{Do: "records"})
	return a.Sources, err
}
