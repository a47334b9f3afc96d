package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/transport"
)

const delta = `{"type":"delta","sequence":1}`

// follow connects again and again, resuming from the last cursor, until a signal says that it must not; at most n times.
func follow(t *testing.T, a transport.Attempt, to *log, n int) {
	t.Helper()
	for range n {
		if err := open(t, a, to); err != nil {
			t.Fatal(err)
		}
		if s := to.last; s.Kind != transport.Ended || s.Cause == transport.ServerStop {
			return
		}
		a.Resume.Cursor = to.cursor
	}
}

// P-CON-01: 204 stops for good.
func TestServerStop(t *testing.T) {
	s := serve(t, serveStream("id: 3\ndata: "+delta+"\n\n"), answer(204))
	var to log
	follow(t, attemptAt(s.URL), &to, 10)
	want := "open\ndocument cursor=3 " + delta + "\nended connection-lost (end-of-stream)\nended server-stop (status 204)"
	if to.String() != want || s.requests.Load() != 2 {
		t.Errorf("%d requests:\n%s", s.requests.Load(), &to)
	}
}

// P-CON-02: a page instead of a stream is not parsed, and the connection is closed although the server holds it open.
func TestPageInsteadOfStream(t *testing.T) {
	gone := make(chan struct{})
	s := serve(t, hold("text/html", "data: not an event\n\n", gone))
	var to log
	if err := open(t, attemptAt(s.URL), &to); err != nil {
		t.Fatal(err)
	}
	if want := "refused bad-media-type (bad-content-type: text/html)"; to.String() != want {
		t.Errorf("got %s", &to)
	}
	await(t, "the server to see the connection closed", gone)
}

// The connection of a final signal is closed before the signal is told: a sink without room does not keep it.
func TestFinalSignalClosesFirst(t *testing.T) {
	gone := make(chan struct{})
	s := serve(t, hold("text/event-stream", "event: gap\ndata: {}\n\n", gone))
	to := log{hook: func(line string) error {
		if strings.HasPrefix(line, "gap") {
			await(t, "the server to see the connection closed", gone)
		}
		return nil
	}}
	if err := open(t, attemptAt(s.URL), &to); err != nil || to.String() != "open\ngap transport-gap (gap-notice)" {
		t.Errorf("%v, %s", err, &to)
	}
}

// P-CON-03: a media type with parameters and capitals.
func TestMediaTypes(t *testing.T) {
	typed := func(contentType string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			io.WriteString(w, "data: "+delta+"\n\n")
		}
	}
	s := serve(t, typed("Text/Event-Stream; charset=utf-8"), typed("text/event-stream-x"))
	var to log
	follow(t, attemptAt(s.URL), &to, 2)
	if want := "open\ndocument " + delta + "\nended connection-lost (end-of-stream)\nrefused bad-media-type (bad-content-type)"; to.String() != want {
		t.Errorf("got\n%s", &to)
	}
}

// P-CON-04: nothing reaches another origin, not even a request without the credential.
func TestRedirectToAnotherOrigin(t *testing.T) {
	other := serve(t, serveStream("data: "+delta+"\n\n"))
	s := serve(t, answer(307, "Location", other.URL+"/stream"))
	a := attemptAt(s.URL)
	a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer TEST-ONLY"}
	var to log
	if err := open(t, a, &to); err != nil {
		t.Fatal(err)
	}
	if to.String() != "refused bad-redirect (cross-origin-redirect)" || other.requests.Load() != 0 || s.requests.Load() != 1 {
		t.Errorf("%s; %d requests to the other origin", &to, other.requests.Load())
	}
}

// A redirect within the origin carries the credential and the position along.
func TestRedirectWithinTheOrigin(t *testing.T) {
	s := serve(t, answer(302, "Location", "/elsewhere"), serveStream("data: "+delta+"\n\n"))
	a := attemptAt(s.URL)
	a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer TEST-ONLY"}
	a.Resume.Cursor = "41"
	var to log
	if err := open(t, a, &to); err != nil {
		t.Fatal(err)
	}
	if want := "open\ndocument " + delta + "\nended connection-lost (end-of-stream)"; to.String() != want {
		t.Errorf("got\n%s", &to)
	}
	r := s.seen[1]
	if r.URL.Path != "/elsewhere" || r.Header.Get("Authorization") != "Bearer TEST-ONLY" || r.Header.Get("Last-Event-ID") != "41" {
		t.Errorf("the second request was %v %v", r.URL, r.Header)
	}
}

// P-CON-05: a ring stops at the limit.
func TestRingOverHTTP(t *testing.T) {
	s := serve(t, answer(307, "Location", "/stream"))
	var to log
	if err := open(t, attemptAt(s.URL), &to); err != nil {
		t.Fatal(err)
	}
	if to.String() != "refused bad-redirect (too-many-redirects: limit 5)" || s.requests.Load() != 6 {
		t.Errorf("%s after %d requests", &to, s.requests.Load())
	}
}

// P-CON-06: the position survives a connection that brought no event.
func TestPositionSurvivesAnEmptyConnection(t *testing.T) {
	s := serve(t, serveStream("id: 5\ndata: "+delta+"\n\n"), serveStream(": hi\n\n"), serveStream("id: 6\ndata: "+delta+"\n\n"))
	var to log
	follow(t, attemptAt(s.URL), &to, 3)
	for i, want := range []string{"", "5", "5"} {
		if got := s.seen[i].Header.Get("Last-Event-ID"); got != want {
			t.Errorf("request %d: Last-Event-ID %q, want %q", i+1, got, want)
		}
		if i == 0 && s.seen[i].Header.Values("Last-Event-ID") != nil {
			t.Error("the first request has the header")
		}
	}
	if to.cursor != "6" {
		t.Errorf("got\n%s", &to)
	}
}

// P-CON-08: comments are signs of life and no events, each told while the stream is open.
func TestCommentHeartbeats(t *testing.T) {
	told := make(chan struct{}, 10)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 5 {
			io.WriteString(w, ":hb\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-told: // the next one only when this one was told
			case <-r.Context().Done():
				return
			}
		}
	})
	to := log{hook: func(line string) error {
		if line == "heartbeat" {
			told <- struct{}{}
		}
		return nil
	}}
	if err := open(t, attemptAt(s.URL), &to); err != nil {
		t.Fatal(err)
	}
	if beats := strings.Count(to.String(), "heartbeat"); beats < 5 || strings.Contains(to.String(), "document") || s.requests.Load() != 1 {
		t.Errorf("%d requests, got\n%s", s.requests.Load(), &to)
	}
}

// P-CON-14: the dead credential is reported once, with its status.
func TestUnauthorized(t *testing.T) {
	s := serve(t, serveStream("id: 9\ndata: "+delta+"\n\n"), answer(401))
	var to log
	follow(t, attemptAt(s.URL), &to, 10)
	if to.last.Kind != transport.Refused || to.last.Cause != transport.Unauthorized || to.last.Status != 401 || s.requests.Load() != 2 {
		t.Errorf("%d requests, got\n%s", s.requests.Load(), &to)
	}
}

// P-CON-11, first half: Retry-After reaches the session.
func TestThrottled(t *testing.T) {
	s := serve(t, answer(429, "Retry-After", "5"))
	var to log
	if err := open(t, attemptAt(s.URL), &to); err != nil || to.String() != "ended throttled (status 429) retry-after=5s" {
		t.Errorf("%v, %s", err, &to)
	}
}

const rawHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// P-CON-15: a chunked body that ends in mid-chunk. The whole event is delivered, the half one is not, and the end is told as
// abnormal, whether it is a reset or an orderly close.
func TestCutInMidChunk(t *testing.T) {
	first := "id: 4\ndata: " + delta + "\n\n"
	whole, half := fmt.Sprintf("%x\r\n%s\r\n", len(first), first), "20\r\nid: 5\ndata:"
	for _, reset := range []bool{false, true} {
		seen := make(chan struct{})
		url := raw(t, rawHead+whole, func(c *net.TCPConn) {
			if reset {
				<-seen // a reset takes along what the client has not read
				c.SetLinger(0)
			}
			io.WriteString(c, half)
		})
		to := log{hook: func(line string) error {
			if strings.HasPrefix(line, "document") {
				close(seen)
			}
			return nil
		}}
		if err := open(t, attemptAt(url), &to); err != nil {
			t.Fatal(err)
		}
		if len(to.lines) < 3 || strings.Join(to.lines[:2], "\n") != "open\ndocument cursor=4 "+delta || to.cursor != "4" || to.last.Cause != transport.ConnectionLost {
			t.Errorf("got\n%s", &to)
		}
		word, _, _ := strings.Cut(to.last.Detail, ",")
		if word != "abnormal-end" && !(reset && word == "connection-reset") {
			t.Errorf("reset %v: the end was told as %q", reset, to.last.Detail)
		}
	}
}

// A close in mid-chunk before any event is abnormal too: the last chunk never came.
func TestCloseInMidChunk(t *testing.T) {
	url := raw(t, rawHead+"20\r\nid: 5\ndata:", func(*net.TCPConn) {})
	var to log
	if err := open(t, attemptAt(url), &to); err != nil {
		t.Fatal(err)
	}
	if want := "open\nheartbeat\nended connection-lost (abnormal-end, 11 bytes of an unfinished event dropped)"; to.String() != want {
		t.Errorf("got\n%s", &to)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct{ bytes, want string }{
		"nothing":          {"", "ended connection-lost (abnormal-end)"},
		"no HTTP":          {"secret s3cr3t-canary\r\n\r\n", "ended connection-lost (abnormal-end)"},
		"bad header":       {"HTTP/1.1 200 OK\r\nsecret s3cr3t-canary\r\n\r\n", "ended connection-lost (abnormal-end)"},
		"head without end": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", endpoint.MaxHeadBytes+4096) + "\r\n\r\n", "ended connection-lost (abnormal-end)"},
	} {
		t.Run(name, func(t *testing.T) {
			var to log
			err := open(t, attemptAt(raw(t, c.bytes, func(*net.TCPConn) {})), &to)
			reset := strings.ReplaceAll(to.String(), "connection-reset", "abnormal-end") // bytes of ours may be unread there
			if err != nil || reset != c.want {
				t.Errorf("%v, %s", err, &to)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var to log
	if err := open(t, attemptAt("http://"+l.Addr().String()), &to); err != nil || to.String() != "ended connection-lost (connection-refused)" {
		t.Errorf("%v, %s", err, &to)
	}
}

func TestCertificateNotTrusted(t *testing.T) {
	s := httptest.NewUnstartedServer(serveStream(""))
	s.Config.ErrorLog = discardLog()
	s.StartTLS()
	defer s.Close()
	var to log
	if err := open(t, attemptAt(s.URL), &to); err != nil || to.String() != "refused rejected (certificate-not-trusted: unknown authority)" {
		t.Errorf("%v, %s", err, &to)
	}
}

// The driver gives a connection up when its context ends, in every state, and the server sees it closed at once.
func TestContextEnds(t *testing.T) {
	t.Run("while the stream is silent", func(t *testing.T) {
		gone := make(chan struct{})
		s := serve(t, hold("text/event-stream", ":hb\n\n", gone))
		ctx, cancel := context.WithCancel(context.Background())
		to := log{hook: func(line string) error {
			if line == "heartbeat" {
				cancel()
			}
			return nil
		}}
		if err := New().Open(ctx, attemptAt(s.URL), &to); !errors.Is(err, context.Canceled) || to.last.Kind.Final() {
			t.Errorf("%v, %s", err, &to)
		}
		await(t, "the server to see the connection closed", gone)
	})
	t.Run("before the head", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		gone := make(chan struct{})
		url := raw(t, "", func(c *net.TCPConn) {
			cancel()
			io.Copy(io.Discard, c)
			close(gone)
		})
		var to log
		if err := New().Open(ctx, attemptAt(url), &to); !errors.Is(err, context.Canceled) || len(to.lines) > 0 {
			t.Errorf("%v, %s", err, &to)
		}
		await(t, "the server to see the connection closed", gone)
	})
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s := serve(t, serveStream(""))
		var to log
		if err := New().Open(ctx, attemptAt(s.URL), &to); !errors.Is(err, context.Canceled) || s.requests.Load() != 0 {
			t.Errorf("%v, %s, %d requests", err, &to, s.requests.Load())
		}
	})
}

// A sink that is gone ends the connection with its error.
func TestSinkFails(t *testing.T) {
	broke := errors.New("the host is gone")
	for _, at := range []string{"open", "heartbeat", "document"} {
		gone := make(chan struct{})
		s := serve(t, hold("text/event-stream", ":hb\n\ndata: "+delta+"\n\n", gone))
		to := log{hook: func(line string) error {
			if strings.HasPrefix(line, at) {
				return broke
			}
			return nil
		}}
		if err := New().Open(context.Background(), attemptAt(s.URL), &to); !errors.Is(err, broke) { // no context that ends for it
			t.Errorf("at %s: %v, %s", at, err, &to)
		}
		await(t, "the server to see the connection closed", gone)
	}
}

// TestBadAttemptIsRefused: what Check finds is no failure of the transport, so the subscription ends over it at once and says what it is.
func TestBadAttemptIsRefused(t *testing.T) {
	a := attemptAt("http://127.0.0.1:1/")
	a.Options = map[string]string{"maxEventBytes": "99999999999"}
	var to log
	err := open(t, a, &to)
	if want := Check(a).Error(); err != nil || len(to.lines) != 1 || to.last.Kind != transport.Refused || to.last.Cause != transport.Rejected || to.last.Detail != want {
		t.Errorf("%v, %s, want %s", err, &to, want)
	}
}
