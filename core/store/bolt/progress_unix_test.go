//go:build unix

package bolt

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// scopes is how many scopes are written at once by a process that will be killed.
const scopes = 4

// progress is memory that a writing process shares with the test that kills it. What was written into it stays, whenever
// the process dies.
type progress struct {
	Begun, Ended  atomic.Int64 // commits
	BeganAt       atomic.Int64 // the last of them, unix nanoseconds
	Took          atomic.Int64 // the last whole one, nanoseconds
	Applied       [scopes]atomic.Int64
	Acknowledged  [scopes]atomic.Int64
	Others        atomic.Int64         // scopes written once, beside those
	OthersAt      [scopes]atomic.Int64 // how many there were at the scope's last acknowledged save
	Steps, Failed atomic.Int64         // what a process is worth being killed for; saves that were reported as not done
}

// share maps the file that holds a progress.
func share(path string) (*progress, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const size = 4096
	if err := f.Truncate(size); err != nil {
		return nil, err
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*progress)(unsafe.Pointer(&mem[0])), nil
}

// phase is a storage's hook.
func (p *progress) phase(at phase) {
	switch at {
	case commitBegins:
		p.BeganAt.Store(time.Now().UnixNano())
		p.Begun.Add(1)
	case commitEnds:
		p.Took.Store(time.Now().UnixNano() - p.BeganAt.Load())
		p.Ended.Add(1)
	}
}

// killing counts what was hit.
type killing struct {
	rounds, inFlight int
	quarters         [4]int // of a commit's usual duration, of those in flight
}

// killOnce starts a process, lets it make some steps and kills it at a random moment of about a commit's length. It
// answers false if the process ended by itself.
func (k *killing) killOnce(t *testing.T, cmd *exec.Cmd, p *progress, steps int64) bool {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	want := p.Steps.Load() + 1 + rand.Int64N(steps)
	for deadline := time.Now().Add(20 * time.Second); p.Steps.Load() < want; {
		select {
		case err := <-gone:
			if err != nil {
				t.Fatalf("the process failed: %v", err)
			}
			return false
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the process makes no steps")
		}
		time.Sleep(20 * time.Microsecond)
	}
	for until := time.Now().Add(time.Duration(rand.Int64N(max(p.Took.Load(), int64(time.Millisecond)) + 1))); time.Now().Before(until); {
	}
	at := time.Now().UnixNano()
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) { // it was faster, and is waited for already
		t.Fatal(err)
	}
	if err := <-gone; err == nil {
		return false // it was faster
	}
	k.rounds++
	if p.Begun.Load() > p.Ended.Load() {
		k.inFlight++
		k.quarters[min(3, max(0, (at-p.BeganAt.Load())*4/max(1, p.Took.Load())))]++
		p.Ended.Store(p.Begun.Load()) // that commit will not end any more
	}
	return true
}

// judge prints the tally and checks that the kills hit what they were meant for.
func (k *killing) judge(t *testing.T) {
	t.Helper()
	t.Logf("%d kills, %d while a commit was in flight, by quarters of a commit's usual length %v", k.rounds, k.inFlight, k.quarters)
	if k.inFlight*4 < k.rounds {
		t.Errorf("fewer than a quarter of the kills hit a commit")
	}
	for i, n := range k.quarters {
		if n == 0 && k.rounds >= defaultRounds {
			t.Errorf("no kill in quarter %d of a commit", i+1)
		}
	}
}

// defaultRounds is the short form; RoundsEnv asks for more, every night.
const (
	defaultRounds = 200
	roundsEnv     = "CONFORM_CRASH_ROUNDS"
)

func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv(roundsEnv)
	if text == "" {
		return defaultRounds
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is no number of rounds", roundsEnv, text)
	}
	return n
}
