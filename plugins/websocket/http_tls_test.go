package websocket

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/internal/testcert"
)

func oneDelta(t *testing.T) http.HandlerFunc {
	return hijack(t, func(c net.Conn, in *bufio.Reader) {
		c.Write(append(text(delta), closing(1001)...))
		nextFrame(in)
	})
}

const oneDeltaTold = "open\ndocument " + delta + "\nended connection-lost (closed with 1001)"

// wss: whom to trust, and who we are, come with the attempt; a server that also speaks HTTP/2 is asked in HTTP/1.1.
func TestOverTLS(t *testing.T) {
	ours, theirs := testcert.New(t, "ours"), testcert.New(t, "theirs")
	s := httptest.NewUnstartedServer(oneDelta(t))
	s.Config.ErrorLog = discardLog()
	s.EnableHTTP2 = true
	certificate := ours.Issue(t, "127.0.0.1")
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate.TLS(t)}}
	s.StartTLS()
	t.Cleanup(s.Close)
	for want, ca := range map[string]string{
		oneDeltaTold: ours.PEM,
		"refused rejected (certificate-not-trusted: unknown authority)": theirs.PEM,
		"refused rejected (tls: CA: it holds no certificate in PEM)":    "s3cr3t-canary",
	} {
		a := attemptAt("wss" + strings.TrimPrefix(s.URL, "https"))
		a.TLS = transport.TLS{CA: ca}
		var to log
		if err := open(t, a, &to); err != nil || to.String() != want {
			t.Errorf("%v, got\n%s\nwant\n%s", err, &to, want)
		}
	}
}

// tunnel is a proxy that connects every name to one server and remembers what it was asked.
type tunnel struct {
	to    string
	asked chan string
}

func (p *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked <- r.Method + " " + r.RequestURI + " " + r.Header.Get("Proxy-Authorization") + r.Header.Get("Authorization")
	if r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
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
}

// RFC 6455 4.1: a proxy is asked for a tunnel, for ws as for wss. It sees the name and its own password, and nothing of the request.
func TestThroughAProxy(t *testing.T) {
	ours := testcert.New(t, "ours")
	plain := serve(t, oneDelta(t))
	secret := httptest.NewUnstartedServer(oneDelta(t))
	certificate := ours.Issue(t, "events.test")
	secret.TLS = &tls.Config{Certificates: []tls.Certificate{certificate.TLS(t)}}
	secret.StartTLS()
	t.Cleanup(secret.Close)
	trusted := httptest.NewUnstartedServer(nil) // a proxy that is reached over TLS itself
	proxyCertificate := ours.Issue(t, "127.0.0.1")
	trusted.TLS = &tls.Config{Certificates: []tls.Certificate{proxyCertificate.TLS(t)}}
	over := &tunnel{to: plain.Listener.Addr().String(), asked: make(chan string, 5)}
	trusted.Config.Handler = over
	trusted.StartTLS()
	t.Cleanup(trusted.Close)
	a := attemptAt("ws://events.test/stream")
	a.TLS, a.Proxy = transport.TLS{CA: ours.PEM}, transport.Secret(trusted.URL)
	var first log
	if err := open(t, a, &first); err != nil || first.String() != oneDeltaTold || <-over.asked != "CONNECT events.test:80 " {
		t.Errorf("https proxy: %v\n%s", err, &first)
	}
	for scheme, to := range map[string]string{"ws": plain.Listener.Addr().String(), "wss": secret.Listener.Addr().String()} {
		p := &tunnel{to: to, asked: make(chan string, 5)}
		proxy := httptest.NewServer(p)
		t.Cleanup(proxy.Close)
		a := attemptAt(scheme + "://events.test/stream")
		a.TLS = transport.TLS{CA: ours.PEM}
		a.Proxy = transport.Secret("http://user:pass@" + proxy.Listener.Addr().String())
		a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer canary"}
		a.Resume.Seq, a.Resume.Cursor = 1, "canary"
		var told log
		if err := open(t, a, &told); err != nil || told.String() != oneDeltaTold {
			t.Errorf("%s: %v\n%s", scheme, err, &told)
		}
		want := "CONNECT events.test:" + map[string]string{"ws": "80", "wss": "443"}[scheme] + " Basic dXNlcjpwYXNz"
		if got := <-p.asked; got != want {
			t.Errorf("%s: the proxy was asked %q, want %q", scheme, got, want)
		}
	}
}

// What a proxy says that gives no tunnel, whatever the endpoint's scheme.
func TestProxyRefuses(t *testing.T) {
	for _, scheme := range []string{"ws", "wss"} {
		for status, want := range map[int]string{
			407: "refused unauthorized (proxy: status 407)",
			403: "refused rejected (proxy: status 403)",
			502: "ended connection-lost (proxy: status 502)",
		} {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				io.WriteString(w, "s3cr3t-canary")
			}))
			t.Cleanup(proxy.Close)
			a := attemptAt(scheme + "://events.test/stream")
			a.Proxy = transport.Secret(proxy.URL)
			var to log
			if err := open(t, a, &to); err != nil || to.String() != want {
				t.Errorf("%s %d: %v, %s", scheme, status, err, &to)
			}
		}
	}
}
