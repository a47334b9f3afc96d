package fleet

import (
	"strings"
	"testing"
	"time"
)

// sending is a sender whose posts are answered by hand.
type sending struct {
	t   *testing.T
	s   *Sender
	now time.Duration
}

func newSending(t *testing.T, o SenderOptions) *sending {
	o.Subscription, o.Identity, o.Key = "WAKE_SUB:relay", "@viewer", vectorKey
	s, err := NewSender(o)
	if err != nil {
		t.Fatal(err)
	}
	return &sending{t: t, s: s}
}

func (x *sending) clock() Now { return Now{Mono: x.now, Wall: rigWall + x.now.Milliseconds()} }

// next passes time until a post is due.
func (x *sending) next() Post {
	x.t.Helper()
	for {
		if p, ok := x.s.Take(); ok {
			return p
		}
		at, ok := x.s.Deadline()
		if !ok {
			state, n := x.s.State()
			x.t.Fatalf("nothing is due: %s, %d failures", state, n)
		}
		x.now = max(at, x.now)
		x.s.Wake(x.clock())
	}
}

func (x *sending) queue(sources ...string) {
	var events []Event
	for i, s := range sources {
		events = append(events, Event{Kind: Message, Source: s, logID: int64(i + 1)})
	}
	x.s.Queue(x.clock(), events)
}

func (x *sending) want(state SenderState, failures int) {
	x.t.Helper()
	if got, n := x.s.State(); got != state || n != failures {
		x.t.Errorf("%s with %d failures, want %s with %d", got, n, state, failures)
	}
}

// TestSenderCoalesces: 30 s from the first event, one digest, the id of fleet facts 3.2.
func TestSenderCoalesces(t *testing.T) {
	x := newSending(t, SenderOptions{})
	x.queue("MESSAGE:1")
	x.now = 20 * time.Second
	x.queue("MESSAGE:2")
	p := x.next()
	if x.now != 30*time.Second || p.EventID != "wake-digest:995c7dcb4e38c42430cc2d0b225ad6e0691c0a0d7e0aa0c36733a4937f675dcf" || !strings.Contains(string(p.Body), `"totalEvents":2,`) {
		t.Errorf("at %v: %s", x.now, p.Body)
	}
	x.queue("MESSAGE:3") // while the first is under way
	x.s.Answered(x.clock(), 200, nil)
	x.want(SenderGathers, 0)
	if x.next(); x.now != 60*time.Second {
		t.Errorf("the next one at %v", x.now)
	}
}

// TestSenderRetries: 4 attempts with 1, 2 and 4 s between them, the same id each time, then one counted failure; 3 degrade.
func TestSenderRetries(t *testing.T) {
	x := newSending(t, SenderOptions{Coalesce: -1, AttemptTime: 5 * time.Second})
	for round := 1; round <= 3; round++ {
		began := x.now
		x.queue("MESSAGE:1")
		var id string
		for attempt, at := range []time.Duration{0, time.Second, 3 * time.Second, 12 * time.Second} {
			p := x.next()
			if p.Attempt != attempt+1 || x.now-began != at || id != "" && p.EventID != id {
				t.Fatalf("round %d attempt %d at %v: %+v", round, attempt+1, x.now-began, p.Attempt)
			}
			id = p.EventID
			switch attempt {
			case 0:
				x.s.Answered(x.clock(), 503, nil)
			case 2: // no answer within 5 s, and then 4 s
				x.now += 5 * time.Second
				x.s.Wake(x.clock())
			default:
				x.s.Unreachable(x.clock())
			}
		}
		if round < 3 {
			x.want(SenderIdle, round)
		}
	}
	x.want(SenderDegraded, 3)
	x.queue("MESSAGE:2")
	if _, ok := x.s.Deadline(); ok {
		t.Error("a degraded one is attempted")
	}
	x.s.Resume()
	x.queue("MESSAGE:3")
	x.next()
	x.s.Answered(x.clock(), 204, nil)
	x.want(SenderIdle, 0)
}

// TestSenderStatus: which answers count, retry, or degrade at once (fleet facts 3.4).
func TestSenderStatus(t *testing.T) {
	for _, c := range []struct {
		status   int
		body     string
		state    SenderState
		failures int
	}{
		{200, "", SenderIdle, 0}, {299, "", SenderIdle, 0},
		{404, `{"error":"unknown-subscription"}`, SenderIdle, 1},
		{404, `{"error":"not-found"}`, SenderDegraded, 0}, {404, "no JSON", SenderDegraded, 0}, {404, `{"error":{"x":1}}`, SenderDegraded, 0},
		{400, "", SenderDegraded, 0}, {401, "", SenderDegraded, 0}, {409, "", SenderDegraded, 0}, {413, "", SenderDegraded, 0}, {429, "", SenderDegraded, 0},
		{500, "", SenderWaits, 0}, {302, "", SenderWaits, 0},
	} {
		x := newSending(t, SenderOptions{Coalesce: -1})
		x.queue("MESSAGE:1")
		x.next()
		x.s.Answered(x.clock(), c.status, []byte(c.body))
		x.want(c.state, c.failures)
		x.s.Answered(x.clock(), 200, nil) // a late answer means nothing
		x.want(c.state, c.failures)
	}
}

// TestSenderAgainstServer plays the sender against the real intake: delivered; over the rate limit degrades at once; unknown after a
// restart counts three and degrades.
func TestSenderAgainstServer(t *testing.T) {
	post := func(r *rig, x *sending) {
		x.queue("MESSAGE:1")
		p := x.next()
		var h []string
		for name, values := range p.Header {
			h = append(h, name, values[0])
		}
		c := r.ask("POST", WakePath, string(p.Body), h...)
		if r.head[c] == nil {
			x.s.Unreachable(x.clock())
			return
		}
		x.s.Answered(x.clock(), r.head[c].Status, []byte(r.body[c].String()))
	}
	o := options()
	o.WakeRequests = 2
	r, x := intakeRig(t, o), newSending(t, SenderOptions{Coalesce: -1})
	stream := r.open("OWN-CCC")
	post(r, x)
	post(r, x)
	x.want(SenderIdle, 0)
	if got := strings.Count(r.body[stream].String(), "event: wake"); got != 2 {
		t.Errorf("%d wakes", got)
	}
	post(r, x)
	x.want(SenderDegraded, 0)

	r, x = intakeRig(t, options()), newSending(t, SenderOptions{Coalesce: -1})
	r.s.routes = nil
	post(r, x)
	x.want(SenderIdle, 1)
	r.s.routes = []route{{"WAKE_SUB:relay", "@viewer", vectorKey}}
	post(r, x)
	x.want(SenderIdle, 0) // in a row
	r.s.routes = nil
	post(r, x)
	post(r, x)
	post(r, x)
	x.want(SenderDegraded, 3)
}

// TestSenderLimits: the bounds of its settings, and of what it gathers.
func TestSenderLimits(t *testing.T) {
	for _, o := range []SenderOptions{{}, {Subscription: "s", Identity: "i", Key: "k", Coalesce: MaxCoalesce + 1},
		{Subscription: "s", Identity: "i", Key: "k", Coalesce: -2}, {Subscription: "s", Identity: "i", Key: "k", AttemptTime: MaxAttemptTime + 1}} {
		if _, err := NewSender(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	x := newSending(t, SenderOptions{})
	for range 3 {
		x.queue(make([]string, MaxGathered/2)...)
	}
	if p := x.next(); !strings.Contains(string(p.Body), `"totalEvents":1000,`) {
		t.Error("more than the bound is gathered")
	}
}
