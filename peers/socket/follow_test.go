package socket

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/memory"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/websocket"
)

const longEnough = 20 * time.Second

// follow takes the feed to its end, or to the end of the subscription, and says what was consumed. The feed has ended when the gate says
// that its last event was accepted: to close when the consumer is given it would be to close while it is being consumed. watch, if not
// nil, is told of every record.
func follow(ctx context.Context, t *testing.T, s *server, options map[string]string, watch func(trace.Record)) (got []string, sub *subscription.Subscription, err error) {
	t.Helper()
	kept, err := memory.New(store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var once sync.Once
	s.consumed = make(chan int, last)
	sub, err = subscription.Open(ctx, websocket.New(), func(_ context.Context, ev *event.Event) error {
		seq := 0
		fmt.Sscanf(ev.ID, "e%d", &seq)
		if !bytes.Equal(ev.Payload, document(seq, s.note)) {
			t.Errorf("event %d is not what was sent: %.200s", seq, ev.Payload)
		}
		s.consumed <- seq
		got = append(got, ev.ID)
		return nil
	},
		subscription.WithEndpoint(s.start().URL),
		subscription.WithQuery(transport.Query{SourceID: "incidents", Mode: "snapshot-then-delta"}),
		subscription.WithContext(checkpoint.Context{SourceID: "incidents", QueryFingerprint: "sha256:q", SourceVersion: epoch, SchemaVersion: "1", AuthorizationScopeFingerprint: "everybody"}),
		subscription.WithStore(kept),
		subscription.WithTransportOptions(options),
		subscription.WithJitter(func(int) int { return 0 }),
		subscription.WithObserver(func(r trace.Record) {
			if r.Actor == trace.Gate && r.Kind == trace.GateState && r.Accepted >= last {
				once.Do(func() { close(done) })
			}
			if watch != nil {
				watch(r)
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- sub.Wait() }()
	select {
	case <-done:
		sub.Close()
		err = <-over
	case err = <-over:
	case <-time.After(longEnough):
		t.Fatalf("stands after %d events: %+v", len(s.sent), sub.Observation())
	}
	return got, sub, err
}

func feed() (ids []string) {
	for seq := 1; seq <= last; seq++ {
		ids = append(ids, fmt.Sprint("e", seq))
	}
	return ids
}

// TestFollows: whatever shape gorilla gives its messages, each event of the feed is consumed once, in order and byte for byte; its
// pings are answered; and behind each end that may be tried again the follower goes on from the cursor that it accepted.
func TestFollows(t *testing.T) {
	for _, row := range []struct {
		name    string
		with    *server
		options string
	}{
		{"plain", &server{}, ""},
		{"large messages", &server{note: 1 << 18}, ""},
		{"fragments", &server{fragments: 16, note: 500}, ""},
		{"large fragments", &server{fragments: 4096, note: 1 << 18}, ""},
		{"binary", &server{binary: true}, "payload=binary"},
		{"deflate", &server{deflate: true, note: 2000}, "compression=deflate"},
		{"deflate in fragments", &server{deflate: true, fragments: 64, note: 1 << 16}, "compression=deflate"},
		{"deflate refused", &server{}, "compression=deflate"},
		{"deflate not offered", &server{deflate: true}, ""},
		{"its pings and ours", &server{ping: make(chan struct{})}, "pingEveryMs=200"},
		{"subprotocol", &server{}, "subprotocol=conform.v0,conform.v1"},
		{"going away", &server{leave: []leaving{{after: 7, code: 1001, text: "canary"}}}, ""},
		{"restart", &server{leave: []leaving{{after: 1, code: 1012}}}, ""},
		{"no code", &server{leave: []leaving{{after: 15}}}, ""},
		{"no close frame", &server{leave: []leaving{{after: 15, code: -1}}}, ""},
		{"a code of its own", &server{leave: []leaving{{after: 9, code: 4001}}}, "closeCodes=4001=reconnect"},
		{"all of it", &server{deflate: true, fragments: 64, note: 2000, leave: []leaving{{after: 9, code: 1001}, {after: 31, code: -1}}}, "compression=deflate subprotocol=conform.v1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, options := row.with, map[string]string{}
			s.t = t
			for _, o := range strings.Fields(row.options) {
				name, value, _ := strings.Cut(o, "=")
				options[name] = value
			}
			got, sub, err := follow(t.Context(), t, s, options, nil)
			if err != nil || !slices.Equal(got, feed()) {
				t.Errorf("%v, consumed %s", err, got)
			}
			if st := sub.State(); st.Gaps != 0 || st.Duplicates != 0 || st.Accepted != last {
				t.Errorf("%+v", st)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			asked := []string{""}
			for _, l := range s.leave {
				asked = append(asked, fmt.Sprint("c-", l.after))
			}
			if !slices.Equal(s.asked, asked) {
				t.Errorf("asked from %q, want %q", s.asked, asked)
			}
			if !slices.Equal(s.sent, feed()) {
				t.Errorf("the server sent something twice: %s", s.sent)
			}
			if s.pongs != last/10 {
				t.Errorf("%d pongs", s.pongs)
			}
			if squeezed := s.bytes.Load() < s.plain; squeezed != (s.deflate && options["compression"] != "") {
				t.Errorf("%d bytes of documents are %d on the network", s.plain, s.bytes.Load())
			}
			want := ""
			if options["subprotocol"] != "" {
				want = "conform.v1"
			}
			for i := range s.protocol {
				if s.protocol[i] != want || s.deflated[i] != (options["compression"] != "") {
					t.Errorf("connection %d: subprotocol %q, deflate offered %t", i, s.protocol[i], s.deflated[i])
				}
			}
		})
	}
}

// TestRefused: an end that must not be tried again ends the subscription behind what was delivered, and the server's words are not repeated.
func TestRefused(t *testing.T) {
	for _, row := range []struct {
		name string
		code int
		with map[string]string
		says string
	}{
		{"protocol error", 1002, nil, "1002"},
		{"policy", 1008, nil, "1008"},
		{"a code of its own", 4403, nil, "4403"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &server{t: t, leave: []leaving{{after: 5, code: row.code, text: "canary"}}}
			got, _, err := follow(t.Context(), t, s, row.with, nil)
			if err == nil || !strings.Contains(err.Error(), row.says) || strings.Contains(err.Error(), "canary") {
				t.Errorf("ended with %v", err)
			}
			if !slices.Equal(got, feed()[:5]) || len(s.asked) != 1 {
				t.Errorf("consumed %s over %d connections", got, len(s.asked))
			}
		})
	}
}

// TestTryAgainLater: behind 1013 the follower stays away for at least 5 s.
func TestTryAgainLater(t *testing.T) {
	s := &server{t: t, leave: []leaving{{after: 15, code: 1013}}}
	wait := make(chan int64, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case ms := <-wait:
			if ms < 5000 {
				t.Errorf("comes back after %d ms", ms)
			}
		case <-time.After(longEnough):
			t.Error("does not say when it comes back")
		}
		cancel()
	}()
	got, sub, err := follow(ctx, t, s, nil, func(r trace.Record) {
		if r.Kind == trace.SessionWait {
			select {
			case wait <- r.Ms:
			default:
			}
		}
	})
	if err != nil || !slices.Equal(got, feed()[:15]) {
		t.Errorf("%v, consumed %s", err, got)
	}
	if held, _ := sub.Held(); held.Pos.Cursor != "c-15" {
		t.Errorf("holds %+v", held)
	}
}

// TestTooLarge: a message above the limit is closed with 1009, as gorilla sees it. Every snapshot is too large here, so the subscription
// ends instead of asking for ever, and holds nothing.
func TestTooLarge(t *testing.T) {
	s := &server{t: t, note: 5000}
	_, sub, err := follow(t.Context(), t, s, map[string]string{"maxMessageBytes": "2000"}, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || !strings.Contains(err.Error(), "message-too-large") || len(s.closed) == 0 || slices.ContainsFunc(s.closed, func(code int) bool { return code != 1009 }) {
		t.Errorf("%v, closed with %d", err, s.closed)
	}
	if held, ok := sub.Held(); ok || len(s.asked) > 3 {
		t.Errorf("holds %+v, asked %d times", held, len(s.asked))
	}
}
