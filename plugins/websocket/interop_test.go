package websocket

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	coder "github.com/coder/websocket"
)

// coder/websocket as the server: what it sends arrives, its pings are answered, ours are, and both closes are clean.
func TestInteroperates(t *testing.T) {
	big := `{"type":"delta","note":"` + strings.Repeat("é€😀", 40_000) + `"}`
	for _, c := range []struct {
		name    string
		mode    coder.CompressionMode
		options []string
	}{
		{"plain", coder.CompressionDisabled, nil},
		{"deflate offered, refused", coder.CompressionDisabled, []string{"compression", "deflate"}},
		{"deflate with context takeover", coder.CompressionContextTakeover, []string{"compression", "deflate"}},
		{"deflate without", coder.CompressionNoContextTakeover, []string{"compression", "deflate"}},
		{"deflate not offered", coder.CompressionContextTakeover, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			closed := make(chan coder.StatusCode, 1)
			var want strings.Builder
			want.WriteString("open\n")
			s := serve(t, accept(t, &coder.AcceptOptions{CompressionMode: c.mode, CompressionThreshold: 1, Subprotocols: []string{"conform.v1"}}, func(ctx context.Context, conn *coder.Conn) {
				if conn.Subprotocol() != "conform.v1" {
					t.Errorf("subprotocol %q", conn.Subprotocol())
				}
				kind, hello, err := conn.Read(ctx)
				if err != nil || kind != coder.MessageText || string(hello) != `{"op":"subscribe"}` {
					t.Errorf("subscribed with %v %q, %v", kind, hello, err)
				}
				ctx = conn.CloseRead(ctx) // answers pings and sees closes
				for i := range 50 {
					conn.Write(ctx, coder.MessageText, fmt.Appendf(nil, `{"type":"delta","sequence":%d,"note":"the same words again and again"}`, i))
				}
				conn.Write(ctx, coder.MessageText, []byte(big))
				w, _ := conn.Writer(ctx, coder.MessageText) // fragmented
				for _, part := range strings.SplitAfter(big, "😀") {
					io.WriteString(w, part)
				}
				w.Close()
				if err := conn.Ping(ctx); err != nil {
					t.Errorf("our pong: %v", err)
				}
				err = conn.Close(coder.StatusServiceRestart, "canary")
				closed <- coder.CloseStatus(err)
				if err != nil {
					t.Errorf("close: %v", err)
				}
			}))
			for i := range 50 {
				fmt.Fprintf(&want, `document {"type":"delta","sequence":%d,"note":"the same words again and again"}`+"\n", i)
			}
			want.WriteString("document " + big + "\ndocument " + big + "\nended connection-lost (closed with 1012) retry-after=")
			var to log
			if err := open(t, attemptAt(s.URL, append(c.options, "subprotocol", "conform.v0,conform.v1", "subscribe", `{"op":"subscribe"}`)...), &to); err != nil {
				t.Fatal(err)
			}
			if got := to.String(); !strings.HasPrefix(got, want.String()) {
				t.Errorf("got %d bytes: %.300s ... %.200s", len(got), got, got[max(0, len(got)-200):])
			}
			<-closed
		})
	}
}

// Their ping loop and ours on one connection, and a leave that the peer takes for a clean close.
func TestPingsAndLeaveAgainstPeer(t *testing.T) {
	status := make(chan coder.StatusCode, 1)
	s := serve(t, accept(t, nil, func(ctx context.Context, conn *coder.Conn) {
		reading := conn.CloseRead(ctx)
		for range 20 {
			if err := conn.Ping(ctx); err != nil {
				t.Errorf("ping: %v", err)
			}
		}
		conn.Write(ctx, coder.MessageText, []byte(delta))
		<-reading.Done()
		_, _, err := conn.Read(ctx)
		status <- coder.CloseStatus(err)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	to := log{hook: func(line string) error {
		if strings.HasPrefix(line, "document") {
			cancel()
		}
		return nil
	}}
	if err := New().Open(ctx, attemptAt(s.URL, "pingEveryMs", "1"), &to); err != context.Canceled {
		t.Errorf("%v, %s", err, &to)
	}
	<-status
}

// A message of ours that the peer cannot take is our business no more than its own: it closes with 1009, which is a hole.
func TestPeerClosesWith1009(t *testing.T) {
	s := serve(t, accept(t, nil, func(ctx context.Context, conn *coder.Conn) {
		conn.SetReadLimit(8)
		conn.Read(ctx)
	}))
	var to log
	if err := open(t, attemptAt(s.URL, "subscribe", `{"op":"subscribe"}`), &to); err != nil || to.last.Detail != "message-too-large: the server closed with 1009" {
		t.Errorf("%v, %s", err, &to)
	}
}
