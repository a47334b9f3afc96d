package fleetwake

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// lane drives one machine as a driver would: in virtual time, and with the poll beside the stream.
type lane struct {
	m     Machine
	polls []Poll
}

// TestLane plays the files of testdata/lane. Their commands:
//
//	connect [poll=url|mcp] [mark=N] [epoch=N] [options...]   a request, and the answer that opens the stream
//	refuse status=N [type=T] [location=L] [after=S]          a request, and an answer that does not
//	read                                                     one read per line: state JSON, wake JSON, comment TEXT, retry N or raw "..."
//	answer [poll=N]                                          the JSON below answers the last poll, or the n-th
//	failed                                                   the words below are why there is no answer
//	at ms=N                                                  time passes
//	end [broken]
func TestLane(t *testing.T) {
	datadriven.Walk(t, "testdata/lane", func(t *testing.T, path string) {
		l := &lane{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out := l.play(t, d)
			if out == "" {
				out = "nothing"
			}
			return out + "\n"
		})
	})
}

func (l *lane) play(t *testing.T, d *datadriven.TestData) string {
	arg := func(name string) (s string) {
		d.MaybeScanArgs(t, name, &s)
		return s
	}
	switch d.Cmd {
	case "connect":
		l.start(t, arg)
		request := take(&l.m)
		l.m.Head(stream())
		return request + "\n" + l.due()
	case "refuse":
		l.start(t, arg)
		take(&l.m)
		h := transport.Head{Header: transport.Header{}}
		h.Status, _ = strconv.Atoi(arg("status"))
		for name, key := range map[string]string{"Content-Type": "type", "Location": "location", "Retry-After": "after"} {
			if v := arg(key); v != "" {
				h.Header[name] = []string{v}
			}
		}
		l.m.Head(h)
	case "read":
		var out []string
		for line := range strings.SplitSeq(d.Input, "\n") {
			l.m.Bytes(bytesOf(t, line))
			if told := l.due(); told != "" {
				out = append(out, told)
			}
		}
		return strings.Join(out, "\n")
	case "answer", "failed":
		r := PollResult{Answer: []byte(d.Input)}
		if d.Cmd == "failed" {
			r = PollResult{Failed: d.Input}
		}
		n := len(l.polls)
		if of := arg("poll"); of != "" {
			n, _ = strconv.Atoi(of)
		}
		l.m.Polled(l.polls[n-1], r)
	case "at":
		ms, _ := strconv.Atoi(arg("ms"))
		l.m.Wake(time.Duration(ms) * time.Millisecond)
	case "end":
		var err error
		if d.HasArg("broken") {
			err = fmt.Errorf("reading: %w", web.Broken("connection-reset"))
		} else if d.HasArg("unknown") {
			err = errors.New("secret of the network")
		}
		l.m.End(err)
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return l.due()
}

func (l *lane) start(t *testing.T, arg func(string) string) {
	a := own()
	if text := arg("epoch"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		a.Epoch = uint32(n)
	}
	a.Resume.Watermark = arg("mark")
	if poll := arg("poll"); poll != "" {
		a.Options[OptionPoll] = poll
		a.Headers = []transport.ExtraHeader{{Name: transport.PollCredential, Value: "Bearer MCP-AAA"}}
	}
	if arg("poll") == PollURL {
		a.Options[OptionPollURL] = "http://poll.test/fleet/poll-digest"
	}
	if max := arg("max"); max != "" {
		a.Options[OptionMaxEventBytes] = max
	}
	l.m.Start(a)
}

// due is what the machine owes: its outputs, and a poll.
func (l *lane) due() string {
	out := take(&l.m)
	if p, ok := l.m.PollDue(); ok {
		l.polls = append(l.polls, p)
		out = strings.TrimPrefix(out+fmt.Sprintf("\npoll %d: %s since %d by %v", len(l.polls), p.SubscriptionID, p.Since, p.By), "\n")
	}
	return out
}

// bytesOf is what a server writes for one line of a script.
func bytesOf(t *testing.T, line string) []byte {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "state", "wake", "message":
		return []byte("event: " + word + "\ndata: " + rest + "\n\n")
	case "comment":
		return []byte(":" + rest + "\n\n")
	case "retry":
		return []byte("retry: " + rest + "\n\n")
	case "raw":
		text, err := strconv.Unquote(rest)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return []byte(text)
	}
	t.Fatalf("unknown line %q", line)
	return nil
}
