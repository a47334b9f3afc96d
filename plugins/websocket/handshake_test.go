package websocket

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// RFC 6455 1.3.
func TestAccept(t *testing.T) {
	if got := acceptFor("dGhlIHNhbXBsZSBub25jZQ=="); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Error(got)
	}
}

// answered is what a machine makes of the head of the answer to its first request; change sets it up from a good upgrade.
func answered(words []string, change func(h *transport.Head)) string {
	m := NewMachine()
	m.Start(wireAttempt(words...))
	o, _ := m.Take()
	h := upgrade(o.Request)
	change(&h)
	m.Head(h)
	return take(m)
}

func TestUpgrades(t *testing.T) {
	const bad = "refused protocol-error (bad-handshake: "
	set := func(name string, values ...string) func(*transport.Head) {
		return func(h *transport.Head) { h.Header[name] = values }
	}
	deflate := []string{"compression=deflate"}
	for _, c := range []struct {
		words  []string
		change func(*transport.Head)
		want   string
	}{
		{nil, func(*transport.Head) {}, "open"},
		{nil, set("Upgrade", "WebSocket"), "open"},
		{nil, set("Connection", "keep-alive, UPGRADE"), "open"},
		{nil, set("Upgrade", "h2c"), bad + "no Upgrade: websocket)"},
		{nil, set("Upgrade"), bad + "no Upgrade: websocket)"},
		{nil, set("Connection", "close"), bad + "no Connection: Upgrade)"},
		{nil, set("Sec-Websocket-Accept"), bad + "0 times Sec-WebSocket-Accept)"},
		{nil, set("Sec-Websocket-Accept", "a", "b"), bad + "2 times Sec-WebSocket-Accept)"},
		{nil, set("Sec-Websocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), bad + "Sec-WebSocket-Accept does not answer our key)"},
		{nil, set("Sec-Websocket-Protocol", "canary"), bad + "a subprotocol that was not asked for)"},
		{[]string{"subprotocol=v2,v1"}, set("Sec-Websocket-Protocol", "v1"), "open"},
		{[]string{"subprotocol=v2,v1"}, set("Sec-Websocket-Protocol", "V1"), bad + "a subprotocol that was not asked for)"},
		{[]string{"subprotocol=v2,v1"}, set("Sec-Websocket-Protocol", "v1", "v2"), bad + "more than one subprotocol)"},
		{[]string{"subprotocol=v1"}, set("Sec-Websocket-Protocol"), bad + "no subprotocol agreed)"},
		{nil, set("Sec-Websocket-Extensions", "permessage-deflate"), bad + "an extension that was not offered)"},
		{nil, set("Sec-Websocket-Extensions", ""), "open"},
		{deflate, set("Sec-Websocket-Extensions"), "open"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate"), "open"},
		{deflate, set("Sec-Websocket-Extensions", "Permessage-Deflate; server_no_context_takeover;client_no_context_takeover; server_max_window_bits=\"15\""), "open"},
		{deflate, set("Sec-Websocket-Extensions", "x-webkit-deflate-frame"), bad + "an extension that was not offered)"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate, permessage-deflate"), bad + "more than one extension)"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate", "canary"), bad + "more than one extension)"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate; client_max_window_bits=10"), bad + "a parameter of permessage-deflate that may not be there)"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate; server_max_window_bits=16"), bad + "a parameter of permessage-deflate that may not be there)"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate; server_max_window_bits"), bad + "a parameter of permessage-deflate that may not be there)"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate; server_no_context_takeover=1"), bad + "a parameter of permessage-deflate that may not be there)"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate; canary"), bad + "a parameter of permessage-deflate that may not be there)"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate; server_no_context_takeover; server_no_context_takeover"), bad + "a parameter of permessage-deflate twice)"},
		{deflate, set("Sec-Websocket-Extensions", "permessage-deflate;"), bad + "a parameter of permessage-deflate that may not be there)"},
	} {
		if got := answered(c.words, c.change); got != c.want {
			t.Errorf("%v: got %q, want %q", c.words, got, c.want)
		}
	}
}

// Whether the server keeps its window is what its answer says (RFC 7692 7.1.1.1).
func TestTakeover(t *testing.T) {
	for answer, want := range map[string]Deflate{
		"permessage-deflate":                             {On: true, Takeover: true},
		"permessage-deflate; server_no_context_takeover": {On: true},
		"permessage-deflate; client_no_context_takeover": {On: true, Takeover: true},
	} {
		if got, why := agreedExtensions([]string{answer}, true); got != want || why != "" {
			t.Errorf("%s: %+v %s", answer, got, why)
		}
	}
}

// D-33, and what WebSocket adds to it.
func TestStatus(t *testing.T) {
	resume := []string{"resume"}
	for _, c := range []struct {
		words  []string
		status int
		header transport.Header
		want   string
	}{
		{nil, 200, transport.Header{"Content-Type": {"text/html; charset=utf-8"}}, "refused bad-media-type (no-upgrade: the answer is a page, not a WebSocket: text/html)"}, // P-CON-02
		{nil, 200, transport.Header{"Content-Type": {"canary/x"}}, "refused bad-media-type (no-upgrade: the answer is a page, not a WebSocket)"},
		{nil, 204, nil, "ended server-stop (status 204)"}, // P-CON-01
		{nil, 400, nil, "refused rejected (status 400)"},
		{nil, 401, nil, "refused unauthorized (status 401)"}, // P-CON-14
		{nil, 403, nil, "refused unauthorized (status 403)"},
		{nil, 426, nil, "refused rejected (status 426)"},
		{nil, 410, nil, "refused rejected (status 410)"},
		{resume, 410, nil, "expired cursor-expired (status 410)"},
		{nil, 429, transport.Header{"Retry-After": {"5"}}, "ended throttled (status 429) retry-after=5s"}, // P-CON-11
		{nil, 503, nil, "ended throttled (status 503)"},
		{nil, 500, nil, "ended connection-lost (status 500)"},
		{nil, 307, transport.Header{"Location": {"https://127.0.0.1:8080/ws"}}, "refused bad-redirect (cross-origin-redirect)"}, // P-CON-04
		{nil, 307, transport.Header{"Location": {"ws://other.example/ws"}}, "refused bad-redirect (cross-origin-redirect)"},
		{nil, 301, nil, "refused bad-redirect (redirect-without-location)"}, // P-CON-05
	} {
		got := answered(c.words, func(h *transport.Head) { *h = transport.Head{Status: c.status, Header: c.header} })
		if got != c.want {
			t.Errorf("%d %v: got %q, want %q", c.status, c.header, got, c.want)
		}
	}
}

// P-CON-05: a redirect is followed with everything that the request carried, but a key of its own, and a ring stops at the limit.
func TestRedirectRing(t *testing.T) {
	m := NewMachine()
	a := wireAttempt("resume", "subprotocol=v1")
	a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer TEST-ONLY"}
	m.Start(a)
	keys := map[string]bool{}
	for n := 0; ; n++ {
		o, _ := m.Take()
		if o.Request == nil {
			if want := fmt.Sprintf("refused bad-redirect (too-many-redirects: limit %d)", web.MaxRedirects); render(o) != want || n != web.MaxRedirects+1 {
				t.Fatalf("after %d requests: %s", n, render(o))
			}
			return
		}
		h := o.Request.Header
		keys[h.Get("Sec-Websocket-Key")] = true
		if len(keys) != n+1 || h.Get("Authorization") != "Bearer TEST-ONLY" || h.Get("Sec-Websocket-Protocol") != "v1" || n > 0 && o.Request.URL != "http://127.0.0.1:8080/next?x" {
			t.Fatalf("request %d: %s %v", n+1, o.Request.URL, h)
		}
		m.Head(transport.Head{Status: 307, Header: transport.Header{"Location": {"/next?x"}}})
	}
}

// FuzzAnswer: no head of an answer panics or opens a connection whose accept does not fit, and none of its text is shown.
func FuzzAnswer(f *testing.F) {
	f.Add(101, "websocket", "Upgrade", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "v1", "permessage-deflate; server_max_window_bits=12")
	f.Add(307, "", "", "", "", "/x")
	f.Fuzz(func(t *testing.T, status int, up, connection, accept, protocol, extensions string) {
		const key = "dGhlIHNhbXBsZSBub25jZQ=="
		from, _ := web.ParseEndpoint("ws://h/s", schemes)
		header := transport.Header{"Upgrade": {up}, "Connection": {connection}, "Sec-Websocket-Accept": {accept}, "Sec-Websocket-Extensions": {extensions}, "Location": {extensions}}
		if protocol != "" {
			header["Sec-Websocket-Protocol"] = []string{protocol}
		}
		s, deflate, follow := judge(transport.Head{Status: status, Header: header}, from, 0, false, offered{key: key, deflate: true})
		opened := s.Kind == transport.Open
		switch {
		case opened && (status != 101 || strings.Trim(accept, " \t") != acceptFor(key) || protocol != ""):
			t.Errorf("opened by %d %q %q", status, accept, protocol)
		case !opened && follow == nil && !s.Kind.Final(), !opened && deflate.On && s.Kind == transport.Open:
			t.Errorf("%+v %+v", s, deflate)
		case len(extensions) > 20 && strings.Contains(s.Detail, extensions):
			t.Errorf("shown: %s", s.Detail)
		}
	})
}
