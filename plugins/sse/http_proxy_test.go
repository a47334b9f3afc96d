package sse

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/internal/testcert"
)

// proxy is a small forward proxy: it connects every name to one server. It remembers what it was asked.
type proxy struct {
	*httptest.Server
	to     string // address of the server
	answer int    // instead of a connection, if not 0

	mu    sync.Mutex
	asked []*http.Request
}

func serveProxy(t *testing.T, to string, answer int) *proxy {
	t.Helper()
	p := &proxy{to: to, answer: answer}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Clone(r.Context()))
	p.mu.Unlock()
	switch {
	case p.answer != 0:
		w.Header().Set("X-Why", "s3cr3t-canary")
		w.WriteHeader(p.answer)
		io.WriteString(w, "s3cr3t-canary")
	case r.Method == http.MethodConnect:
		there, err := net.Dial("tcp", p.to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, in, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer here.Close()
		io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { io.Copy(there, in); there.Close() }()
		io.Copy(here, there)
	default:
		(&httputil.ReverseProxy{FlushInterval: -1, ErrorLog: discardLog(), Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Host = p.to }}).ServeHTTP(w, r)
	}
}

// seen is what the proxy was asked last.
func (p *proxy) seen(t *testing.T) *http.Request {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) == 0 {
		t.Fatal("nothing came to the proxy")
	}
	return p.asked[len(p.asked)-1]
}

const throughProxy = "open\ndocument " + delta + "\nended connection-lost (end-of-stream)"

// An https endpoint is reached through a tunnel: the proxy sees the name and its own password, and nothing of the request.
func TestProxyTunnel(t *testing.T) {
	ca := testcert.New(t, "ca")
	var heard http.Header
	s, _ := serveTLS(t, ca.Issue(t, "events.test"), nil, func(w http.ResponseWriter, r *http.Request) {
		heard = r.Header.Clone()
		heard.Set("Proto", r.Proto)
		serveStream("data: "+delta+"\n\n")(w, r)
	})
	p := serveProxy(t, s.Listener.Addr().String(), 0)
	a := attemptAt("https://events.test/stream")
	a.TLS = transport.TLS{CA: ca.PEM}
	a.Headers = []transport.ExtraHeader{{Name: "X-Tenant", Value: "s3cr3t-canary"}}
	a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer s3cr3t-canary"}
	a.Proxy = transport.Secret("http://user:pass@" + p.Listener.Addr().String())
	var to log
	follow(t, a, &to, 1)
	if to.String() != throughProxy {
		t.Fatalf("got\n%s", &to)
	}
	if heard.Get("X-Tenant") != "s3cr3t-canary" || heard.Get("Proxy-Authorization") != "" || heard.Get("Proto") != "HTTP/2.0" {
		t.Errorf("the server heard %v", heard)
	}
	asked := p.seen(t)
	if asked.Method != "CONNECT" || asked.Host != "events.test:443" || asked.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("user:pass")) {
		t.Errorf("the proxy was asked %s %s %v", asked.Method, asked.Host, asked.Header)
	}
	if all := fmt.Sprint(asked.Header); strings.Contains(all, "canary") || strings.Contains(all, "Last-Event") {
		t.Errorf("the proxy saw %s", all)
	}
}

// An http endpoint is asked for by its whole URL.
func TestProxyPlain(t *testing.T) {
	s := serve(t, serveStream("data: "+delta+"\n\n"))
	p := serveProxy(t, s.Listener.Addr().String(), 0)
	a := attemptAt("http://events.test/stream")
	a.Proxy = transport.Secret(p.URL)
	var to log
	follow(t, a, &to, 1)
	if to.String() != throughProxy || p.seen(t).URL.Host != "events.test" || s.seen[0].Host != "events.test" {
		t.Errorf("%v\n%s", p.seen(t).URL, &to)
	}
}

// The driver looks at no environment of its own, which in a plugin's process is not the user's: what is not in the attempt is
// direct.
func TestNoProxyOfItsOwn(t *testing.T) {
	for proxy, want := range map[string]bool{"": false, "http://proxy.test": true} {
		c, err := endpoint.NewClient(transport.Attempt{Proxy: transport.Secret(proxy)})
		if err != nil || (c.Proxy != nil) != want {
			t.Errorf("%q: proxied %v, %v", proxy, c.Proxy != nil, err)
		}
	}
}

// A proxy that says no has to be set up differently; one that cannot reach the server may later. Neither is the server's word.
func TestProxyRefuses(t *testing.T) {
	for status, want := range map[int]string{
		407: "refused unauthorized (proxy: status 407)",
		403: "refused rejected (proxy: status 403)",
		405: "refused rejected (proxy: status 405)",
		408: "ended connection-lost (proxy: status 408)",
		429: "ended connection-lost (proxy: status 429)",
		502: "ended connection-lost (proxy: status 502)",
		504: "ended connection-lost (proxy: status 504)",
	} {
		p := serveProxy(t, "", status)
		a := attemptAt("https://events.test/stream")
		a.Proxy = transport.Secret("http://user:s3cr3t-canary@" + p.Listener.Addr().String())
		var to log
		follow(t, a, &to, 1)
		if to.String() != want {
			t.Errorf("status %d: got %s", status, &to)
		}
	}
	// Of a plain request the proxy's answer is the answer.
	p := serveProxy(t, "", 407)
	a := attemptAt("http://events.test/stream")
	a.Proxy = transport.Secret(p.URL)
	var to log
	follow(t, a, &to, 1)
	if to.String() != "refused rejected (status 407)" {
		t.Errorf("got %s", &to)
	}
}

func TestProxyIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	gone := l.Addr().String()
	ca := testcert.New(t, "ca")
	secure, _ := serveTLS(t, ca.Issue(t, "127.0.0.1"), nil, serveStream(""))
	for proxy, want := range map[string]string{
		"http://user:s3cr3t-canary@" + gone:   "ended connection-lost (proxy: connection-refused)",
		"socks5://user:s3cr3t-canary@" + gone: "ended connection-lost (proxy: connection-refused)",
		secure.URL:                            "refused rejected (proxy: certificate-not-trusted: unknown authority)",
		"ftp://user:s3cr3t-canary@" + gone:    "refused rejected (proxy: its URL must begin with one of http, https, socks5, socks5h)",
		"http://user:s3cr3t-canary@[":         "refused rejected (proxy: not a URL)",
	} {
		a := attemptAt("https://events.test/stream")
		a.Proxy = transport.Secret(proxy)
		var to log
		follow(t, a, &to, 1)
		if to.String() != want {
			t.Errorf("got %s, want %s", &to, want)
		}
	}
}

// A redirect inside the origin brings extra headers along, one that leaves it gets nothing at all (P-CON-04).
func TestExtraHeadersAndRedirects(t *testing.T) {
	tenant := []transport.ExtraHeader{{Name: "x-tenant", Value: "s3cr3t-canary"}}
	s := serve(t, answer(307, "Location", "/elsewhere"), serveStream("data: "+delta+"\n\n"))
	a := attemptAt(s.URL)
	a.Headers = tenant
	var to log
	follow(t, a, &to, 1)
	if len(s.seen) != 2 || s.seen[0].Header.Get("X-Tenant") != "s3cr3t-canary" || s.seen[1].URL.Path != "/elsewhere" || s.seen[1].Header.Get("X-Tenant") != "s3cr3t-canary" {
		t.Errorf("%d requests\n%s", len(s.seen), &to)
	}
	other := serve(t, serveStream("data: "+delta+"\n\n"))
	s = serve(t, answer(307, "Location", other.URL+"/stream"))
	a = attemptAt(s.URL)
	a.Headers = tenant
	to = log{}
	follow(t, a, &to, 1)
	if to.String() != "refused bad-redirect (cross-origin-redirect)" || other.requests.Load() != 0 {
		t.Errorf("%s; %d requests to the other origin", &to, other.requests.Load())
	}
	// From https to http is another origin too, whatever the name.
	ca := testcert.New(t, "ca")
	plain := serve(t, serveStream(""))
	secure, _ := serveTLS(t, ca.Issue(t, "127.0.0.1"), nil, answer(302, "Location", plain.URL))
	a = attemptAt(secure.URL)
	a.Headers, a.TLS = tenant, transport.TLS{CA: ca.PEM}
	to = log{}
	follow(t, a, &to, 1)
	if to.String() != "refused bad-redirect (cross-origin-redirect)" || plain.requests.Load() != 0 {
		t.Errorf("%s; %d requests to the other origin", &to, plain.requests.Load())
	}
}

// Headers that cannot be sent are an error of the caller's, without a request and without the value.
func TestBadExtraHeaders(t *testing.T) {
	s := serve(t, serveStream(""))
	for _, h := range []transport.ExtraHeader{{Name: "Last-Event-ID", Value: "s3cr3t-canary"}, {Name: "X", Value: "s3cr3t-canary\r\nHost: evil"}, {Name: "Host", Value: "s3cr3t-canary"}} {
		a := attemptAt(s.URL)
		a.Headers = []transport.ExtraHeader{h}
		var to log
		err := open(t, a, &to)
		if err != nil || to.last.Cause != transport.Rejected || to.last.Detail == "" || strings.Contains(to.String(), "canary") || len(to.lines) != 1 {
			t.Errorf("%s: %v, %s", h.Name, err, &to)
		}
	}
	if s.requests.Load() != 0 {
		t.Errorf("%d requests", s.requests.Load())
	}
}
