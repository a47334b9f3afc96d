package transport

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheckHeaders(t *testing.T) {
	long := strings.Repeat("v", MaxHeaderValue)
	for _, c := range []struct{ name, value, want string }{
		{"X-Api-Key", "canary", ""},
		{"x-api-key", "tab\tand ü inside", ""},
		{"User-Agent", "canary", ""},
		{"X", long, ""},
		{"X", long + "v", "headers: X has a value of 8193 bytes, the limit is 8192"},
		{strings.Repeat("x", MaxHeaderName), "canary", ""},
		{strings.Repeat("x", MaxHeaderName+1), "canary", "headers: the name of header 1 is no header name"},
		{"", "canary", "headers: the name of header 1 is no header name"},
		{"X Y", "canary", "headers: the name of header 1 is no header name"},
		{":authority", "canary", "headers: the name of header 1 is no header name"},
		{"X", "", "headers: X has no value"},
		{"X", "canary\r\nEvil: 1", "headers: X has a value with a byte"},
		{"X", "canary\n", "headers: X has a value with a byte"},
		{"X", " canary", "headers: X has a value with a byte"},
		{"X", "canary\x00", "headers: X has a value with a byte"},
		{"connection", "canary", "headers: Connection belongs to the connection"},
		{"Keep-Alive", "canary", "headers: Keep-Alive belongs to the connection"},
		{"Proxy-Connection", "canary", "headers: Proxy-Connection belongs to the connection"},
		{"TE", "canary", "headers: Te belongs to the connection"},
		{"Trailer", "canary", "headers: Trailer belongs to the connection"},
		{"Transfer-Encoding", "canary", "headers: Transfer-Encoding belongs to the connection"},
		{"Upgrade", "canary", "headers: Upgrade belongs to the connection"},
		{"HTTP2-Settings", "canary", "headers: Http2-Settings belongs to the connection"},
		{"Sec-WebSocket-Key", "canary", "headers: Sec-Websocket-Key belongs to the connection"},
		{"Sec-WebSocket-Version", "canary", "headers: Sec-Websocket-Version belongs to the connection"},
		{"Sec-WebSocket-Extensions", "canary", "headers: Sec-Websocket-Extensions belongs to the connection"},
		{"Sec-WebSocket-Protocol", "canary", "headers: Sec-Websocket-Protocol belongs to the connection"},
		{"Sec-WebSocket-Accept", "canary", "headers: Sec-Websocket-Accept belongs to the connection"},
		{"Content-Length", "canary", "headers: Content-Length belongs to the connection"},
		{"Expect", "canary", "headers: Expect belongs to the connection"},
		{"Host", "canary", "headers: Host would send the request to another site"},
		{"Accept", "canary", "headers: Accept is written by the transport"},
		{"Accept-Encoding", "canary", "headers: Accept-Encoding is written by the transport"},
		{"Cache-Control", "canary", "headers: Cache-Control is written by the transport"},
		{"LAST-EVENT-ID", "canary", "headers: Last-Event-Id names a position"},
		{"Proxy-Authorization", "canary", "headers: Proxy-Authorization is for a proxy"},
		{"Proxy-Authenticate", "canary", "headers: Proxy-Authenticate is for a proxy"},
		{"Authorization", "canary", "headers: Authorization is a credential"},
		{"Cookie", "canary", "headers: Cookie is a credential"},
		{"x-token", "canary", "headers: X-Token is the credential's"},
	} {
		a := Attempt{Headers: []ExtraHeader{{c.name, Secret(c.value)}}, Credential: Credential{"X-TOKEN", "t"}}
		err := a.CheckAccess()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%.40s: got %v, want %q", c.name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "vvv")) {
			t.Errorf("%.40s: the error shows a value: %v", c.name, err)
		}
	}
}

func TestHeadersAreCounted(t *testing.T) {
	var a Attempt
	for i := range MaxHeaders {
		a.Headers = append(a.Headers, ExtraHeader{fmt.Sprintf("X-%d", i), "v"})
	}
	if err := a.CheckAccess(); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
	a.Headers = append(a.Headers, ExtraHeader{"X", "v"})
	if err := a.CheckAccess(); err == nil || err.Error() != "headers: 25 of them, the limit is 24" {
		t.Errorf("one more: %v", err)
	}
	a.Headers = []ExtraHeader{{"X-A", "1"}, {"x-a", "2"}}
	if err := a.CheckAccess(); err == nil || err.Error() != "headers: X-A is there twice" {
		t.Errorf("the same twice: %v", err)
	}
}

func TestCheckTLS(t *testing.T) {
	fill := func(n int) string { return strings.Repeat("canary", n/6+1)[:n] }
	for want, a := range map[string]Attempt{
		"": {TLS: TLS{CA: fill(MaxCA), Certificate: fill(MaxCertificate), Key: Secret(fill(MaxKey)), ServerName: fill(MaxServerName)}, Proxy: Secret(fill(MaxProxy))},
		"tls: the CA has 524289 bytes, the limit is 524288":        {TLS: TLS{CA: fill(MaxCA + 1)}},
		"tls: the certificate has 65537 bytes, the limit is 65536": {TLS: TLS{Certificate: fill(MaxCertificate + 1), Key: "k"}},
		"tls: the key has 32769 bytes, the limit is 32768":         {TLS: TLS{Certificate: "c", Key: Secret(fill(MaxKey + 1))}},
		"tls: the server name has 254 bytes, the limit is 253":     {TLS: TLS{ServerName: fill(MaxServerName + 1)}},
		"tls: the client certificate comes without its key":        {TLS: TLS{Certificate: "canary"}},
		"tls: the client key comes without its certificate":        {TLS: TLS{Key: "canary"}},
		"proxy: longer than 2048 bytes":                            {Proxy: Secret(fill(MaxProxy + 1))},
	} {
		err := a.CheckAccess()
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// D-62: what a transport does not take is refused by name.
func TestLacks(t *testing.T) {
	d := Descriptor{Name: "lines", Takes: []Take{TakesTLS}}
	full := Attempt{Headers: []ExtraHeader{{"X", "v"}}, TLS: TLS{ServerName: "n"}, Proxy: "http://p"}
	for want, a := range map[string]Attempt{
		"<nil>":                                 {TLS: full.TLS},
		"transport lines does not take headers": full,
		"transport lines does not take proxy":   {Proxy: full.Proxy, TLS: full.TLS},
	} {
		if err := d.Lacks(a.Takes()...); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if takes := (Attempt{Endpoint: "http://x", Credential: Credential{"A", "b"}}).Takes(); len(takes) > 0 {
		t.Errorf("a plain attempt takes %v", takes)
	}
}

func TestAttemptIsNeverShown(t *testing.T) {
	a := Attempt{Headers: []ExtraHeader{{"X", "canary"}}, TLS: TLS{Key: "canary"}, Proxy: "http://u:canary@p"}
	if all := fmt.Sprintf("%v %+v %#v", a, a, a); strings.Contains(all, "canary") {
		t.Errorf("printed: %s", all)
	}
}

func FuzzCheckHeaders(f *testing.F) {
	f.Add("X-Api-Key", "v")
	f.Add("te", "\r\n")
	f.Fuzz(func(t *testing.T, name, value string) {
		canonical := CanonicalHeader(name)
		if canonical != CanonicalHeader(canonical) {
			t.Errorf("%q is %q is %q", name, canonical, CanonicalHeader(canonical))
		}
		if err := CheckHeaders([]ExtraHeader{{name, Secret(value)}}, Credential{}); err == nil && strings.ContainsAny(name+value, "\r\n\x00") {
			t.Errorf("%q: %q was accepted", name, value)
		}
	})
}
