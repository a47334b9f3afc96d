package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/serve"
)

const (
	last = 9 // sequence of the last event
	// stamp makes the times in the events a function of their sequence, so that two runs have the same bytes.
	stamp = 1785124800000
)

// twoCuts ends a connection before the first byte of event 4, and another one in the middle of event 5, behind its id line:
// what was unfinished must not be delivered, and its id must not be resumed from (P-SSE-10).
func twoCuts(as string) []simulator.Fault {
	return []simulator.Fault{
		{Name: "cut", At: simulator.At{Sequence: 4}, With: map[string]string{"as": as, "keep": "0"}},
		{Name: "cut", At: simulator.At{Sequence: 5}, With: map[string]string{"as": as, "keep": "60"}},
	}
}

// script is what is published when, with twoCuts: each step when the client has been given all that there was, over a
// new connection where the step before ended the old one. A browser that is not given time for it may drop what came right
// before a broken end, as the network may, so a cut comes only when the client is level.
var script = []struct {
	publish   int
	reconnect bool
}{
	{publish: 3, reconnect: true}, // 1 to 3
	{publish: 1},                  // 4: cut
	{publish: 4, reconnect: true}, // 5 to 8: cut
	{publish: 1, reconnect: true}, // 9: the client is done
}

// ignores is a server that overlooks the position in every request.
func ignores(then string) simulator.Fault {
	return simulator.Fault{Name: "ignore-last-event-id", Times: simulator.Always, With: map[string]string{"then": then}}
}

// run is what a client got from one simulator, and how the simulator answered it.
type run struct {
	events  []Event
	answers []string // one per request: snapshot, resumed, ignored
}

// play starts a simulator with the faults, lets the client follow it, and publishes by the script.
func play(t *testing.T, faults []simulator.Fault, follow client) run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	defer cancel()
	s := &stage{got: newTally()}
	var err error
	s.Server, err = serve.Start(ctx, serve.Options{
		Simulator: simulator.Options{Stamp: stamp, Heartbeat: -1, RetryHint: 50 * time.Millisecond, Schedule: simulator.Schedule{Faults: faults}},
		Observe:   s.observe,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	end := ""
	_ = s.Do(func(sim *simulator.Simulator, _ simulator.Now) error { end = sim.Cursor(last); return nil })

	var events []Event
	failed := make(chan error, 1)
	go func() {
		var err error
		events, err = follow(ctx, s.URL()+"?sourceId=incidents", end, s.got)
		failed <- err
		cancel() // nobody waits for a client that gave up
	}()
	for i, step := range script {
		err := s.level(ctx, step.reconnect)
		if err == nil {
			err = s.Publish(simulator.AutoMixed, step.publish)
		}
		if err != nil {
			t.Errorf("step %d: %v", i+1, err)
			break
		}
	}
	if err := <-failed; err != nil {
		t.Errorf("client: %v", err)
	}
	if t.Failed() {
		t.FailNow() // the same would be waited for again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return run{events, s.answers}
}

// stage is a simulator and what is known about its client.
type stage struct {
	*serve.Server
	got     *tally
	request int // number of the connection that is followed

	mu      sync.Mutex
	answers []string
	sent    int // events, and a status frame for each answer
}

func (s *stage) observe(r trace.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Kind == trace.ServerRequest && r.Detail != "refused": // a browser asks for an icon, too
		s.answers = append(s.answers, r.Detail)
		s.sent++
	case r.Kind == trace.ServerSent:
		s.sent++
	}
}

// level returns when the simulator has sent all there is over one connection, another one than before if reconnect says so,
// and the client has been given it.
func (s *stage) level(ctx context.Context, reconnect bool) error {
	err := s.WaitFor(ctx, func(st simulator.State) bool {
		if len(st.Connections) != 1 || st.Connections[0].Sent != st.Head || reconnect && st.Connections[0].Request <= s.request {
			return false
		}
		s.request = st.Connections[0].Request
		return true
	})
	if err != nil {
		return fmt.Errorf("the simulator waits for a client: %w", err)
	}
	s.mu.Lock()
	sent := s.sent
	s.mu.Unlock()
	if err := s.got.reach(ctx, sent); err != nil {
		return fmt.Errorf("the client was given %w", err)
	}
	return nil
}

// seen says whether the data events of a list are what the feed published, each once and in order: the snapshot at 0, then
// the changes 1 to 9.
func seen(events []Event) error {
	var got []string
	for _, e := range events {
		var d struct {
			Type     string
			Sequence int
		}
		if err := json.Unmarshal([]byte(e.Data), &d); err != nil {
			return fmt.Errorf("data %q: %w", e.Data, err)
		}
		switch d.Type {
		case "status":
		case "snapshot":
			got = append(got, fmt.Sprintf("snapshot %d", d.Sequence))
		default:
			got = append(got, fmt.Sprint(d.Sequence))
		}
	}
	if diff := cmp.Diff(strings.Split("snapshot 0,1,2,3,4,5,6,7,8,9", ","), got); diff != "" {
		return fmt.Errorf("published (-), seen (+):\n%s", diff)
	}
	return nil
}

// data are the data events of a list, without their names: what a transport hands on.
func data(events []Event) (out []Event) {
	for _, e := range events {
		if e.Type != "status" {
			out = append(out, Event{Data: e.Data, ID: e.ID})
		}
	}
	return out
}

// TestResume: over two cuts, a browser's EventSource, conform's decoder and conform's transport get the same list, and it is
// what was published.
func TestResume(t *testing.T) {
	tab := chromium(t, "about:blank")
	for _, as := range []string{"cut", "eof", "reset"} {
		t.Run(as, func(t *testing.T) {
			theirs := play(t, twoCuts(as), tab.follow)
			ours := play(t, twoCuts(as), source)
			handed := play(t, twoCuts(as), plugin)
			if err := seen(theirs.events); err != nil {
				t.Errorf("the browser: %v", err)
			}
			if diff := cmp.Diff(theirs.events, ours.events); diff != "" {
				t.Errorf("the browser (-), conform's decoder (+):\n%s", diff)
			}
			if diff := cmp.Diff(data(theirs.events), handed.events); diff != "" {
				t.Errorf("the browser (-), conform's transport (+):\n%s", diff)
			}
			for who, r := range map[string]run{"the browser": theirs, "the decoder": ours, "the transport": handed} {
				if diff := cmp.Diff([]string{"snapshot", "resumed", "resumed"}, r.answers); diff != "" {
					t.Errorf("%s: expected answers (-), answers (+):\n%s", who, diff)
				}
			}
		})
	}
}

// TestIgnoredPosition: the comparison of TestResume fails when the simulator ignores Last-Event-ID, for the browser alone
// and for all.
func TestIgnoredPosition(t *testing.T) {
	tab := chromium(t, "about:blank")
	honest := play(t, twoCuts("cut"), source)
	for _, then := range []string{"snapshot", "live"} {
		t.Run(then, func(t *testing.T) {
			faults := append(twoCuts("cut"), ignores(then))
			theirs := play(t, faults, tab.follow)
			if diff := cmp.Diff([]string{"snapshot", "ignored", "ignored"}, theirs.answers); diff != "" {
				t.Fatalf("expected answers (-), answers (+):\n%s", diff)
			}
			if cmp.Equal(theirs.events, honest.events) {
				t.Error("the browser's list equals the one of a server that honours the position")
			}
			if seen(theirs.events) == nil {
				t.Error("the browser's list passes for what was published")
			}
			ours := play(t, faults, source)
			if diff := cmp.Diff(theirs.events, ours.events); diff != "" {
				t.Errorf("the browser (-), conform's decoder (+), both ignored:\n%s", diff)
			}
			if handed := play(t, faults, plugin); seen(handed.events) == nil || seen(ours.events) == nil {
				t.Error("conform's own list passes for what was published")
			}
		})
	}
}
