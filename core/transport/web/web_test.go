package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
)

func TestParseEndpoint(t *testing.T) {
	socket := map[string]string{"ws": "http", "wss": "https"}
	for _, c := range []struct {
		text string
		also map[string]string
		want string
	}{
		{"http://h/s?x=1#part", nil, "http://h/s?x=1"},
		{"https://h", nil, "https://h"},
		{"ws://h/s", nil, "endpoint: must be an absolute http or https URL"},
		{"ws://h/s", socket, "http://h/s"},
		{"wss://h:8443/s", socket, "https://h:8443/s"},
		{"WSS://h/s", socket, "https://h/s"},
		{"https://h/s", socket, "https://h/s"},
		{"ftp://canary/s", socket, "endpoint: must be an absolute ws, wss, http or https URL"},
		{"/canary", nil, "endpoint: must be an absolute http or https URL"},
		{"http://u:canary@h", nil, "endpoint: must not hold user or password; use the credential"},
		{"http:///canary", nil, "endpoint: has no host"},
		{"http://h:canary", nil, "endpoint: not a URL"},
	} {
		u, err := ParseEndpoint(c.text, c.also)
		got := fmt.Sprint(err)
		if err == nil {
			got = u.String()
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestIsParameterName(t *testing.T) {
	for name, want := range map[string]bool{
		"cursor": true, "since": true, "a-b_c.1": true, strings.Repeat("p", maxParameterName): true,
		"": false, "where": false, "a b": false, "a&b": false, "é": false, strings.Repeat("p", maxParameterName+1): false,
	} {
		if IsParameterName(name) != want {
			t.Errorf("%.20q: %v", name, !want)
		}
	}
}

func TestAddCredential(t *testing.T) {
	for _, c := range []struct{ header, value, want string }{
		{"", "", "<nil>"},
		{"authorization", "Bearer canary", "<nil>"},
		{"X-Token", "canary", "<nil>"},
		{"", "canary", "credential: its header is no header name"},
		{"Host", "canary", "credential: header Host would send the request to another site than the endpoint names"},
		{"Sec-WebSocket-Key", "canary", "credential: header Sec-Websocket-Key belongs to the connection, which the transport manages"},
		{"X-Token", "", "credential: its value is empty"},
		{"X-Token", "canary\n", "credential: its value holds a byte that no header may hold, or begins or ends with white space"},
	} {
		header := transport.Header{}
		err := AddCredential(header, transport.Credential{Header: c.header, Value: transport.Secret(c.value)})
		if got := fmt.Sprint(err); got != c.want || err == nil && c.value != "" && header.Get(transport.CanonicalHeader(c.header)) != c.value {
			t.Errorf("%s: got %v, %v", c.header, err, header)
		}
	}
}

// FuzzHead: no head of an answer panics, none makes a delay below zero, and a redirect never leaves the origin.
func FuzzHead(f *testing.F) {
	f.Add(307, "/x", "5", "http://h/s")
	f.Add(429, "//h:1/", "Mon, 02 Jan 2006 15:04:05 GMT", "https://h:443/s")
	f.Fuzz(func(t *testing.T, status int, location, after, endpoint string) {
		from, err := ParseEndpoint(endpoint, nil)
		if err != nil {
			return
		}
		h := transport.Head{Status: status, Header: transport.Header{"Location": {location}, "Retry-After": {after}}}
		if s := Final(h, true); !s.Kind.Final() || s.RetryAfter < 0 {
			t.Errorf("%d: %+v", status, s)
		}
		to, refused := Follow(h, from, 0)
		if to == nil && !refused.Kind.Final() || to != nil && (!SameOrigin(from, to) || to.User != nil || to.Fragment != "") {
			t.Errorf("%q from %s: %v %+v", location, from, to, refused)
		}
	})
}
