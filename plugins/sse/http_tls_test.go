package sse

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/internal/testcert"
)

// serveTLS is serve over TLS. The names are those on the certificate; change may be nil.
func serveTLS(t *testing.T, certificate testcert.Pair, change func(*tls.Config), h http.HandlerFunc) (s *httptest.Server, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		h(w, r)
	}))
	s.Config.ErrorLog = discardLog()
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate.TLS(t)}}
	if change != nil {
		change(s.TLS)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, requests
}

// The end that has a name: nothing was asked of a server that is not trusted, and it is not tried again.
func TestWhomToTrust(t *testing.T) {
	ours, theirs := testcert.New(t, "ours"), testcert.New(t, "theirs")
	const streamed = "open\ndocument " + delta + "\nended connection-lost (end-of-stream)"
	for _, c := range []struct {
		name   string
		server testcert.Pair
		tls    transport.TLS
		want   string
	}{
		{"our CA", ours.Issue(t, "127.0.0.1"), transport.TLS{CA: ours.PEM}, streamed},
		{"our CA among others", ours.Issue(t, "127.0.0.1"), transport.TLS{CA: theirs.PEM + ours.PEM}, streamed},
		{"the system's CAs", ours.Issue(t, "127.0.0.1"), transport.TLS{}, "refused rejected (certificate-not-trusted: unknown authority)"},
		{"another CA", ours.Issue(t, "127.0.0.1"), transport.TLS{CA: theirs.PEM}, "refused rejected (certificate-not-trusted: unknown authority)"},
		{"another name", ours.Issue(t, "events.test"), transport.TLS{CA: ours.PEM}, "refused rejected (certificate-not-trusted: it is for another name)"},
		{"the name we expect", ours.Issue(t, "events.test"), transport.TLS{CA: ours.PEM, ServerName: "events.test"}, streamed},
		{"not the name we expect", ours.Issue(t, "127.0.0.1"), transport.TLS{CA: ours.PEM, ServerName: "events.test"}, "refused rejected (certificate-not-trusted: it is for another name)"},
		{"expired", ours.Expired(t, "127.0.0.1"), transport.TLS{CA: ours.PEM}, "refused rejected (certificate-not-trusted: it has expired or is not valid yet)"},
		{"no CA at all", ours.Issue(t, "127.0.0.1"), transport.TLS{CA: "s3cr3t-canary"}, "refused rejected (tls: CA: it holds no certificate in PEM)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, requests := serveTLS(t, c.server, nil, serveStream("data: "+delta+"\n\n"))
			a := attemptAt(s.URL)
			a.TLS = c.tls
			var to log
			follow(t, a, &to, 1)
			if to.String() != c.want {
				t.Errorf("got\n%s", &to)
			}
			if want := int32(strings.Count(c.want, "open")); requests.Load() != want {
				t.Errorf("%d requests, want %d", requests.Load(), want)
			}
		})
	}
}

// A server that wants to know who asks, in both versions of TLS: the refusal comes inside the handshake in 1.2, behind it in 1.3.
func TestClientCertificate(t *testing.T) {
	ours, theirs := testcert.New(t, "ours"), testcert.New(t, "theirs")
	show := func(p testcert.Pair) transport.TLS {
		return transport.TLS{CA: ours.PEM, Certificate: p.Certificate, Key: transport.Secret(p.Key)}
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, h2 := range []bool{false, true} {
			for _, c := range []struct {
				name string
				tls  transport.TLS
				want string
			}{
				{"ours", show(ours.Issue(t, "client")), "open\ndocument " + delta + "\nended connection-lost (end-of-stream)"},
				{"none", transport.TLS{CA: ours.PEM}, "refused unauthorized (client-certificate-required: none is set)"},
				{"another authority's", show(theirs.Issue(t, "client")), "refused unauthorized (client-certificate-required: the one that is set comes from no authority that the server names)"},
				{"expired", show(ours.Expired(t, "client")), "refused unauthorized (client-certificate-refused: expired certificate)"},
			} {
				t.Run(tls.VersionName(version)+" "+map[bool]string{false: "HTTP/1.1 ", true: "HTTP/2 "}[h2]+c.name, func(t *testing.T) {
					s, requests := serveTLS(t, ours.Issue(t, "127.0.0.1"), func(config *tls.Config) {
						config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, ours.Pool()
						config.MinVersion, config.MaxVersion = version, version
						if !h2 {
							config.NextProtos = []string{"http/1.1"}
						}
					}, serveStream("data: "+delta+"\n\n"))
					a := attemptAt(s.URL)
					a.TLS = c.tls
					for range 10 {
						var to log
						follow(t, a, &to, 1)
						// net/http drops the server's reason if an HTTP/2 connection is closed before the request is put on it; the next
						// try finds it.
						for tries := 0; h2 && to.String() == "ended connection-lost (abnormal-end)" && tries < 20; tries++ {
							to = log{}
							follow(t, a, &to, 1)
						}
						if to.String() != c.want {
							t.Fatalf("got\n%s", &to)
						}
					}
					if c.name != "ours" && requests.Load() != 0 {
						t.Errorf("%d requests got through", requests.Load())
					}
				})
			}
		}
	}
}

// Over TLS the newest protocol that both know is spoken; the stream is the same, event by event, and over when we say so.
func TestHTTP2(t *testing.T) {
	ca := testcert.New(t, "ca")
	for _, want := range []string{"HTTP/2.0", "HTTP/1.1"} {
		t.Run(want, func(t *testing.T) {
			told, gone, closed := make(chan struct{}, 10), make(chan struct{}), make(chan struct{})
			var spoken atomic.Value
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				spoken.Store(r.Proto + " " + r.Header.Get("Last-Event-ID") + " " + r.Header.Get("X-Tenant") + " " + r.Header.Get("Authorization"))
				w.Header().Set("Content-Type", "text/event-stream")
				for range 3 {
					io.WriteString(w, "id: 7\ndata: "+delta+"\n\n")
					w.(http.Flusher).Flush()
					select {
					case <-told: // the next one only when this one was told: nothing holds an event back
					case <-r.Context().Done():
						return
					}
				}
				io.WriteString(w, "event: gap\ndata: {}\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				close(gone)
			}))
			s.Config.ErrorLog = discardLog()
			s.EnableHTTP2 = want == "HTTP/2.0"
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					close(closed)
				}
			}
			certificate := ca.Issue(t, "127.0.0.1")
			s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate.TLS(t)}}
			s.StartTLS()
			defer s.Close()
			a := attemptAt(s.URL)
			a.TLS = transport.TLS{CA: ca.PEM}
			a.Resume.Cursor = "6"
			a.Headers = []transport.ExtraHeader{{Name: "X-Tenant", Value: "t"}}
			a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer TEST-ONLY"}
			to := log{hook: func(line string) error {
				if strings.HasPrefix(line, "document") {
					told <- struct{}{}
				}
				return nil
			}}
			if err := open(t, a, &to); err != nil {
				t.Fatal(err)
			}
			event := "document cursor=7 " + delta + "\n"
			if to.String() != "open\n"+event+event+event+"gap transport-gap (gap-notice)" {
				t.Errorf("got\n%s", &to)
			}
			if got := spoken.Load(); got != want+" 6 t Bearer TEST-ONLY" {
				t.Errorf("the server heard %v", got)
			}
			await(t, "the stream to be closed", gone)
			await(t, "the connection to be closed", closed)
		})
	}
}

// A stream that is cut over HTTP/2 is reset, and nothing of the unfinished event is delivered.
func TestHTTP2Cut(t *testing.T) {
	ca := testcert.New(t, "ca")
	s, _ := serveTLS(t, ca.Issue(t, "127.0.0.1"), nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "id: 4\ndata: "+delta+"\n\nid: 5\ndata:")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	a := attemptAt(s.URL)
	a.TLS = transport.TLS{CA: ca.PEM}
	var to log
	follow(t, a, &to, 1)
	if to.cursor != "4" || to.last.Cause != transport.ConnectionLost || !strings.HasPrefix(to.last.Detail, "abnormal-end") {
		t.Errorf("got\n%s", &to)
	}
}

// A sink without room slows an HTTP/2 server down: it cannot put more on the way than our window, and its own buffers.
func TestHTTP2Window(t *testing.T) {
	ca := testcert.New(t, "ca")
	var sent atomic.Int64
	stuck, room := make(chan struct{}), make(chan struct{})
	block := ": " + strings.Repeat("x", 16<<10) + "\n"
	s, _ := serveTLS(t, ca.Issue(t, "127.0.0.1"), nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for sent.Load() < 8<<20 {
			n, err := io.WriteString(w, block)
			if err != nil {
				return
			}
			if sent.Add(int64(n)) == int64(len(block)) {
				close(stuck)
			}
		}
	})
	a := attemptAt(s.URL)
	a.TLS = transport.TLS{CA: ca.PEM}
	to := log{}
	to.hook = func(line string) error {
		if line == "heartbeat" {
			<-room
			to.hook = nil
		}
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- New().Open(t.Context(), a, &to) }()
	await(t, "the first block", stuck)
	// The server goes on until the window is full; that it stops there has no event, so the limit is judged at the end.
	last := int64(-1)
	for now := sent.Load(); now != last; now = sent.Load() {
		last = now
		linger(t)
	}
	if last > windowBytes+512<<10 {
		t.Errorf("%d bytes on the way, the window is %d", last, windowBytes)
	}
	close(room)
	if err := <-done; err != nil || sent.Load() < 8<<20 {
		t.Errorf("%v after %d bytes", err, sent.Load())
	}
}

// A server that speaks plain HTTP at an https address is a slip, and told as one; the other way round the server says so.
func TestSchemeMismatch(t *testing.T) {
	plain := serve(t, serveStream(""))
	var to log
	follow(t, attemptAt("https"+strings.TrimPrefix(plain.URL, "http")), &to, 1)
	if to.String() != "refused rejected (tls-failed: the server speaks plain HTTP)" {
		t.Errorf("got %s", &to)
	}
	ca := testcert.New(t, "ca")
	s, _ := serveTLS(t, ca.Issue(t, "127.0.0.1"), nil, serveStream(""))
	to = log{}
	follow(t, attemptAt("http"+strings.TrimPrefix(s.URL, "https")), &to, 1)
	if to.last.Cause != transport.Rejected || to.last.Status != 400 {
		t.Errorf("got %s", &to)
	}
	// What is no HTTP either may be anything, a server that is starting for one, and is tried again.
	to = log{}
	follow(t, attemptAt("https"+strings.TrimPrefix(raw(t, "220 mail.test ESMTP\r\n", func(*net.TCPConn) {}), "http")), &to, 1)
	if to.String() != "ended connection-lost (tls-failed)" {
		t.Errorf("got %s", &to)
	}
}
