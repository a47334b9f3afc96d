package websocket

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

// The end of a socket in every way that it can end, in exact bytes.
func TestHowASocketEnds(t *testing.T) {
	frames := string(text(delta))
	for _, c := range []struct {
		name string
		sent string
		then func(net.Conn)
		want string
		back string // our last frame
	}{
		{"closed with 1001", frames + string(closing(1001)), nil, "ended connection-lost (closed with 1001)", "close 1001"},
		{"closed with 1000", frames + string(closing(1000)), nil, "ended server-stop (closed with 1000)", "close 1000"},
		{"P-WS-09: no close frame", frames, nil, "ended connection-lost (ended-without-close-frame)", "EOF"},
		{"cut in a message", frames + frames[:9], nil, "ended connection-lost (ended-without-close-frame, 9 bytes of an unfinished message dropped)", "EOF"},
		{"P-CON-15: reset", frames, func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }, "ended connection-lost (connection-reset)", ""},
		{"P-WS-04: a violation", frames + "\x80\x01x", nil, "ended protocol-error (protocol-violation: continuation-without-start, frame 2 at byte 31)", "close 1002"},
	} {
		t.Run(c.name, func(t *testing.T) {
			back, told := make(chan string, 1), make(chan struct{})
			s := serve(t, hijack(t, func(conn net.Conn, in *bufio.Reader) {
				io.WriteString(conn, c.sent)
				if c.then != nil {
					<-told // what was sent must have arrived: a reset throws it away
					c.then(conn)
					return
				}
				if c.back == "EOF" {
					conn.(*net.TCPConn).CloseWrite()
				}
				back <- nextFrame(in)
			}))
			to := log{hook: func(line string) error {
				if line == "document "+delta {
					close(told)
				}
				return nil
			}}
			if err := open(t, attemptAt(s.URL), &to); err != nil {
				t.Fatal(err)
			}
			if want := "open\ndocument " + delta + "\n" + c.want; to.String() != want {
				t.Errorf("got\n%s\nwant\n%s", &to, want)
			}
			if c.back != "" {
				if got := <-back; got != c.back {
					t.Errorf("we sent %q, want %q", got, c.back)
				}
			}
		})
	}
}

// When ctx ends the driver takes leave with 1000 and returns, whatever the server does then: close, or nothing at all.
func TestContextEnds(t *testing.T) {
	for name, answers := range map[string]bool{"the server closes": true, "the server does nothing": false} {
		t.Run(name, func(t *testing.T) {
			got, done := make(chan string, 1), make(chan struct{})
			s := serve(t, hijack(t, func(c net.Conn, in *bufio.Reader) {
				c.Write(text(delta))
				got <- nextFrame(in)
				if answers {
					c.Write(closing(1000))
					return
				}
				<-done
			}))
			ctx, cancel := context.WithCancel(context.Background())
			to := log{hook: func(line string) error {
				if strings.HasPrefix(line, "document") {
					cancel()
				}
				return nil
			}}
			from := time.Now()
			if err := New().Open(ctx, attemptAt(s.URL), &to); !errors.Is(err, context.Canceled) || to.last.Kind.Final() {
				t.Errorf("%v, %s", err, &to)
			}
			took := time.Since(from)
			close(done)
			if frame := <-got; frame != "close 1000" {
				t.Errorf("we sent %q", frame)
			}
			if !answers && took < lingerFor/2 || took > guard/2 {
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Run("before the answer", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		s := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
		var to log
		if err := New().Open(ctx, attemptAt(s.URL), &to); !errors.Is(err, context.Canceled) || len(to.lines) > 0 {
			t.Errorf("%v, %s", err, &to)
		}
	})
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s := serve(t, func(http.ResponseWriter, *http.Request) {})
		var to log
		if err := New().Open(ctx, attemptAt(s.URL), &to); !errors.Is(err, context.Canceled) || s.requests.Load() != 0 {
			t.Errorf("%v, %s, %d requests", err, &to, s.requests.Load())
		}
	})
}

// A sink that is gone ends the connection with its error, and the server is told.
func TestSinkFails(t *testing.T) {
	broke := errors.New("the host is gone")
	for _, at := range []string{"open", "heartbeat", "document"} {
		got := make(chan string, 1)
		s := serve(t, hijack(t, func(c net.Conn, in *bufio.Reader) {
			c.Write(append(text(""), text(delta)...))
			got <- nextFrame(in)
		}))
		to := log{hook: func(line string) error {
			if strings.HasPrefix(line, at) {
				return broke
			}
			return nil
		}}
		if err := New().Open(context.Background(), attemptAt(s.URL), &to); !errors.Is(err, broke) { // no context that ends for it
			t.Errorf("at %s: %v, %s", at, err, &to)
		}
		if frame := <-got; frame != "close 1000" {
			t.Errorf("at %s: we sent %q", at, frame)
		}
	}
}

// D-19: while the sink has no room, time stands still: no ping of that time goes out late, and none counts as unanswered.
func TestSinkWithoutRoom(t *testing.T) {
	const every = 30 * time.Millisecond
	frames, room := make(chan string, 100), make(chan struct{})
	s := serve(t, hijack(t, func(c net.Conn, in *bufio.Reader) {
		c.Write(text(delta))
		for {
			f := nextFrame(in)
			frames <- f
			if !strings.HasPrefix(f, "ping") {
				return
			}
			c.Write(appendServerFrame(nil, 0x8A, []byte(strings.Trim(f[5:], `"`))))
			if f == `ping "3"` {
				c.Write(closing(1001))
			}
		}
	}))
	to := log{hook: func(line string) error {
		if strings.HasPrefix(line, "document") {
			time.AfterFunc(10*every, func() { close(room) })
			<-room // ten intervals long
			if len(frames) > 0 {
				t.Error("a ping went out meanwhile")
			}
		}
		return nil
	}}
	if err := open(t, attemptAt(s.URL, "pingEveryMs", "30"), &to); err != nil || to.last.Detail != "closed with 1001" {
		t.Errorf("%v, %s", err, &to)
	}
}

// P-WS-10 on a real socket: pings go out by themselves, and a server that answers none is given up without a close frame.
func TestUnansweredPings(t *testing.T) {
	got := make(chan []string, 1)
	s := serve(t, hijack(t, func(_ net.Conn, in *bufio.Reader) {
		var all []string
		for {
			f := nextFrame(in)
			all = append(all, f)
			if !strings.HasPrefix(f, "ping") {
				got <- all
				return
			}
		}
	}))
	var to log
	if err := open(t, attemptAt(s.URL, "pingEveryMs", "20"), &to); err != nil {
		t.Fatal(err)
	}
	if want := "open\nended connection-lost (ping-unanswered: 2 in a row, 20ms apart)"; to.String() != want {
		t.Errorf("got\n%s", &to)
	}
	if all := strings.Join(<-got, ", "); all != `ping "1", ping "2", EOF` {
		t.Errorf("we sent %s", all)
	}
}

// A server that sends pings and reads nothing is cut off: neither memory nor time is without bound.
func TestServerThatNeverReads(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a limit in real time")
	}
	s := serve(t, hijack(t, func(c net.Conn, _ *bufio.Reader) {
		c.(*net.TCPConn).SetReadBuffer(4 << 10)
		pings := strings.Repeat(string(appendServerFrame(nil, 0x89, make([]byte, 125))), 500)
		for {
			if _, err := io.WriteString(c, pings); err != nil {
				return
			}
		}
	}))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	to := log{hook: func(string) error { time.AfterFunc(time.Second, cancel); return nil }}
	from := time.Now()
	if err := New().Open(ctx, attemptAt(s.URL), &to); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %s", err, &to)
	}
	if took := time.Since(from); took > writeWithin {
		t.Errorf("it took %v", took)
	}
}

func TestHandshakeOverHTTP(t *testing.T) {
	upgraded := func(header string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			defer c.Close()
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n"+header+"\r\n")
			io.Copy(io.Discard, c)
		}
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"a page":               {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, "refused bad-media-type (no-upgrade: the answer is a page, not a WebSocket: text/html)"},
		"a wrong accept":       {upgraded("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: canary\r\n"), "refused protocol-error (bad-handshake: Sec-WebSocket-Accept does not answer our key)"},
		"101 without an offer": {upgraded(""), "refused protocol-error (bad-handshake: no Upgrade: websocket)"},
		"401":                  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "refused unauthorized (status 401)"},
		"P-CON-04: elsewhere":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://127.0.0.1:1/", 307) }, "refused bad-redirect (cross-origin-redirect)"},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(c, "canary\r\n\r\n")
			c.Close()
		}, "ended connection-lost (abnormal-end)"},
		"a head without end": {upgraded("X: " + strings.Repeat("x", 100_000)), "ended connection-lost (abnormal-end)"},
	} {
		s := serve(t, c.h)
		var to log
		if err := open(t, attemptAt(s.URL), &to); err != nil || to.String() != c.want {
			t.Errorf("%s: %v, %s", name, err, &to)
		}
	}
	var to log
	if err := open(t, attemptAt("ws://127.0.0.1:1/"), &to); err != nil || to.String() != "ended connection-lost (connection-refused)" {
		t.Errorf("nobody listens: %v, %s", err, &to)
	}
	a := attemptAt("ws://127.0.0.1:1/", "pingEveryMs", "0")
	to = log{}
	if err := open(t, a, &to); err != nil || to.String() != "refused rejected ("+Check(a).Error()+")" {
		t.Errorf("a bad attempt: %v, %s", err, &to)
	}
}

// The final signal is told to a sink that takes its time; the server does not wait for it.
func TestFinalSignalDoesNotHoldTheServer(t *testing.T) {
	gone := make(chan struct{})
	s := serve(t, hijack(t, func(c net.Conn, in *bufio.Reader) {
		c.Write(appendServerFrame(nil, 0x82, []byte(delta)))
		if f := nextFrame(in); f != "close 1003" {
			t.Errorf("we sent %q", f)
		}
		if f := nextFrame(in); f != "EOF" { // it is cut although nobody took the signal
			t.Errorf("then %q", f)
		}
		close(gone)
	}))
	to := log{hook: func(line string) error {
		if strings.HasPrefix(line, "gap") {
			await(t, "the server to see the connection closed", gone)
		}
		return nil
	}}
	if err := open(t, attemptAt(s.URL), &to); err != nil || to.last.Kind != transport.Gap {
		t.Errorf("%v, %s", err, &to)
	}
}
