package browser

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// grammar is one section of testdata/streams.txt of plugins/sse: what conform's decoder is tested by, in every split.
type grammar struct {
	name    string
	limited bool // what it says holds for a limit of conform's own
	reads   []string
	events  []Event
	last    string
	retry   time.Duration
}

// early is how much sooner than asked a browser's timer may fire: it counts in whole milliseconds, on a clock of its own.
const early = 20 * time.Millisecond

const streamsFile = "../../plugins/sse/testdata/streams.txt"

// grammars reads the file; its first lines say what may stand in it.
func grammars(t *testing.T) (all []*grammar) {
	t.Helper()
	file, err := os.ReadFile(streamsFile)
	if err != nil {
		t.Fatal(err)
	}
	var g *grammar
	for n, line := range strings.Split(string(file), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		bad := false
		switch word {
		case "", "#":
		case "==":
			g = &grammar{}
			all = append(all, g)
			g.name, _, _ = strings.Cut(rest, " ")
		case "limit", "error":
			g.limited = true
		case "read":
			text, _, ok := quoted(rest)
			g.reads, bad = append(g.reads, text), !ok
		case "event":
			name, rest, _ := strings.Cut(rest, " ")
			data, rest, ok := quoted(rest)
			id, _, ok2 := quoted(strings.TrimPrefix(rest, "id "))
			g.events, bad = append(g.events, Event{name, data, id}), !ok || !ok2
		case "last":
			text, _, ok := quoted(rest)
			g.last, bad = text, !ok
		case "retry":
			ms, err := strconv.ParseInt(rest, 10, 64)
			g.retry, bad = time.Duration(ms)*time.Millisecond, err != nil
		default:
			bad = true
		}
		if bad {
			t.Fatalf("%s:%d: %s", streamsFile, n+1, line)
		}
	}
	return all
}

// quoted takes a quoted text, with an optional repeat count, from the front of s.
func quoted(s string) (text, rest string, ok bool) {
	prefix, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", false
	}
	if text, err = strconv.Unquote(prefix); err != nil {
		return "", "", false
	}
	rest = strings.TrimPrefix(s[len(prefix):], " ")
	if count, found := strings.CutPrefix(rest, "*"); found {
		count, rest, _ = strings.Cut(count, " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			return "", "", false
		}
		text = strings.Repeat(text, n)
	}
	return text, rest, true
}

// stand serves each case on a path of its own: the first request gets the stream, in its reads, and its end; the second one
// is told to stop, and what it asked for is written down.
type stand struct {
	cases []*grammar
	mu    sync.Mutex
	ended []time.Time     // of the first answer
	asked []*http.Request // the second request
	pause []time.Duration // between the two
}

func (s *stand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/case/"))
	if err != nil || n < 0 || n >= len(s.cases) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><title>streams</title>`)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended[n].IsZero() {
		s.asked[n], s.pause[n] = r, time.Since(s.ended[n])
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	for _, read := range s.cases[n].reads {
		fmt.Fprint(w, read)
		w.(http.Flusher).Flush()
	}
	s.ended[n] = time.Now()
}

// TestGrammar: a browser reads the streams that conform's decoder is tested by in the same way: the events, the ID that it
// asks to resume from, and a reconnection time that nothing wrong has shortened.
func TestGrammar(t *testing.T) {
	s := &stand{}
	for _, g := range grammars(t) {
		// Reconnection times above this are longer than a test may wait for the second request.
		if !g.limited && g.retry <= 10*time.Second {
			s.cases = append(s.cases, g)
		}
	}
	if len(s.cases) < 20 {
		t.Fatalf("only %d streams", len(s.cases))
	}
	n := len(s.cases)
	s.ended, s.asked, s.pause = make([]time.Time, n), make([]*http.Request, n), make([]time.Duration, n)
	server := httptest.NewServer(s)
	defer server.Close()
	tab := chromium(t, server.URL)

	names := []string{"message"}
	for _, g := range s.cases {
		for _, e := range g.events {
			names = append(names, e.Type)
		}
		for _, line := range bytes.FieldsFunc([]byte(strings.Join(g.reads, "")), func(r rune) bool { return r == '\r' || r == '\n' }) {
			if name, found := bytes.CutPrefix(line, []byte("event: ")); found {
				names = append(names, string(name)) // would be seen if the browser, and not conform, made an event of it
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	calls := make([]string, n)
	for i := range calls {
		calls[i] = follow(fmt.Sprintf("/case/%d", i), names, "")
	}
	got, err := evaluate[[][]Event](tab, "Promise.all(["+strings.Join(calls, ", ")+"])")
	if err != nil || len(got) != n {
		t.Fatalf("%d answers of %d: %v", len(got), n, err)
	}
	for i, g := range s.cases {
		t.Run(g.name, func(t *testing.T) {
			events := got[i]
			if len(events) == 0 {
				events = nil
			}
			if diff := cmp.Diff(g.events, events); diff != "" {
				t.Errorf("conform (-), the browser (+):\n%s", diff)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.asked[i] == nil {
				t.Fatal("the browser did not come back")
			}
			if id := s.asked[i].Header.Get("Last-Event-ID"); id != g.last {
				t.Errorf("the browser asked to resume from %q, conform from %q", id, g.last)
			}
			if s.pause[i] < g.retry-early {
				t.Errorf("the browser came back after %v, conform after %v", s.pause[i], g.retry)
			}
		})
	}
}
