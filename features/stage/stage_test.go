package stage

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/internal/need"
	"github.com/conform-dev/conform/simulator/world"
)

// waits names the variable that turns this test binary into a process that says a byte and does nothing until its input ends.
const waits = "STAGE_TEST_WAITS"

func TestMain(m *testing.M) {
	if os.Getenv(waits) != "" {
		_, _ = os.Stdout.Write([]byte{'\n'})
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// TestWait: a wait ends with the record that satisfies it; one that runs out says so in the trace, and makes the next ones
// short.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b := newBook(func() int64 { return time.Since(start).Milliseconds() })
		go func() {
			time.Sleep(Patience / 2)
			r := trace.New(trace.Server, trace.ServerRequest)
			b.add(r)
		}()
		asked := func(v *View) bool { return v.Requests == 1 }
		if err := b.wait(t.Context(), "a request", asked); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != Patience/2 {
			t.Errorf("the wait took %v", took)
		}
		never := func(v *View) bool { return v.Ended }
		for _, want := range []time.Duration{Patience, Impatience} {
			begin := time.Now()
			if err := b.wait(t.Context(), "the end", never); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took != want {
				t.Errorf("the wait took %v, want %v", took, want)
			}
			last := b.records()[len(b.records())-1]
			if last.Kind != trace.StageLate || last.Detail != "the end" || last.Ms != want.Milliseconds() {
				t.Errorf("last record %v", last)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.wait(ctx, "the end", never); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		n := len(b.records())
		b.seal()
		b.step("too late")
		if len(b.records()) != n {
			t.Error("a sealed trace grew")
		}
	})
}

// TestBookOrder: records of many writers are numbered without a hole, and each writer's stand in its order.
func TestBookOrder(t *testing.T) {
	b := newBook(func() int64 { return 0 })
	actors := []trace.Actor{trace.Gate, trace.Server, trace.Consumer, trace.Plugin}
	var wg sync.WaitGroup
	for _, a := range actors {
		wg.Go(func() {
			for i := range 500 {
				r := trace.New(a, trace.ServerSent)
				r.Seq = event.Seq(i)
				b.add(r)
			}
		})
	}
	wg.Wait()
	next := map[trace.Actor]event.Seq{}
	for i, r := range b.records() {
		if r.N != i+1 || r.Seq != next[r.Actor] {
			t.Fatalf("record %d is %v, want sequence %d of its actor", i+1, r, next[r.Actor])
		}
		next[r.Actor]++
	}
}

// TestSettled: a client counts as settled only when nothing more can come of what was published.
func TestSettled(t *testing.T) {
	rec := func(a trace.Actor, k trace.Kind, f func(*trace.Record)) trace.Record {
		r := trace.New(a, k)
		if f != nil {
			f(&r)
		}
		return r
	}
	seq := func(n event.Seq) func(*trace.Record) { return func(r *trace.Record) { r.Seq = n } }
	live := func(r *trace.Record) { r.Phase = "live" }
	begun := []trace.Record{
		rec(trace.Server, trace.ServerPublish, seq(5)),
		rec(trace.Gate, trace.GateStart, func(r *trace.Record) { r.Phase = "awaiting-snapshot" }),
		rec(trace.Session, trace.SessionConnect, nil),
		rec(trace.Gate, trace.GateEnqueue, seq(5)),
		rec(trace.Gate, trace.GateApply, seq(5)),
		rec(trace.Gate, trace.GateApplied, nil),
		rec(trace.Gate, trace.GateSave, seq(5)),
		rec(trace.Gate, trace.GateSaved, nil),
		rec(trace.Gate, trace.GateState, live),
		rec(trace.Gate, trace.GateDelivery, func(r *trace.Record) { r.Seq, r.Status = 5, "applied" }),
	}
	broken := append(begun[:len(begun):len(begun)], rec(trace.Server, trace.ServerClosed, func(r *trace.Record) { r.Detail = "cut" }))
	asking := append(broken[:len(broken):len(broken)], rec(trace.Session, trace.SessionConnect, seq(5)))
	for _, c := range []struct {
		name    string
		records []trace.Record
		want    bool
	}{
		{"nothing", nil, false},
		{"before the delivery is decided", begun[:len(begun)-1], false},
		{"at the head", begun, true},
		{"a change is on its way", append(begun[:len(begun):len(begun)], rec(trace.Server, trace.ServerPublish, seq(6))), false},
		{"a change is in the gate", append(begun[:len(begun):len(begun)], rec(trace.Gate, trace.GateEnqueue, seq(6))), false},
		{"the connection broke", broken, false},
		{"an older connection is heard of late", append(begun[:len(begun):len(begun)], rec(trace.Server, trace.ServerClosed, func(r *trace.Record) { r.Detail = "gone" })), true},
		{"a resume is asked for", asking, false},
		{"and vouched for", append(asking[:len(asking):len(asking)], rec(trace.Session, trace.SessionVouched, nil)), true},
		{"the session is over", append(begun[:len(begun):len(begun)], rec(trace.Session, trace.SessionEnd, nil)), false},
	} {
		v := NewView()
		for i := range c.records {
			v.Add(&c.records[i])
		}
		if v.Settled() != c.want {
			t.Errorf("%s: settled is %v: %+v", c.name, !c.want, *v)
		}
	}
}

// TestLanes: a lane says what it cannot do, and there is no lane that does nothing.
func TestLanes(t *testing.T) {
	if _, err := New("moon", Options{}); err == nil {
		t.Error("a stage for no lane")
	}
	v, err := New(trace.Virtual, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.KillPlugin(t.Context()); !errors.Is(err, ErrLane) {
		t.Errorf("kill in the virtual lane: %v", err)
	}
	p, err := New(trace.Process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"advance": p.Advance(t.Context(), 1), "silence": p.Silence(t.Context(), 1), "reach": p.Reach(t.Context(), true)} {
		if !errors.Is(err, ErrLane) {
			t.Errorf("%s in the process lane: %v", name, err)
		}
	}
}

// TestEnvironment: the measurement that a transport's environment is judged by can say both things.
func TestEnvironment(t *testing.T) {
	_, err := os.Stat("/proc/self/environ")
	need.Or(t, "procfs", err)
	child := exec.Command("/proc/self/exe")
	child.Env = []string{waits + "=1", canaryVariable + "=" + world.Canary}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	// A process that was only just started may show no environment yet: it has to have spoken.
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got := environment(child.Process.Pid); got != "present" {
		t.Errorf("a process with the canary in its environment: %s", got)
	}
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
	if got := environment(os.Getpid()); got != "absent" {
		t.Errorf("a process without: %s", got)
	}
}
