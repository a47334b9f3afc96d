package websocket

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
)

// The credential, the position and the subscribe message reach the server and nobody else: a server that echoes them wherever it
// can does not get them into a signal or an error.
func TestSecretsStayOnTheWire(t *testing.T) {
	const canary = "s3cr3t-canary"
	head := func(write func(w http.ResponseWriter)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { write(w) }
	}
	frames := func(b []byte) http.HandlerFunc {
		return hijack(t, func(c net.Conn, in *bufio.Reader) {
			if got := nextFrame(in); got != `text "`+canary+`"` {
				t.Errorf("subscribed with %q", got)
			}
			c.Write(b)
			if b[1] < 0x70 { // all of its frame is here, and is answered
				nextFrame(in)
			}
		})
	}
	upgraded := func(header string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			defer c.Close()
			io.WriteString(c, "HTTP/1.1 101 "+canary+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+strings.ReplaceAll(header, "ACCEPT", acceptFor(r.Header.Get("Sec-Websocket-Key")))+"\r\n")
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"location":     head(func(w http.ResponseWriter) { w.Header().Set("Location", "http://x/"+canary); w.WriteHeader(301) }),
		"retry after":  head(func(w http.ResponseWriter) { w.Header().Set("Retry-After", canary); w.WriteHeader(503) }),
		"refusal":      head(func(w http.ResponseWriter) { w.WriteHeader(401); io.WriteString(w, canary) }),
		"a page":       head(func(w http.ResponseWriter) { w.Header().Set("Content-Type", "x/"+canary); io.WriteString(w, canary) }),
		"accept":       upgraded("Sec-WebSocket-Accept: " + canary + "\r\n"),
		"subprotocol":  upgraded("Sec-WebSocket-Accept: ACCEPT\r\nSec-WebSocket-Protocol: " + canary + "\r\n"),
		"extension":    upgraded("Sec-WebSocket-Accept: ACCEPT\r\nSec-WebSocket-Extensions: " + canary + "\r\n"),
		"no JSON":      frames(text(canary)),
		"unknown type": frames(append(text(`{"type":"`+canary+`"}`), closing(1001)...)),
		"error frame":  frames(text(`{"type":"error","code":"` + canary + `","error":"` + canary + `"}`)),
		"rejected":     frames(append(text(`{"type":"status","status":"connected","resumeRejected":"`+canary+`"}`), closing(1001)...)),
		"close reason": frames(appendServerFrame(nil, 0x88, []byte("\x0f\xa1"+canary))),
		"ping":         frames(append(appendServerFrame(nil, 0x89, []byte(canary)), closing(1001)...)),
		"violation":    frames(appendServerFrame(nil, 0x83, []byte(canary))),
		"unfinished":   frames([]byte("\x81\x70" + canary)),
		"connection":   head(func(http.ResponseWriter) { panic(http.ErrAbortHandler) }),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.Contains(r.Header.Get("Authorization"), canary) || !strings.Contains(r.URL.RawQuery, canary+"-position") {
					t.Error("credential or position did not arrive")
				}
				h(w, r)
			})
			s.Config.ErrorLog = discardLog()
			a := attemptAt(s.URL, "subscribe", `"`+canary+`"`)
			a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer " + canary}
			a.Resume.Seq, a.Resume.Cursor = 1, canary+"-position"
			var to log
			told := ""
			to.hook = func(line string) error {
				told += fmt.Sprintf("%s %+v %#v\n", line, to.last, to.last)
				return nil
			}
			err := open(t, a, &to)
			if told += fmt.Sprint(err); strings.Contains(told, canary) || len(to.lines) == 0 {
				t.Errorf("told:\n%s", told)
			}
		})
	}
}
