package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// dialWS opens the WebSocket stream with an independent client.
func (s *site) dialWS(query string, opt *websocket.DialOptions) *websocket.Conn {
	s.t.Helper()
	if opt == nil {
		opt = &websocket.DialOptions{}
	}
	opt.HTTPClient = s.client
	c, _, err := websocket.Dial(s.ctx, s.WebSocketURL()+"?sourceId=incidents"+query, opt)
	s.must(err)
	c.SetReadLimit(32 << 20)
	s.t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// read reads n text messages.
func (s *site) read(c *websocket.Conn, n int) []string {
	s.t.Helper()
	var out []string
	for range n {
		kind, b, err := c.Read(s.ctx)
		if err != nil || kind != websocket.MessageText {
			s.t.Fatalf("after %q: kind %v, %v", out, kind, err)
		}
		out = append(out, string(b))
	}
	return out
}

// heard are the records of what the client of request n said.
func (s *site) heard(n uint32) (out []string) {
	for _, r := range s.trace() {
		if r.Kind == trace.ServerReceived && r.Epoch == n {
			out = append(out, strings.TrimSpace(r.Status+" "+r.Detail))
		}
	}
	return out
}

// TestWebSocketFollow: an independent client follows, pings, is closed by nobody but itself, and its rows are the feed's; plain,
// over TLS, and with either way of compressing.
func TestWebSocketFollow(t *testing.T) {
	for _, c := range []struct {
		name    string
		opt     Options
		compact websocket.CompressionMode
	}{
		{"plain", Options{}, websocket.CompressionDisabled},
		{"tls", Options{TLS: true}, websocket.CompressionDisabled},
		{"each", Options{Simulator: simulator.Options{Deflate: "each"}}, websocket.CompressionNoContextTakeover},
		{"takeover", Options{Simulator: simulator.Options{Deflate: "takeover"}}, websocket.CompressionContextTakeover},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openWith(t, c.opt)
			if want := map[bool]string{true: "wss://", false: "ws://"}[c.opt.TLS]; !strings.HasPrefix(s.WebSocketURL(), want) {
				t.Errorf("URL %s", s.WebSocketURL())
			}
			ws := s.dialWS("&mode=snapshot-then-delta", &websocket.DialOptions{CompressionMode: c.compact})
			s.must(s.Publish(simulator.AutoMixed, 50))
			rows := simulator.NewRows("incidents")
			for _, m := range s.read(ws, 52)[1:] {
				s.must(rows.Apply([]byte(m)))
			}
			if got := s.State(); got.Head != 50 || rows.Digest() != got.Digest || got.Connections[0].Wire != simulator.WebSocket {
				t.Errorf("rows %s, state %+v", rows.Digest(), got)
			}
			ponged := make(chan error, 1)
			go func() { ponged <- ws.Ping(s.ctx) }()
			ctx, stop := context.WithCancel(s.ctx)
			go func() { s.must(<-ponged); stop() }()
			if _, _, err := ws.Read(ctx); !errors.Is(err, context.Canceled) { // reads the pong, and nothing else came
				t.Errorf("read %v", err)
			}
			again := s.dialWS("&cursor=w-7-48", &websocket.DialOptions{CompressionMode: c.compact})
			if got := s.read(again, 3); !strings.Contains(got[0], `"resumed":true`) || !strings.Contains(got[2], `"sequence":50,`) {
				t.Errorf("resumed: %q", got)
			}
			s.must(again.Close(websocket.StatusNormalClosure, "enough"))
			s.wait("all to be gone", func(st simulator.State) bool { return len(st.Connections) == 0 })
			if got := strings.Join(s.heard(2), ", "); got != "close 1000" {
				t.Errorf("heard %s", got)
			}
		})
	}
}

// TestWebSocketCloses: the client sees the code and the reason that were planned, or none, and frames that it cannot take.
func TestWebSocketCloses(t *testing.T) {
	for _, c := range []struct {
		fault simulator.Fault
		code  websocket.StatusCode // -1: no close frame
		text  string               // of the error
		heard string
	}{
		{simulator.Fault{Name: "close", With: map[string]string{"code": "1013", "reason": "busy"}}, 1013, "busy", "close 1013"},
		{simulator.Fault{Name: "close", With: map[string]string{"code": "0"}}, 1005, "", "close 1005"},
		{simulator.Fault{Name: "close", With: map[string]string{"code": "4001"}}, 4001, "", "close 4001"},
		{simulator.Fault{Name: "close", With: map[string]string{"wasClean": "false"}}, -1, "EOF", ""},
		{simulator.Fault{Name: "cut", With: map[string]string{"as": "reset"}}, -1, syscall.ECONNRESET.Error(), ""},
		{simulator.Fault{Name: "reserved-bit"}, -1, "rsv", "close 1002"},
		{simulator.Fault{Name: "bad-opcode"}, -1, "unknown opcode", "close 1002"},
		{simulator.Fault{Name: "big-ping"}, -1, "invalid length: 126", "close 1002"},
		{simulator.Fault{Name: "stray-continuation"}, -1, "continuation", "close 1002"},
		{simulator.Fault{Name: "torn-message"}, -1, "without finishing", "close 1002"},
	} {
		t.Run(c.fault.Name+" "+c.fault.With["code"], func(t *testing.T) {
			s := open(t, simulator.Options{})
			c.fault.At.Sequence = 1
			s.must(s.Add(c.fault))
			ws := s.dialWS("", nil)
			s.read(ws, 2)
			s.must(s.Publish(simulator.AutoUpsert, 1))
			var err error
			for err == nil {
				_, _, err = ws.Read(s.ctx)
			}
			if got := websocket.CloseStatus(err); got != c.code || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.text)) {
				t.Errorf("code %d, %v", got, err)
			}
			_ = ws.CloseNow()
			s.wait("the end", func(st simulator.State) bool { return len(st.Connections) == 0 })
			if got := strings.Join(s.heard(1), ", "); got != c.heard {
				t.Errorf("heard %q, want %q", got, c.heard)
			}
		})
	}
}

// TestWebSocketRefusals: status, handshake and origin.
func TestWebSocketRefusals(t *testing.T) {
	s := openWith(t, Options{CORS: []string{"http://localhost:5173", "https://app.example"}, Simulator: simulator.Options{Subprotocols: []string{"conform.v1"},
		Rows: 20}}) // a client that refuses an answer wants to read a kilobyte of it first
	ws := s.dialWS("", &websocket.DialOptions{Subprotocols: []string{"other", "conform.v1"}})
	if ws.Subprotocol() != "conform.v1" {
		t.Errorf("subprotocol %q", ws.Subprotocol())
	}
	for _, c := range []struct {
		origin string
		want   int
	}{
		{"", 101}, {"http://127.0.0.1:3000", 101}, {"http://localhost", 101}, {"https://app.example", 101},
		{"https://evil.example", 403}, {"null", 403}, {"http://127.0.0.1.evil.example", 403},
	} {
		h := http.Header{}
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		ws, res, err := websocket.Dial(s.ctx, s.WebSocketURL(), &websocket.DialOptions{HTTPClient: s.client, HTTPHeader: h})
		if res == nil || res.StatusCode != c.want || (err == nil) != (c.want == 101) {
			t.Errorf("origin %q: %v, %v", c.origin, res, err)
		}
		if ws != nil {
			_ = ws.CloseNow()
		}
	}
	for _, f := range []simulator.Fault{{Name: "wrong-accept"}, {Name: "wrong-subprotocol"}, {Name: "wrong-extension"}, {Name: "wrong-upgrade"}, {Name: "status"}, {Name: "media-type"}} {
		if f.Name == "media-type" {
			f.At.Wire = simulator.WebSocket
			if err := s.Add(f); err == nil {
				t.Error("a fault that the wire does not know was taken")
			}
			continue
		}
		s.must(s.Add(f))
		if ws, _, err := websocket.Dial(s.ctx, s.WebSocketURL(), &websocket.DialOptions{HTTPClient: s.client}); err == nil {
			t.Errorf("%s: connected", f.Name)
			_ = ws.CloseNow()
		}
	}
	all := openWith(t, Options{CORS: []string{"*"}})
	h := http.Header{"Origin": {"https://anywhere.example"}}
	if c, _, err := websocket.Dial(all.ctx, all.WebSocketURL(), &websocket.DialOptions{HTTPClient: all.client, HTTPHeader: h}); err != nil {
		t.Error(err)
	} else {
		_ = c.CloseNow()
	}
}

// TestWebSocketViolation: a client that breaks a rule while it sends much gets the close frame all the same, and no reset in its
// place.
func TestWebSocketViolation(t *testing.T) {
	for range 20 {
		s := open(t, simulator.Options{})
		c := s.dialed()
		fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", s.Addr())
		in := bufio.NewReader(c)
		for line := ""; line != "\r\n"; {
			var err error
			line, err = in.ReadString('\n')
			s.must(err)
		}
		_, err := c.Write(append([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4}, make([]byte, 200_000)...))
		s.must(err)
		all, err := io.ReadAll(in)
		if err != nil || !strings.Contains(string(all), "\x03\xf1frame larger than 65536 bytes") {
			t.Fatalf("%v, %q", err, all)
		}
		s.wait("the end", func(st simulator.State) bool { return len(st.Connections) == 0 })
	}
}

// TestWebSocketEarly: a client that does not wait for the answer to its upgrade is heard all the same.
func TestWebSocketEarly(t *testing.T) {
	s := open(t, simulator.Options{})
	c := s.dialed()
	fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x88\x82\x00\x00\x00\x00\x03\xe8", s.Addr())
	all, err := io.ReadAll(c)
	if err != nil || !strings.HasSuffix(string(all), "\x88\x02\x03\xe8") || strings.Contains(string(all), "chunked") {
		t.Errorf("%v, %q", err, all)
	}
	s.wait("the record", func(simulator.State) bool { return true })
	if got := s.heard(1); len(got) != 1 || got[0] != "close 1000" {
		t.Errorf("heard %v", got)
	}
}

// TestWebSocketTwice: the same schedule gives the same canonical trace over real sockets (D-65).
func TestWebSocketTwice(t *testing.T) {
	run := func() string {
		s := open(t, simulator.Options{Head: 5, Retention: 4})
		for _, f := range []simulator.Fault{
			{Name: "gap", At: simulator.At{Sequence: 7}},
			{Name: "fragment", At: simulator.At{Sequence: 8}},
			{Name: "close", At: simulator.At{Sequence: 9}},
			{Name: "cut", At: simulator.At{Connection: 2, Byte: 200}, With: map[string]string{"as": "reset"}},
			{Name: "status", At: simulator.At{Connection: 3}},
		} {
			s.must(s.Add(f))
		}
		for i, cursor := range []string{"", "&cursor=w-7-8", "&cursor=w-7-8", "&cursor=w-7-5"} {
			ws, _, err := websocket.Dial(s.ctx, s.WebSocketURL()+"?sourceId=incidents"+cursor, &websocket.DialOptions{HTTPClient: s.client})
			if i == 0 {
				s.must(s.Publish(simulator.AutoMixed, 6))
			}
			for err == nil {
				_, _, err = ws.Read(s.ctx)
			}
			if ws != nil {
				_ = ws.CloseNow()
			}
		}
		s.wait("all ends", func(st simulator.State) bool { return len(st.Connections) == 0 })
		hash, err := trace.Hash(trace.Canonical(s.trace(), trace.Process))
		s.must(err)
		return hash
	}
	want := run()
	for range 10 {
		if got := run(); got != want {
			t.Fatal("another canonical trace")
		}
	}
}

// TestEveryWire: a change made once is seen on each stream.
func TestEveryWire(t *testing.T) {
	s := open(t, simulator.Options{Rows: 1})
	sse := bufio.NewReader(s.get("").Body)
	ws := s.dialWS("", nil)
	blocks(t, sse, 2)
	s.read(ws, 2)
	s.must(s.Publish(simulator.AutoUpsert, 1))
	document := string(data(blocks(t, sse, 1)[0]))
	if got := strings.Replace(s.read(ws, 1)[0], `"cursor":"w-7-1",`, "", 1); got != document || !strings.Contains(got, `"sequence":1,`) {
		t.Errorf("%s\nand\n%s", got, document)
	}
	want := map[string]string{"sse": "http://" + s.Addr() + "/stream", "websocket": "ws://" + s.Addr() + "/ws", "odata": "http://" + s.Addr() + "/odata/incidents"}
	for wire, url := range s.URLs() {
		if url != want[wire] || !strings.Contains(s.Follow()[wire], url) {
			t.Errorf("%s: %s, %s", wire, url, s.Follow()[wire])
		}
	}
}

// TestLinger: a client that closed its WebSocket and keeps its connection all the same is kept for lingerTimeout, and no longer; the
// end of the server does not wait for that.
func TestLinger(t *testing.T) {
	upgraded := func(s *site) net.Conn {
		c := s.dialed()
		fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x88\x80\x00\x00\x00\x00", s.Addr())
		if all, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(all), "\x88\x00") {
			t.Fatalf("%v, %q", err, all)
		}
		return c
	}
	kept := func(s *site) int {
		s.Server.mu.Lock()
		defer s.Server.mu.Unlock()
		return len(s.conns)
	}
	s := open(t, simulator.Options{})
	start := time.Now()
	upgraded(s)
	for kept(s) > 0 {
		if time.Since(start) > lingerTimeout+longEnough {
			t.Fatal("it is kept for ever")
		}
		time.Sleep(time.Millisecond) // nobody announces it
	}
	if took := time.Since(start); took < lingerTimeout {
		t.Errorf("it was kept for %v", took)
	}
	closed := open(t, simulator.Options{})
	upgraded(closed)
	start = time.Now()
	closed.must(closed.Close())
	if took := time.Since(start); took > lingerTimeout/2 {
		t.Errorf("the end took %v", took)
	}
}
