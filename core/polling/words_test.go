package polling_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
)

// args are the key=value words of a line.
type args map[string]string

func arguments(words []string) args {
	a := args{}
	for _, word := range words {
		if k, v, ok := strings.Cut(word, "="); ok {
			a[k] = v
		} else if slices.Contains([]string{"fail", "merge", "changed"}, word) {
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

// seq is the sequence that a line begins with; - is none.
func (a args) seq(t *testing.T, words []string) event.Seq {
	if words[0] == "-" {
		return event.NoSeq
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		t.Fatal(err)
	}
	return event.Seq(n)
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
		ev.Pos.Seq = a.seq(t, words[1:])
	}
	ev.Pos.DeltaToken = a["token"]
	if a["bytes"] != "" {
		ev.Payload = make([]byte, a.num(t, "bytes"))
	}
	return ev
}

func (a args) down(t *testing.T, words []string) session.Down {
	d := session.Down{Detail: a["detail"]}
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
		d.Kind = session.Flawed
	case "oversized":
		d.Kind = session.Oversized
	case "server-stop":
		d.Kind, d.Ends = session.Stopped, session.ServerStop
	case "refused":
		d.Kind, d.Ends = session.Stopped, session.Refused
	case "protocol-error":
		d.Kind, d.Ends = session.Stopped, session.ProtocolError
	default:
		t.Fatalf("unknown end %q", words[0])
	}
	return d
}
