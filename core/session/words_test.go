package session_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
)

// args are the key=value words of a line.
type args map[string]string

func arguments(t *testing.T, words []string) args {
	a := args{}
	for _, word := range words {
		if k, v, ok := strings.Cut(word, "="); ok {
			a[k] = v
		} else if slices.Contains([]string{"fail", "merge", "closing", "armed"}, word) {
			a[word] = "yes"
		}
	}
	return a
}

func (a args) num(t *testing.T, key string) int {
	n, err := strconv.Atoi(a[key])
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return n
}

func (a args) ms(t *testing.T, key string) time.Duration {
	if a[key] == "" {
		return 0
	}
	return time.Duration(a.num(t, key)) * time.Millisecond
}

// event reads `data <kind> [seq] ...`; kind may be malformed or hole.
func (a args) event(t *testing.T, words []string) *event.Event {
	ev := &event.Event{Pos: event.NoPosition, ID: a["id"], Merge: a["merge"] != ""}
	switch words[0] {
	case "malformed":
		ev.Fault = event.InvalidEvent
	case "hole":
		ev.Fault, ev.Hole, ev.Detail = event.InvalidEvent, true, "document: not JSON"
	default:
		ev.Kind = event.ParseKind(words[0])
	}
	if len(words) > 1 && !strings.Contains(words[1], "=") {
		n, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatal(err)
		}
		ev.Pos.Seq = event.Seq(n)
	}
	ev.Pos.Cursor = a["cursor"]
	if a["bytes"] != "" {
		ev.Payload = make([]byte, a.num(t, "bytes"))
	}
	return ev
}

func (a args) down(t *testing.T, words []string) session.Down {
	d := session.Down{RetryAfter: a.ms(t, "after"), Detail: a["detail"]}
	if a["status"] != "" {
		d.Status = a.num(t, "status")
	}
	switch words[0] {
	case "lost":
	case "crashed":
		d.Kind = session.Crashed
	case "denied":
		d.Kind, d.Status = session.Denied, 401
	case "expired":
		d.Kind = session.Expired
	case "gap":
		d.Kind = session.Gapped
		d.Reason, _ = event.ParseReason(a["reason"])
	case "hole":
		d.Kind, d.Reason, d.Hole = session.Gapped, event.TransportGap, true
	case "flawed":
		d.Kind, d.Detail = session.Flawed, session.ProtocolViolation+": masked"
	case "oversized":
		d.Kind, d.Reason, d.Detail = session.Oversized, event.TransportGap, session.MessageTooLarge
	case "server-stop":
		d.Kind, d.Ends = session.Stopped, session.ServerStop
	case "refused":
		d.Kind, d.Ends = session.Stopped, session.Refused
	case "bad-media-type":
		d.Kind, d.Ends = session.Stopped, session.BadMediaType
	default:
		t.Fatalf("unknown end %q", words[0])
	}
	return d
}
