package fleetwake

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// relay is a whole relay in virtual time: the machine below, the session that connects, backs off and judges above it.
type relay struct {
	t       *testing.T
	s       *session.Session
	m       Machine
	now     time.Duration
	epoch   session.Epoch
	poll    Poll
	options map[string]string
	out     []string
	dials   int
}

// TestSession plays the files of testdata/session: what a cockpit would show at each step. Their commands are those of TestLane for what a
// server does, and
//
//	open [poll=mcp]     the session begins
//	accept              the server accepts the attempt that is under way
//	refuse status=N     or does not
//	flap ms=N           from now on it accepts, says retry: 100 and closes, for so long; shows the most attempts in any 60 s
//	after ms=N          time passes; what was due meanwhile is done
//	cut                 the connection breaks
//	stop
func TestSession(t *testing.T) {
	datadriven.Walk(t, "testdata/session", func(t *testing.T, path string) {
		r := &relay{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			r.t, r.out = t, nil
			r.play(d)
			o := r.s.ObserveWake()
			v, c := session.Liveness(&o, r.at()), session.CatchUpAxis(&o)
			r.say("alive=%v: %s", v.Alive, v.Reason)
			line := fmt.Sprintf("catch-up %v", c.State)
			if c.State == session.CatchUpDone {
				line += fmt.Sprintf(", pending %v", c.Pending)
			}
			if c.Reason != "" {
				line += ": " + c.Reason
			}
			r.say("%s; mark %d, wakes %d, dropped %d", line, o.Watermark, o.Wakes, o.Dropped)
			return strings.Join(r.out, "\n") + "\n"
		})
	})
}

func (r *relay) say(format string, args ...any) {
	r.out = append(r.out, fmt.Sprintf("%v ", r.now)+fmt.Sprintf(format, args...))
}

func (r *relay) at() session.Now { return session.Now{Mono: r.now, Wall: r.now.Milliseconds()} }

func (r *relay) play(d *datadriven.TestData) {
	number := func(name string) (n int) {
		d.ScanArgs(r.t, name, &n)
		return n
	}
	switch d.Cmd {
	case "open":
		r.begin(d)
	case "accept":
		r.m.Head(stream())
	case "refuse":
		r.m.Head(transport.Head{Status: number("status"), Header: transport.Header{}})
	case "read":
		for line := range strings.SplitSeq(d.Input, "\n") {
			r.m.Bytes(bytesOf(r.t, line))
			r.settle()
		}
	case "answer":
		r.m.Polled(r.poll, PollResult{Answer: []byte(d.Input)})
	case "failed":
		r.m.Polled(r.poll, PollResult{Failed: d.Input})
	case "cut":
		r.m.End(nil)
	case "after":
		r.pass(r.now+time.Duration(number("ms"))*time.Millisecond, nil)
	case "flap":
		r.flap(time.Duration(number("ms")) * time.Millisecond)
	case "stop":
		r.s.Close(r.at(), 0)
	default:
		r.t.Fatalf("unknown command %s", d.Cmd)
	}
	r.settle()
}

func (r *relay) begin(d *datadriven.TestData) {
	g, err := gate.New(gate.Config{}, gate.Start{})
	if err != nil {
		r.t.Fatal(err)
	}
	p := session.FleetPolicy()
	p.Jitter = func(int) int { return 0 }
	if r.s, err = session.New(g, p); err != nil {
		r.t.Fatal(err)
	}
	r.options = map[string]string{}
	var poll string
	if d.MaybeScanArgs(r.t, "poll", &poll); poll != "" {
		r.options[OptionPoll] = poll
	}
	r.s.Open(r.at())
}

// settle does what session and machine owe each other at this moment.
func (r *relay) settle() {
	for moved := true; moved; {
		moved = false
		due := r.s.Take()
		if due.End != nil {
			r.say("the session is over: cause %v, HTTP %d", due.End.Cause, due.End.Status)
		}
		if due.Connect != nil {
			r.connect(due.Connect)
			moved = true
		}
		for o, ok := r.m.Take(); ok; o, ok = r.m.Take() {
			moved = true
			if o.Signal != nil {
				drive.Signal(r.s, r.epoch, r.at(), *o.Signal)
			}
		}
		if p, asked := r.m.PollDue(); asked {
			r.poll = p
			r.say("polls %s since %d", p.SubscriptionID, p.Since)
		}
	}
}

func (r *relay) connect(c *session.Attempt) {
	r.epoch = c.Epoch
	r.dials++
	a := own()
	a.Epoch, a.Resume, a.Options = uint32(c.Epoch), c.Resume, r.options
	r.m.Wake(r.now)
	r.m.Start(a)
	mark := c.Resume.Watermark
	if mark == "" {
		mark = "0"
	}
	r.say("attempt %d, mark %s", c.Epoch, mark)
}

// pass lets time pass until to; each, if there is one, is called whenever something was done.
func (r *relay) pass(to time.Duration, each func()) {
	for {
		next := to
		if at, ok := r.s.Deadline(); ok {
			next = min(next, max(at, r.now))
		}
		if at, ok := r.m.Deadline(); ok {
			next = min(next, max(at, r.now))
		}
		last := next == to
		r.now = next
		r.m.Wake(r.now)
		r.s.Wake(r.at())
		r.settle()
		if each != nil {
			each()
		}
		if last {
			return
		}
	}
}

// flap is a server that accepts every attempt, names a short floor and closes.
func (r *relay) flap(during time.Duration) {
	quiet := r.out
	var dials []time.Duration
	seen := r.dials
	each := func() {
		for r.dials > seen {
			seen = r.dials
			dials = append(dials, r.now)
			r.m.Head(stream())
			r.m.Bytes([]byte("retry: 100\n\n"))
			r.settle()
			r.m.End(nil)
			r.settle()
		}
	}
	seen-- // the attempt that is under way
	r.pass(r.now+during, each)
	most := 0
	for i := range dials {
		n := 0
		for _, at := range dials[i:] {
			if at-dials[i] < time.Minute {
				n++
			}
		}
		most = max(most, n)
	}
	r.out = quiet
	r.say("%s attempts, at most %d in any 60 s", strconv.Itoa(len(dials)), most)
}
