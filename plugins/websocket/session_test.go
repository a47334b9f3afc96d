package websocket

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/subscription"
)

func connected(resumed bool) []byte {
	return text(fmt.Sprintf(`{"type":"status","status":"connected","streamEpoch":"v1","headSequence":11,"resumed":%v}`, resumed))
}

func snapshot(seq int) []byte {
	return text(fmt.Sprintf(`{"type":"snapshot","sequence":%d,"eventId":"s%d","cursor":"c%d","features":[]}`, seq, seq, seq))
}

// subscribe follows s through the whole session until n connections were made, and is what each asked to resume from.
func subscribe(t *testing.T, n int, second []byte, options map[string]string) (resumed []string, back []string, err error) {
	t.Helper()
	asked, sent := make(chan string, 20), make(chan string, 20)
	var s *script
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		cursor := r.URL.Query().Get("cursor")
		hijack(t, func(c net.Conn, in *bufio.Reader) {
			asked <- cursor
			switch {
			case cursor != "":
				c.Write(append(connected(true), second...))
			case s.requests.Load() == 1:
				c.Write(append(append(connected(false), snapshot(10)...), second...))
			default:
				c.Write(append(append(connected(false), snapshot(12)...), closing(1000)...))
			}
			sent <- nextFrame(in)
		})(w, r)
	})
	sub, err := subscription.Open(t.Context(), New(), func(context.Context, *event.Event) error { return nil },
		subscription.WithContext(checkpoint.Context{SourceID: "incidents", QueryFingerprint: "q", SourceVersion: "v1", SchemaVersion: "s1", AuthorizationScopeFingerprint: "a"}),
		subscription.WithEndpoint(s.URL), subscription.WithTransportOptions(options), subscription.WithJitter(func(int) int { return 0 }),
		subscription.WithPolicy(session.Policy{Base: time.Millisecond, Cap: time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- sub.Wait() }()
	for len(resumed) < n {
		select {
		case cursor := <-asked:
			resumed, back = append(resumed, cursor), append(back, <-sent)
		case err = <-ended:
			return resumed, back, err
		case <-time.After(guard):
			t.Fatalf("only %q", resumed)
		}
	}
	sub.Close()
	return resumed, back, <-ended
}

// P-WS-08: a message above the read limit is met twice at one position, each time with close 1009; the third request asks for a
// snapshot instead of meeting it again.
func TestMessageTooLargeTwice(t *testing.T) {
	resumed, back, err := subscribe(t, 4, text(strings.Repeat("x", 4096)), map[string]string{OptionMaxMessageBytes: "1024"})
	if err != nil || strings.Join(resumed, ",") != ",c10," || strings.Join(back, ",") != "close 1009,close 1009,close 1000" {
		t.Errorf("resumed from %q, we sent %q, %v", resumed, back, err)
	}
}

// D-37: after a violation that we find the held position is resumed from once; the second at the same position is refused.
func TestViolationTwice(t *testing.T) {
	resumed, back, err := subscribe(t, 3, []byte("\x80\x01x"), nil)
	if err == nil || !strings.Contains(err.Error(), "protocol-error") || strings.Join(resumed, ",") != ",c10" || strings.Join(back, ",") != "close 1002,close 1002" {
		t.Errorf("resumed from %q, we sent %q, %v", resumed, back, err)
	}
}
