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
	atOnce = 8 // changes published while the first connection is open
	last   = 9 // sequence of the one published when the last connection is
	// stamp makes the times in the events a function of their sequence, so that two runs have the same bytes.
	stamp = 1785124800000
)

// twoCuts ends the first connection behind an event, and the second in the middle of one, behind its id line: what was
// unfinished must not be delivered, and its id must not be resumed from (P-SSE-10).
func twoCuts(as string) []simulator.Fault {
	with := func(more ...string) map[string]string {
		w := map[string]string{"as": as}
		if len(more) > 0 {
			w[more[0]] = more[1]
		}
		return w
	}
	return []simulator.Fault{
		{Name: "cut", At: simulator.At{Sequence: 3}, With: with()},
		{Name: "cut", At: simulator.At{Sequence: 5}, With: with("keep", "60")},
	}
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

// play starts a simulator with the faults, lets the client follow it, and publishes: eight changes as soon as the client is
// there, one more when it is there again and the schedule has done its work.
func play(t *testing.T, faults []simulator.Fault, follow client) run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	defer cancel()
	var (
		mu  sync.Mutex
		out run
	)
	s, err := serve.Start(ctx, serve.Options{
		Simulator: simulator.Options{Stamp: stamp, Heartbeat: -1, RetryHint: 50 * time.Millisecond, Schedule: simulator.Schedule{Faults: faults}},
		Observe: func(r trace.Record) {
			if r.Kind == trace.ServerRequest && r.Detail != "refused" { // a browser asks for an icon, too
				mu.Lock()
				defer mu.Unlock()
				out.answers = append(out.answers, r.Detail)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	end := ""
	_ = s.Do(func(sim *simulator.Simulator, _ simulator.Now) error { end = sim.Cursor(last); return nil })

	failed := make(chan error, 1)
	go func() {
		var err error
		out.events, err = follow(ctx, s.URL()+"?sourceId=incidents", end)
		failed <- err
		cancel() // nobody waits for a client that gave up
	}()
	for _, step := range []struct {
		name    string
		reached func(simulator.State) bool
		publish int
	}{
		{"the first connection", first, atOnce},
		{"the last connection", final, 1},
	} {
		err := s.WaitFor(ctx, step.reached)
		if err == nil {
			err = s.Publish(simulator.AutoMixed, step.publish)
		}
		if err != nil {
			t.Errorf("%s: %v", step.name, err)
			break
		}
	}
	if err := <-failed; err != nil {
		t.Errorf("client: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	return run{out.events, out.answers}
}

// first says that a client has its snapshot.
func first(s simulator.State) bool { return len(s.Connections) == 1 && s.Connections[0].Events == 1 }

// final says that nothing will end the connection that is open: both cuts struck and the client has the rest, or its position
// was ignored, and the second cut will never come to its event.
func final(s simulator.State) bool {
	if len(s.Connections) != 1 {
		return false
	}
	return s.Struck["cut"] == 2 && s.Connections[0].Events > 0 || s.Struck["ignore-last-event-id"] == 1
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

// inBrowser is a client that is a page of the simulator's own origin: no proxy and no CORS stand between.
func inBrowser(tab context.Context) client {
	return func(_ context.Context, url, last string) ([]Event, error) {
		if err := visit(tab, controlPage(url)); err != nil {
			return nil, err
		}
		return evaluate[[]Event](tab, follow(url, types, last))
	}
}

func controlPage(stream string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(stream, "http://"), "/")
	return "http://" + host + "/control/v1/state"
}

// TestResume: over two cuts, a browser's EventSource, conform's decoder and conform's transport get the same list, and it is
// what was published.
func TestResume(t *testing.T) {
	tab := chromium(t, "about:blank")
	for _, as := range []string{"cut", "eof", "reset"} {
		t.Run(as, func(t *testing.T) {
			theirs := play(t, twoCuts(as), inBrowser(tab))
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
			theirs := play(t, faults, inBrowser(tab))
			if diff := cmp.Diff([]string{"snapshot", "ignored"}, theirs.answers); diff != "" {
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
