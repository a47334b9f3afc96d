package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestSimulateWires: one feed on every wire that is shown, and a change that is made once comes on each.
func TestSimulateWires(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	defer cancel()
	serving, stop := context.WithCancel(ctx)
	defer stop()
	r, w := io.Pipe()
	root := newRoot()
	root.SetArgs([]string{"simulate", "--addr", "127.0.0.1:0", "--rows", "1", "--subprotocol", "conform.v1", "--deflate", "each"})
	root.SetOut(w)
	done := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(serving)
		w.CloseWithError(err)
		done <- err
	}()
	shown := map[string]string{} // address by what it is of
	lines := bufio.NewScanner(r)
	for lines.Scan() && lines.Text() != "publish a change:" {
		if name, address, ok := strings.Cut(lines.Text(), " "); ok && name != "" {
			shown[name] = strings.TrimSpace(address)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, shown["sse"], nil)
	if err != nil {
		t.Fatalf("%v: %v", shown, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events := bufio.NewScanner(res.Body)
	ws, answer, err := websocket.Dial(ctx, shown["websocket"], &websocket.DialOptions{Subprotocols: []string{"conform.v1"}, CompressionMode: websocket.CompressionNoContextTakeover})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if ws.Subprotocol() != "conform.v1" || !strings.HasPrefix(answer.Header.Get("Sec-Websocket-Extensions"), "permessage-deflate") {
		t.Errorf("agreed on %q, %q", ws.Subprotocol(), answer.Header)
	}
	_, link, _ := strings.Cut(get(ctx, t, shown["odata"]), "?$deltatoken=")
	first, _, _ := strings.Cut(link, `"`) // the token of where the collection stands before the change
	if first == "" {
		t.Fatal("a snapshot over OData has no delta link")
	}
	post, err := http.Post(shown["control"]+"/publish", "application/json", strings.NewReader(`{"changes":[{"type":"upsert","eventId":"seen-everywhere","id":"9","feature":{}}]}`))
	if err != nil || post.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", post, err)
	}
	_ = post.Body.Close()
	const mark = `"eventId":"seen-everywhere"`
	for seen := false; !seen; seen = strings.Contains(events.Text(), mark) {
		if !events.Scan() {
			t.Fatal("the change did not come over SSE")
		}
	}
	for text := []byte(nil); !strings.Contains(string(text), mark); {
		if _, text, err = ws.Read(ctx); err != nil {
			t.Fatalf("the change did not come over WebSocket: %v", err)
		}
	}
	if page := get(ctx, t, shown["odata"]+"?$deltatoken="+first); !strings.Contains(page, `"@conform.eventId":"seen-everywhere"`) {
		t.Errorf("the change did not come over OData: %s", page)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// get reads a page of a collection whose changes are tracked.
func get(ctx context.Context, t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Prefer", "odata.track-changes")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v: %s", res.Status, err, body)
	}
	return string(body)
}
