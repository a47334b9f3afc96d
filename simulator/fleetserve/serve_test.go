package fleetserve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
)

const hello = "retry: 5000\n\nevent: state\ndata: {\"armed\":true,\"reason\":\"armed\",\"lastPushAt\":null,\"connectedIdentities\":0,\"armedForViewer\":true,\"subscriptionId\":\"WAKE_SUB:relay\"}\n\n"

// TestStream is P16 over a socket: status, exact headers, exact bytes; then a wake, and one comment by the timer.
func TestStream(t *testing.T) {
	o := table()
	o.Heartbeat = 50 * time.Millisecond
	s := open(t, o)
	_, res := s.stream("OWN-CCC")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-cache, no-transform" ||
		res.Header.Get("Connection") != "keep-alive" || res.Header.Get("X-Accel-Buffering") != "no" || strings.Join(res.TransferEncoding, "") != "chunked" {
		t.Errorf("%d %v %v", res.StatusCode, res.Header, res.TransferEncoding)
	}
	if got := s.until(res.Body, "}\n\n"); got != hello {
		t.Errorf("%q", got)
	}
	s.until(res.Body, ":hb\n\n")
	p, err := s.Publish("@viewer", fleet.Event{Source: "MESSAGE:1"})
	s.must(err)
	got := s.until(res.Body, "}}\n\n")
	if !strings.Contains(got, `event: wake`+"\n"+`data: {"subscriptionId":"WAKE_SUB:relay","envelope":{"schemaVersion":"1.0",`) || p.Deliveries[0].Status != 200 {
		t.Errorf("%q %+v", got, p)
	}
}

// TestUnauthenticated is P17, and P19's last line: the plane's bearer is none here.
func TestUnauthenticated(t *testing.T) {
	s := open(t, table())
	for _, c := range []struct{ header, value, want string }{
		{"X-Nothing", "", `401 {"error":"invalid_token","error_description":"Missing Authorization header"}`},
		{"Authorization", "Bearer MCP-AAA", `401 {"error":"invalid_token","error_description":"Token is not admitted on this surface"}`},
	} {
		got, h := s.ask("GET", fleet.EventsPath, "", c.header, c.value)
		if got != c.want || h.Get("Content-Type") != "application/json; charset=utf-8" || !strings.HasPrefix(h.Get("WWW-Authenticate"), `Bearer error="invalid_token", error_description="`) {
			t.Errorf("%s %v", got, h)
		}
	}
}

// TestHostOverSocket: a request without a host, which only HTTP/1.0 can make, and one for another name.
func TestHostOverSocket(t *testing.T) {
	s := open(t, table())
	l := s.dial("GET /fleet/events HTTP/1.0\r\nAuthorization: Bearer OWN-CCC\r\n\r\n")
	text, err := io.ReadAll(l.Reader)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.0 403 ") || !strings.HasSuffix(string(text), `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Missing Host header"},"id":null}`) {
		t.Errorf("%v %s", err, text)
	}
	if got, _ := s.ask("GET", fleet.EventsPath, "", "Host", "evil.test"); got != `403 {"jsonrpc":"2.0","error":{"code":-32000,"message":"Invalid Host: evil.test"},"id":null}` {
		t.Error(got)
	}
}

// signed posts a wake that the plane's sender made.
func (s *site) post(key string, change func(http.Header)) string {
	s.t.Helper()
	sender, err := fleet.NewSender(fleet.SenderOptions{Subscription: "WAKE_SUB:relay", Identity: "@viewer", Key: key, Coalesce: -1})
	s.must(err)
	sender.Queue(fleet.Now{}, []fleet.Event{{Kind: fleet.Message, Source: "MESSAGE:1"}})
	p, _ := sender.Take()
	h := http.Header(p.Header)
	if change != nil {
		change(h)
	}
	var lines []string
	for name := range h {
		lines = append(lines, name, h.Get(name))
	}
	got, _ := s.ask("POST", fleet.WakePath, string(p.Body), lines...)
	return got
}

// TestIntakeOverSocket is P14 and P15: a signed wake is accepted and arrives; the words; and a body beyond the bound is never answered.
func TestIntakeOverSocket(t *testing.T) {
	s := open(t, table())
	key := s.rotate()
	if got := s.post(key, nil); got != `401 {"error":"invalid-signature"}` { // rotated behind the route's back
		t.Error(got)
	}
	key = s.armedKey()
	_, res := s.stream("OWN-CCC")
	s.until(res.Body, "}\n\n")
	if got := s.post(key, nil); got != `200 {"ok":true,"state":"accepted"}` {
		t.Error(got)
	}
	if got := s.until(res.Body, "}}\n\n"); !strings.HasPrefix(got, "event: wake\n") {
		t.Error(got)
	}
	if got := s.post(key, func(h http.Header) { h.Set("X-Neo-Wake-Subscription-Id", "WAKE_SUB:nobody") }); got != `404 {"error":"unknown-subscription"}` {
		t.Error(got)
	}
	if got, _ := s.ask("POST", fleet.WakePath, strings.Repeat("x", fleet.DefaultWakeBody+1), "X-Neo-Wake-Subscription-Id", "WAKE_SUB:relay"); got != "no answer" {
		t.Error(got)
	}
	l := s.dial("POST /wake HTTP/1.1\r\nHost: x\r\nX-Neo-Wake-Subscription-Id: WAKE_SUB:relay\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
	if bad, err := http.ReadResponse(l.Reader, nil); err != nil || bad.StatusCode != 400 {
		t.Errorf("broken body: %v %v", bad, err)
	}
}

// TestHeadOverSocket: HEAD takes a place and gets no byte, until its stream ends.
func TestHeadOverSocket(t *testing.T) {
	s := open(t, table())
	l := s.dial("HEAD /fleet/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer OWN-CCC\r\n\r\n")
	s.wait(func(st fleet.State) bool { return st.Streams == 1 })
	s.must(l.SetReadDeadline(time.Now().Add(100 * time.Millisecond)))
	if b, err := l.Peek(1); err == nil {
		t.Errorf("a byte came: %q", b)
	}
	s.must(l.Conn.Close())
	s.wait(func(st fleet.State) bool { return st.Streams == 0 })
}

// TestEndings: how a client sees the three endings, and that its own end frees the place.
func TestEndings(t *testing.T) {
	s := open(t, table())
	for _, how := range []simulator.CloseKind{simulator.EOF, simulator.Cut, simulator.Reset} {
		_, res := s.stream("OWN-CCC")
		s.until(res.Body, "}\n\n")
		s.must(s.Do(func(m *fleet.Server, now fleet.Now) error { _, err := m.Cut(now, "@viewer", how); return err }))
		_, err := io.ReadAll(res.Body)
		ok := err == nil
		switch how {
		case simulator.Cut:
			ok = errors.Is(err, io.ErrUnexpectedEOF)
		case simulator.Reset:
			ok = errors.Is(err, syscall.ECONNRESET)
		}
		if !ok {
			t.Errorf("%s: %v", how, err)
		}
	}
	l, res := s.stream("OWN-CCC")
	s.until(res.Body, "}\n\n")
	s.must(l.Conn.Close())
	s.wait(func(st fleet.State) bool { return st.Streams == 0 })
}

// TestSlowReader: who does not read is destroyed when the bound is reached, with the server's memory bounded, and others are served.
func TestSlowReader(t *testing.T) {
	s := open(t, table())
	_, slow := s.stream("OWN-CCC")
	s.wait(func(st fleet.State) bool { return st.Streams == 1 })
	frame := []byte(":" + strings.Repeat("x", 64<<10) + "\n\n")
	for i := 0; s.State().Streams == 1; i++ {
		if i > 1000 {
			t.Fatal("64 MiB and no end")
		}
		s.must(s.Do(func(m *fleet.Server, now fleet.Now) error { return m.Raw(now, "", frame) }))
		if q := s.State().Queued; q > fleet.DefaultBuffer+len(frame) {
			t.Fatalf("%d bytes are held", q)
		}
	}
	if _, err := io.Copy(io.Discard, slow.Body); err == nil {
		t.Error("it ended properly")
	}
	_, res := s.stream("OWN-CCC")
	s.until(res.Body, "}\n\n")
}

// TestLifecycle: restart, dispose, revoke and silence over sockets.
func TestLifecycle(t *testing.T) {
	o := table()
	o.Heartbeat = 20 * time.Millisecond
	s := open(t, o)
	_, a := s.stream("OWN-CCC")
	s.until(a.Body, "}\n\n")
	s.must(s.Do(func(m *fleet.Server, now fleet.Now) error { return m.Restart(now, simulator.EOF) }))
	if _, err := io.ReadAll(a.Body); err != nil {
		t.Error(err)
	}
	_, b := s.stream("OWN-CCC")
	s.until(b.Body, "}\n\n:hb\n\n")
	s.must(s.Do(func(m *fleet.Server, now fleet.Now) error {
		m.Silence(now, "", true)
		return m.Revoke(now, 0, fleet.ClassAdmission)
	}))
	if got, _ := s.ask("GET", fleet.EventsPath, "", "Authorization", "Bearer OWN-CCC"); !strings.HasPrefix(got, "401 ") {
		t.Error(got)
	}
	s.must(s.Do(func(m *fleet.Server, now fleet.Now) error { m.Dispose(now); return nil }))
	if _, err := io.ReadAll(b.Body); err != nil {
		t.Error(err)
	}
	if got, _ := s.ask("GET", fleet.EventsPath, "", "Authorization", "Bearer OTHER-CCC"); !strings.HasSuffix(got, `"error":"fleet: stream registry disposed"}`) {
		t.Error(got)
	}
}

// TestContext: the end of the context ends everything (the clean-up looks for what is left).
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Options{Fleet: table()})
	if err != nil {
		t.Fatal(err)
	}
	res, err := get(t, s.URL(), "OWN-CCC")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	cancel()
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the stream ended properly")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Do(func(*fleet.Server, fleet.Now) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := s.WaitFor(t.Context(), func(fleet.State) bool { return true }); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func get(t *testing.T, url, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultClient.Do(req)
}

// TestStartRefuses: settings that are wrong, and none of them shows a secret.
func TestStartRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"is not host:port":                        {Addr: "x"},
		"is no loopback address; name the hosts":  {Addr: "0.0.0.0:0"},
		"header timeout: 1m0.000000001s is not":   {HeaderTimeout: CeilingTimeout + 1},
		"body timeout: -1ns is not":               {BodyTimeout: -1},
		"attempts: -1 is not in":                  {Fleet: fleet.Options{Attempts: -1}},
		"viewers[0].plane[0] holds the same":      {Fleet: fleet.Options{Viewers: []fleet.Viewer{{Username: "v", Admission: []string{"S3CR3T"}, Plane: []string{"S3CR3T"}}}}},
		"refusing to boot a dead feature":         {Fleet: fleet.Options{Service: "@v", Viewers: []fleet.Viewer{{Username: "v"}}}},
		"address already in use, or no such port": {Addr: "127.0.0.1:99999"},
	} {
		s, err := Start(t.Context(), o)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: started", want)
			continue
		}
		if want != "address already in use, or no such port" && !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "S3CR3T") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestUndeclared: a server that does not know its own address arms nothing; otherwise it is its own origin.
func TestUndeclared(t *testing.T) {
	o := table()
	o.SelfBase = Undeclared
	if got := open(t, o).State().Reason; got != "not-armed: fleet.wakeSelfBase undeclared" {
		t.Error(got)
	}
	s := open(t, table())
	if got := s.callTool(t, "MCP-AAA", map[string]any{"action": "list"}); !strings.Contains(got, `"url":"`+s.PlaneBase()+`/wake"`) {
		t.Error(got)
	}
}

// TestAdmissionLog: the request records name path, key and whether the attempt counts.
func TestAdmissionLog(t *testing.T) {
	s := open(t, table())
	s.stream("OWN-CCC")
	s.ask("GET", fleet.EventsPath, "", "Authorization", "Bearer x")
	s.mu.Lock()
	defer s.mu.Unlock()
	var got bytes.Buffer
	for _, r := range s.records {
		if r.Kind == trace.ServerRequest {
			got.WriteString(r.Status + " " + r.Reason + " " + r.Args["path"] + " " + r.Args["key"] + " " + r.Args["counted"] + "\n")
		}
	}
	if got.String() != "200 admitted /fleet/events @viewer yes\n401 Token is not admitted on this surface /fleet/events  \n" {
		t.Error(got.String())
	}
}
