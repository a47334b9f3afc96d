package inspect

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/conform-dev/conform/plugins/sse"
)

var sseStreams = []struct{ name, in, out string }{
	{"P-SSE-08: an empty id clears", "id: 7\ndata: a\n\nid\ndata: b\n\n",
		`{"type":"message","data":"a","id":"7","lastEventId":"7","retryMs":null}
{"type":"message","data":"b","id":"","lastEventId":"","retryMs":null}
{"id":"","lastEventId":"","retryMs":null}
`},
	{"P-SSE-09: an id alone moves the id and is no event", "id: 8\ndata: a\n\nid: 9\n\n",
		`{"type":"message","data":"a","id":"8","lastEventId":"8","retryMs":null}
{"id":"9","lastEventId":"9","retryMs":null}
`},
	{"P-SSE-10: what a cut left open is dropped with its id", "id: 1\ndata: a\n\nid: 2\ndata: b\n",
		`{"type":"message","data":"a","id":"1","lastEventId":"1","retryMs":null}
{"id":"1","lastEventId":"1","retryMs":null}
`},
	{"P-SSE-11: the last good retry counts", "retry: 3000\nretry: 1e3\nretry:\nevent: delta\ndata: <x>\n\nretry: 0\n",
		`{"type":"delta","data":"<x>","id":"","lastEventId":"","retryMs":3000}
{"id":"","lastEventId":"","retryMs":0}
`},
	{"P-SSE-05: bytes that are no UTF-8 become U+FFFD", "data: \xffok\n\n",
		`{"type":"message","data":"` + "\uFFFD" + `ok","id":"","lastEventId":"","retryMs":null}
{"id":"","lastEventId":"","retryMs":null}
`},
	{"nothing", "", `{"id":"","lastEventId":"","retryMs":null}
`},
}

// The lines do not depend on where reads end.
func TestSSELines(t *testing.T) {
	for _, c := range sseStreams {
		for how, in := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytewise": iotest.OneByteReader(strings.NewReader(c.in))} {
			var out bytes.Buffer
			if err := SSE(in, &out, sse.DefaultMaxEventBytes); err != nil || out.String() != c.out {
				t.Errorf("%s, %s: %v\n%s", c.name, how, err, out.String())
			}
		}
	}
}

// An event is told when it is complete, not when the next bytes come.
func TestSSEStreams(t *testing.T) {
	in, feed := io.Pipe()
	out, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- SSE(in, w, sse.DefaultMaxEventBytes)
		w.Close()
	}()
	lines := bufio.NewScanner(out)
	for _, id := range []string{"1", "2"} {
		if _, err := io.WriteString(feed, "id: "+id+"\ndata: x\n\n"); err != nil {
			t.Fatal(err)
		}
		want := `{"type":"message","data":"x","id":"` + id + `","lastEventId":"` + id + `","retryMs":null}`
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, want %s", lines.Text(), want)
		}
	}
	feed.Close()
	if !lines.Scan() || lines.Text() != `{"id":"2","lastEventId":"2","retryMs":null}` {
		t.Errorf("last line %q", lines.Text())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// P-SSE-15: nothing of an event above the limit is told, nor anything behind it.
func TestSSETooLarge(t *testing.T) {
	text := "id: 4\ndata: ok\n\nid: 5\ndata: " + strings.Repeat("a", 60) + "\ndata: tail\n\nid: 6\ndata: ok\n\n"
	for how, in := range map[string]io.Reader{"whole": strings.NewReader(text), "bytewise": iotest.OneByteReader(strings.NewReader(text))} {
		var out bytes.Buffer
		err := SSE(in, &out, 64)
		var large *TooLarge
		if !errors.As(err, &large) || *large != (TooLarge{64, 16}) {
			t.Errorf("%s: %v", how, err)
		}
		want := `{"type":"message","data":"ok","id":"4","lastEventId":"4","retryMs":null}
{"error":"frame-too-large","maxEventBytes":64,"offset":16}
{"id":"4","lastEventId":"4","retryMs":null}
`
		if out.String() != want {
			t.Errorf("%s:\n%s", how, out.String())
		}
	}
}

func TestSSELimitIsNamed(t *testing.T) {
	for _, limit := range []int{-1, 0, sse.CeilingMaxEventBytes + 1} {
		if err := SSE(strings.NewReader(""), io.Discard, limit); err == nil || !strings.Contains(err.Error(), "between 1 and 67108864") {
			t.Errorf("%d: %v", limit, err)
		}
	}
	if err := SSE(strings.NewReader(""), io.Discard, sse.CeilingMaxEventBytes); err != nil {
		t.Error(err)
	}
}

// A stream that breaks off with an error still ends in what a reconnect would use.
func TestSSEBrokenInput(t *testing.T) {
	broken := errors.New("broken")
	var out bytes.Buffer
	err := SSE(io.MultiReader(strings.NewReader("id: 1\ndata: a\n\n"), iotest.ErrReader(broken)), &out, 64)
	if !errors.Is(err, broken) || !strings.HasSuffix(out.String(), "\n"+`{"id":"1","lastEventId":"1","retryMs":null}`+"\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestBrokenOutput(t *testing.T) {
	if err := SSE(strings.NewReader("data: a\n\n"), full{}, 64); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if err := Gate(strings.NewReader(newLine), full{}, true); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
