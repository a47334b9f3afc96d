package sse

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// render writes one output in the words of docs/wire.md.
func render(o transport.Output) string {
	switch {
	case o.Request != nil:
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", o.Request.Method, o.Request.URL)
		for _, name := range slices.Sorted(maps.Keys(o.Request.Header)) {
			shown := strings.Replace(name, "-Id", "-ID", 1)
			fmt.Fprintf(&b, "\n%s: %s", shown, strings.Join(o.Request.Header[name], ","))
		}
		return b.String()
	case o.Document != nil:
		s := "document"
		if o.Document.Cursor != "" {
			s += " cursor=" + o.Document.Cursor
		}
		if o.Document.ID != "" {
			s += " id=" + o.Document.ID
		}
		return s + " " + string(o.Document.JSON)
	}
	s := *o.Signal
	words := []string{s.Kind.String()}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch s.Kind {
	case transport.Answered:
		add("epoch=%s head=%d resumed=%s", s.Answer.StreamEpoch, s.Answer.Head, [...]string{"unsaid", "no", "yes"}[s.Answer.Resumed])
		if s.Answer.Rejected != "" {
			add("rejected=%s", s.Answer.Rejected)
		}
		if s.Answer.ClosingSoon {
			add("closing-soon")
		}
	case transport.Mark:
		add("cursor=%s", s.Cursor)
	case transport.Retry:
		add("%v", s.RetryAfter)
	}
	if s.Kind.Final() && s.Cause != transport.CauseNone {
		add("%s", s.Cause)
	}
	if s.Kind.Final() && s.Reason != event.None {
		add("%s", s.Reason)
	}
	if s.Detail != "" {
		add("(%s)", s.Detail)
	}
	if s.Kind.Final() && s.RetryAfter != 0 {
		add("retry-after=%v", s.RetryAfter)
	}
	return strings.Join(words, " ")
}

// take is everything that m owes, one line each.
func take(m *Machine) string {
	var lines []string
	for o, ok := m.Take(); ok; o, ok = m.Take() {
		lines = append(lines, render(o))
	}
	return strings.Join(lines, "\n")
}

// fence is a fenced block of a page: what stands behind the fence, and the lines.
type fence struct{ info, text string }

func fences(t *testing.T, path string) (all []fence) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := false
	for line := range strings.Lines(string(page)) {
		info, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open:
			open = false
		case isFence:
			open = true
			all = append(all, fence{info: strings.TrimSpace(info)})
		case open:
			all[len(all)-1].text += line
		}
	}
	return all
}

// TestWirePage feeds every frame of docs/wire.md to the machine, whole and byte by byte, and compares with the result that the
// page names; the same for the requests.
func TestWirePage(t *testing.T) {
	page := fences(t, "../../docs/wire.md")
	frames, requests := 0, 0
	for i, f := range page {
		kind, name, _ := strings.Cut(f.info, " ")
		switch kind {
		case "sse":
			frames++
			if i+1 == len(page) || page[i+1].info != "result" {
				t.Fatalf("frame %q has no result behind it", name)
			}
			want := strings.TrimSuffix(page[i+1].text, "\n")
			t.Run(name, func(t *testing.T) { checkFrame(t, f.text, want) })
		case "request":
			requests++
			t.Run(f.info, func(t *testing.T) {
				m := NewMachine()
				m.Start(wireAttempt(strings.Fields(name)))
				if got := take(m); got != strings.TrimSuffix(f.text, "\n") {
					t.Errorf("got\n%s\nwant\n%s", got, f.text)
				}
			})
		case "result", "ws", "ws-request", "ws-result", "odata", "odata-request": // plugins/websocket and plugins/odata test these
		default:
			t.Errorf("a block is marked %q", f.info)
		}
	}
	if frames < 20 || requests < 3 {
		t.Fatalf("only %d frames and %d requests", frames, requests)
	}
}

func checkFrame(t *testing.T, text, want string) {
	m := openMachine(nil)
	m.Bytes([]byte(text))
	if got := take(m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Byte by byte only signs of life may come on top.
	m = openMachine(nil)
	var lines []string
	for i := range text {
		m.Bytes([]byte(text[i : i+1]))
		for _, line := range strings.Split(take(m), "\n") {
			if line != "" && line != "heartbeat" {
				lines = append(lines, line)
			}
		}
	}
	if got := strings.Join(lines, "\n"); got != want && want != "heartbeat" || want == "heartbeat" && got != "" {
		t.Errorf("byte by byte: got\n%s\nwant\n%s", got, want)
	}
}

// wireAttempt is the attempt behind a request of the page: the words `resume` and option=value.
func wireAttempt(words []string) transport.Attempt {
	a := transport.Attempt{
		Endpoint: "http://127.0.0.1:8080/stream",
		Query:    transport.Query{SourceID: "incidents", Mode: "snapshot-then-delta"},
		Resume:   event.NoPosition,
		Options:  map[string]string{},
	}
	for _, w := range words {
		if name, value, is := strings.Cut(w, "="); is {
			a.Options[name] = value
		} else if w == "resume" {
			a.Resume = event.Position{Seq: 41, Cursor: "incidents-v7:41"}
		}
	}
	return a
}

// The page's table of options says what the descriptor says.
func TestWirePageNamesEveryOption(t *testing.T) {
	page, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range Describe().Options {
		row := fmt.Sprintf("| `%s` | `%s` |", o.Name, o.Default)
		if o.Ceiling > 0 {
			row = fmt.Sprintf("| `%s` | %s | %d;", o.Name, o.Default, o.Ceiling)
		}
		if !strings.Contains(string(page), row) {
			t.Errorf("no row %q", row)
		}
	}
}

var errSomething = errors.New("GET http://user:secret@host/?cursor=secret: what the server wrote")
