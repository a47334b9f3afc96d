//go:build linux

package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

var selfPID = os.Getpid()

// rss is a process's resident memory in bytes.
func rss(t testing.TB, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	return atoi(strings.Fields(string(b))[1]) * os.Getpagesize()
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// stopped is a sink whose consumer takes nothing until it is let go.
type stopped struct {
	let   chan struct{}
	taken atomic.Int64
}

func (s *stopped) Document(d transport.Document) error {
	<-s.let
	s.taken.Add(int64(len(d.JSON)))
	return nil
}

func (s *stopped) Signal(transport.Signal) error { return nil }

// A consumer that stops under 100 MB offered costs the host and the plugin little memory, stops the server's writes, and loses nothing
// when it goes on (D-19).
func TestStoppedConsumerStopsTheServer(t *testing.T) {
	const (
		offered = 100 << 20
		chunk   = 300 * 128
		most    = 32 << 20
	)
	hold := 2 * time.Second
	if os.Getenv("CI") != "" || os.Getenv("CONFORM_LONG") != "" {
		hold = 10 * time.Second
	}
	p, _ := startT(t, mustSelf("flood"), standard, time.Now)
	s := newServer(t)
	a := s.attempt(1)
	a.Query.Where = "300"
	to := &stopped{let: make(chan struct{})}
	debug.FreeOSMemory()
	before := rss(t, selfPID) + rss(t, p.PID())
	done := make(chan error, 1)
	go func() { done <- p.Open(context.Background(), a, to) }()
	s.accept()

	var written atomic.Int64
	wrote := make(chan error, 1)
	go func() {
		buf := make([]byte, chunk)
		for written.Load() < offered {
			n, err := s.conn.Write(buf)
			written.Add(int64(n))
			if err != nil {
				wrote <- err
				return
			}
		}
		wrote <- s.conn.(*net.TCPConn).CloseWrite()
	}()
	peak := 0
	for deadline := time.Now().Add(hold); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		peak = max(peak, rss(t, selfPID)+rss(t, p.PID())-before)
	}
	stuck := written.Load()
	time.Sleep(50 * time.Millisecond)
	if now := written.Load(); now != stuck || now >= offered {
		t.Errorf("the server's write does not block: %d, then %d bytes written", stuck, now)
	}
	if peak > most {
		t.Errorf("host and plugin grew by %.1f MiB together, the limit is %d", float64(peak)/(1<<20), most>>20)
	}
	t.Logf("after %v: %.1f MiB written, host and plugin grew by %.1f MiB", hold, float64(stuck)/(1<<20), float64(peak)/(1<<20))

	close(to.let)
	if err := wait(t, "write", wrote); err != nil {
		t.Fatal(err)
	}
	if err := wait(t, "end", done); err != nil {
		t.Fatal(err)
	}
	if to.taken.Load() != written.Load() {
		t.Errorf("%d bytes written, %d delivered", written.Load(), to.taken.Load())
	}
}
