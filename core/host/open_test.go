//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

func TestConnectionDeliversInWireOrder(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	s, got := newServer(t), &recorder{}
	done := s.talk(p, s.attempt(1), got, "open", "doc 1", "doc 2", "beat", "doc 3", "cause 3")
	if err := wait(t, "end", done); err != nil {
		t.Fatal(err)
	}
	if want := "open, doc 1, doc 2, heartbeat, doc 3, ended server-stop"; got.all() != want {
		t.Errorf("got  %s\nwant %s", got.all(), want)
	}
}

func TestCrashEndsTheEpochBehindWhatCameBefore(t *testing.T) {
	leakCheck(t)
	for verb, status := range map[string]string{"panic x": "exit status 2", "go-panic x": "exit status 2", "exit 5": "exit status 5", "kill": "signal: killed"} {
		t.Run(verb, func(t *testing.T) {
			p, log := startT(t, mustSelf("script"), standard, time.Now)
			first := p.PID()
			s, got := newServer(t), &recorder{some: make(chan struct{}, 16)}
			done := s.talk(p, s.attempt(1), got, "open", "doc 1", "doc 2")
			for range 3 {
				wait(t, "item", got.some)
			}
			s.say(verb)
			if err := wait(t, "end", done); err != nil {
				t.Fatal(err)
			}
			if want := "open, doc 1, doc 2, ended plugin-crashed"; got.all() != want {
				t.Errorf("got  %s\nwant %s", got.all(), want)
			}
			if !strings.Contains(got.last.Detail, status) {
				t.Errorf("detail %q does not say %q", got.last.Detail, status)
			}
			if strings.HasPrefix(verb, "panic") && !strings.Contains(strings.Join(p.LastLines(), "\n"), "panic: x") {
				t.Errorf("last lines do not hold the panic: %q", p.LastLines())
			}
			again := &recorder{}
			done = s.talk(p, s.attempt(2), again, "doc 3", "cause 1")
			if err := wait(t, "end", done); err != nil {
				t.Fatal(err)
			}
			if want := "doc 3, ended connection-lost"; again.all() != want {
				t.Errorf("after the crash: got %s, want %s", again.all(), want)
			}
			if p.PID() == first || p.PID() == 0 {
				t.Errorf("process %d was not replaced", first)
			}
			if want := "started exited(" + status + ") started"; log.kinds() != want {
				t.Errorf("events: got %s, want %s", log.kinds(), want)
			}
		})
	}
}

func TestRestartBudget(t *testing.T) {
	leakCheck(t)
	clock := time.Unix(0, 0)
	p, log := startT(t, mustSelf("script"), standard, func() time.Time { return clock })
	s := newServer(t)
	crash := func(epoch uint32) {
		t.Helper()
		got := &recorder{}
		if err := wait(t, "end", s.talk(p, s.attempt(epoch), got, "exit 1")); err != nil || got.all() != "ended plugin-crashed" {
			t.Fatalf("epoch %d: %s, %v", epoch, got.all(), err)
		}
	}
	for epoch := range uint32(1 + MaxRestarts) {
		crash(epoch + 1)
	}
	got := &recorder{}
	if err := p.Open(context.Background(), s.attempt(9), got); err != nil {
		t.Fatal(err)
	}
	if got.all() != "refused plugin-crashed" || !strings.Contains(got.last.Detail, "3 restarts within 1m0s") {
		t.Errorf("beyond the budget: %s: %s", got.all(), got.last.Detail)
	}
	if !strings.HasSuffix(log.kinds(), "exited(exit status 1) refused") {
		t.Errorf("events: %s", log.kinds())
	}
	clock = clock.Add(RestartWindow)
	crash(10)
}

func TestBudgetWindowSlides(t *testing.T) {
	var b budget
	at := func(d time.Duration) time.Time { return time.Unix(1000, 0).Add(d) }
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{
		{0, true}, {20 * time.Second, true}, {40 * time.Second, true}, {59999 * time.Millisecond, false},
		{60 * time.Second, true}, {79 * time.Second, false}, {80 * time.Second, true},
	} {
		if got := b.take(at(c.at)); got != c.want {
			t.Errorf("restart at %v: granted %v, want %v", c.at, got, c.want)
		}
	}
}

func TestStoppedPlugin(t *testing.T) {
	leakCheck(t)
	p, log := startT(t, mustSelf("script"), hasty, time.Now)
	pid := p.PID()
	stopProcess(t, pid)
	begin := time.Now()
	if err := p.Ping(context.Background()); err == nil || !strings.Contains(err.Error(), "no answer to a ping within 300ms") {
		t.Errorf("ping: %v", err)
	}
	if took := time.Since(begin); took > hasty.ping+time.Second {
		t.Errorf("ping took %v", took)
	}
	// The next connection finds it out, kills it and gets a fresh one.
	s, got := newServer(t), &recorder{}
	if err := wait(t, "end", s.talk(p, s.attempt(1), got, "doc 1", "cause 1")); err != nil {
		t.Fatal(err)
	}
	if got.all() != "doc 1, ended connection-lost" || !dead(pid) {
		t.Errorf("got %s; old process is in state %q", got.all(), state(pid))
	}
	if want := "started exited(signal: killed) started"; log.kinds() != want {
		t.Errorf("events: got %s, want %s", log.kinds(), want)
	}
	pid = p.PID()
	stopProcess(t, pid)
	begin = time.Now()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > hasty.grace+2*time.Second {
		t.Errorf("close took %v", took)
	}
	if !dead(pid) {
		t.Errorf("process %d is in state %q after Close", pid, state(pid))
	}
}

func TestCloseIsOrderlyAndLeavesNothing(t *testing.T) {
	leakCheck(t)
	p, log := startT(t, mustSelf("script"), standard, time.Now)
	if sockets, _ := filepath.Glob(filepath.Join(p.dir.path, "*", "*")); len(sockets) != 1 {
		t.Fatalf("want one socket below %s, found %q", p.dir.path, sockets)
	}
	s, got := newServer(t), &recorder{some: make(chan struct{}, 16)}
	done := s.talk(p, s.attempt(1), got, "doc 1")
	wait(t, "item", got.some)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := wait(t, "end", done); !errors.Is(err, ErrClosed) {
		t.Errorf("open connection: %v, want %v", err, ErrClosed)
	}
	if _, err := os.Stat(p.dir.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left behind (%v)", p.dir.path, err)
	}
	if want := "started exited(exit status 0)"; log.kinds() != want {
		t.Errorf("events: got %s, want %s", log.kinds(), want)
	}
	if err := p.Open(context.Background(), s.attempt(2), got); !errors.Is(err, ErrClosed) {
		t.Errorf("open after close: %v", err)
	}
	if err := p.Ping(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("ping after close: %v", err)
	}
	if _, err := p.Describe(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("describe after close: %v", err)
	}
}

func TestCrashLeavesNoSocket(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	s, got := newServer(t), &recorder{}
	wait(t, "end", s.talk(p, s.attempt(1), got, "kill"))
	if left, _ := filepath.Glob(filepath.Join(p.dir.path, "plugin*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestCancelEndsAConnectionOnly(t *testing.T) {
	leakCheck(t)
	p, log := startT(t, mustSelf("script"), standard, time.Now)
	s, got := newServer(t), &recorder{some: make(chan struct{}, 16)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Open(ctx, s.attempt(1), got) }()
	s.accept()
	s.say("doc 1")
	wait(t, "item", got.some)
	cancel()
	if err := wait(t, "end", done); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	// The transport has hung up on its server: reading gives the end.
	s.conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := s.conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the plugin kept its connection: %v", err)
	}
	if log.kinds() != "started" {
		t.Errorf("events: %s", log.kinds())
	}
}

func TestTransportErrors(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	s := newServer(t)
	for _, c := range []struct{ say, want string }{
		{"fail out of ideas", "it failed: out of ideas"},
		{"return", "it failed: the transport returned without a final signal"},
		{"cause 0", "signal.cause is missing"},
		{"cause 9", "signal.cause 9 is unknown or not the plugin's to report"},
	} {
		err := wait(t, "end", s.talk(p, s.attempt(1), &recorder{}, c.say))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.say, err, c.want)
		}
	}
	if err := p.Open(context.Background(), transport.Attempt{Options: map[string]string{"colour": "red"}}, &recorder{}); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("unknown option: %v", err)
	}
	if err := p.Open(context.Background(), transport.Attempt{Endpoint: strings.Repeat("x", 1<<20)}, &recorder{}); err == nil || !strings.Contains(err.Error(), "the limit is 1048576") {
		t.Errorf("oversize attempt: %v", err)
	}
	sinkErr := errors.New("consumer is gone")
	if err := wait(t, "end", s.talk(p, s.attempt(1), failing{sinkErr}, "doc 1")); !errors.Is(err, sinkErr) {
		t.Errorf("failing sink: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Document(transport.Document) error { return f.err }
func (f failing) Signal(transport.Signal) error     { return f.err }

// slow is a sink that takes its time: the process is long dead when it asks for what it had sent.
type slow struct {
	recorder
	first chan struct{} // closed when the first document is there
	let   chan struct{}
	once  sync.Once
}

func (s *slow) Document(d transport.Document) error {
	s.once.Do(func() { close(s.first) })
	<-s.let
	return s.recorder.Document(d)
}

func TestASlowConsumerGetsWhatADeadPluginHadSent(t *testing.T) {
	leakCheck(t)
	p, log := startT(t, mustSelf("script"), standard, time.Now)
	pid := p.PID()
	s := newServer(t)
	to := &slow{first: make(chan struct{}), let: make(chan struct{})}
	var say, want []string
	for i := range 500 {
		say = append(say, fmt.Sprintf("doc %d", i))
		want = append(want, say[i])
	}
	done := s.talk(p, s.attempt(1), to, say...)
	wait(t, "first document", to.first)
	s.say("sync " + filepath.Join(p.dir.path, "synced"))
	eventually(t, "all lines obeyed", func() bool { return fileExists(filepath.Join(p.dir.path, "synced")) })
	syscall.Kill(pid, syscall.SIGKILL)
	eventually(t, "exit told", func() bool { return log.kinds() == "started exited(signal: killed)" })
	// A third connection gets a fresh process while the first is still reading from the dead one.
	third := &recorder{}
	if err := wait(t, "end of the third", s.talk(p, s.attempt(3), third, "doc 7", "cause 1")); err != nil || third.all() != "doc 7, ended connection-lost" {
		t.Errorf("third: %s, %v", third.all(), err)
	}
	close(to.let)
	if err := wait(t, "end", done); err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(to.all(), "heartbeat, ", "")
	if want := strings.Join(append(want, "ended plugin-crashed"), ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestConnectionsShareAProcessAndItsEnd(t *testing.T) {
	leakCheck(t)
	p, log := startT(t, mustSelf("script"), standard, time.Now)
	s := newServer(t)
	var sinks [4]*recorder
	var ends [4]<-chan error
	for i := range sinks {
		sinks[i] = &recorder{some: make(chan struct{}, 4)}
		ends[i] = s.talk(p, s.attempt(uint32(i+1)), sinks[i], fmt.Sprintf("doc %d", i))
		wait(t, "item", sinks[i].some)
	}
	s.say("exit 1")
	for i, end := range ends {
		if err := wait(t, "end", end); err != nil {
			t.Error(err)
		}
		if want := fmt.Sprintf("doc %d, ended plugin-crashed", i); sinks[i].all() != want {
			t.Errorf("connection %d: got %s, want %s", i, sinks[i].all(), want)
		}
	}
	// All of them come back at once: one crash, one fresh process.
	for i := range ends {
		got := sinks[i]
		done := make(chan error, 1)
		go func() { done <- p.Open(context.Background(), s.attempt(9), got) }()
		ends[i] = done
	}
	for range ends {
		s.accept()
		s.say("cause 1")
	}
	for _, end := range ends {
		if err := wait(t, "end", end); err != nil {
			t.Error(err)
		}
	}
	if want := "started exited(exit status 1) started"; log.kinds() != want {
		t.Errorf("events: got %s, want %s", log.kinds(), want)
	}
}
