package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// until waits until a file that a program in the background writes holds a line: `until FILE PATTERN`. A later `until` of
// the same file begins behind what the one before found.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until FILE PATTERN")
	}
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	for end := time.Now().Add(longEnough); ; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(path)
		if want.Match(text) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("no %q in %s: %s", args[1], args[0], text)
		}
	}
}

// served takes the addresses that a simulator wrote into a file: `served FILE` sets STREAM, WEBSOCKET, ODATA, CONTROL, and of the wake lane
// PLANE, FLEET and SECRETS.
func served(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: served FILE")
	}
	until(ts, false, []string{args[0], `^publish a change`})
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		names := map[string]string{"sse": "STREAM", "websocket": "WEBSOCKET", "odata": "ODATA", "control": "CONTROL", "fleetwake": "PLANE", "fleet": "FLEET", "secrets": "SECRETS"}
		if words := strings.Fields(line); len(words) == 2 && names[words[0]] != "" {
			ts.Setenv(names[words[0]], words[1])
		}
	}
}

// post sends a control request to the feed, or with fleet to the wake lane: `post [fleet] PATH JSON`.
func post(ts *testscript.TestScript, neg bool, args []string) {
	to := "CONTROL"
	if len(args) == 3 && args[0] == "fleet" {
		to, args = "FLEET", args[1:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: post [fleet] PATH JSON")
	}
	res, err := http.Post(ts.Getenv(to)+args[0], "application/json", strings.NewReader(args[1]))
	ts.Check(err)
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s", res.Status, text)
	}
}

// TestWatchLines: text from a server is quoted where it would not stand on a line as it is, and a writer that fails ends
// the watch.
func TestWatchLines(t *testing.T) {
	var out bytes.Buffer
	p := &watchLines{out: &out, now: func() time.Time { return time.Time{} }, stop: func() {}}
	enqueue := trace.New(trace.Gate, trace.GateEnqueue)
	enqueue.Ticket, enqueue.Type, enqueue.Seq, enqueue.ID = 1, "upsert", 7, "e\x1b[2J\n7"
	decide := trace.New(trace.Gate, trace.GateDelivery)
	decide.Ticket, decide.Status, decide.Seq = 1, "applied", event.Seq(7)
	p.record(enqueue)
	p.record(decide)
	if want := "00:00:00.000  applied     upsert 7  \"e\\x1b[2J\\n7\"\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
	if len(p.waiting) != 0 {
		t.Errorf("%d events are remembered that were decided", len(p.waiting))
	}
	if got := odd(strings.Repeat("ü", 200)); len(got) > 140 {
		t.Errorf("%d bytes of an id", len(got))
	}
	stopped := false
	p = &watchLines{out: full{}, now: time.Now, stop: func() { stopped = true }}
	p.say(watchLine{What: "watch"})
	if !stopped || p.failure() == nil {
		t.Error("a writer that fails does not end the watch")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

// A transport that polls is answered each time; what is new about that is shown, and the rest is not.
func TestWatchShowsAnAnswerOnce(t *testing.T) {
	var out bytes.Buffer
	p := &watchLines{out: &out, now: func() time.Time { return time.Time{} }, stop: func() {}}
	for _, a := range []struct {
		epoch uint32
		head  event.Seq
	}{{1, 4}, {1, 4}, {1, 5}, {1, 5}, {2, 5}} {
		r := trace.New(trace.Session, trace.SessionSignal)
		r.Status, r.Epoch, r.Seq = "answered", a.epoch, a.head
		p.record(r)
	}
	const want = "00:00:00.000  answer      1: connected, the newest event is 4\n" +
		"00:00:00.000  answer      1: connected, the newest event is 5\n" +
		"00:00:00.000  answer      2: connected, the newest event is 5\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
}
