package sse

import (
	"context"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
)

func discardLog() *stdlog.Logger { return stdlog.New(io.Discard, "", 0) }

// The credential and the position reach the server and nobody else: a server that echoes them wherever it can does not get
// them into a signal or an error.
func TestSecretsStayOnTheWire(t *testing.T) {
	const canary = "s3cr3t-canary"
	echo := func(write func(w http.ResponseWriter)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Authorization"), canary) {
				t.Error("the credential did not arrive")
			}
			w.Header().Set("Content-Type", "text/event-stream")
			write(w)
		}
	}
	body := func(s string) http.HandlerFunc { return echo(func(w http.ResponseWriter) { io.WriteString(w, s) }) }
	for name, h := range map[string]http.HandlerFunc{
		"content type":  echo(func(w http.ResponseWriter) { w.Header().Set("Content-Type", "x/"+canary) }),
		"coding":        echo(func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", canary) }),
		"location":      echo(func(w http.ResponseWriter) { w.Header().Set("Location", "http://x/"+canary); w.WriteHeader(301) }),
		"bad location":  echo(func(w http.ResponseWriter) { w.Header().Set("Location", "http://x:y/"+canary); w.WriteHeader(301) }),
		"retry after":   echo(func(w http.ResponseWriter) { w.Header().Set("Retry-After", canary); w.WriteHeader(503) }),
		"refusal":       echo(func(w http.ResponseWriter) { w.WriteHeader(401); io.WriteString(w, canary) }),
		"no JSON":       body("data: " + canary + "\n\n"),
		"unknown type":  body(`data: {"type":"` + canary + `"}` + "\n\n"),
		"comment":       body(":" + canary + "\n\n"),
		"error frame":   body(`data: {"type":"error","code":"` + canary + `","error":"` + canary + `"}` + "\n\n"),
		"terminal":      body(`data: {"type":"error","terminal":true,"code":"` + canary + `"}` + "\n\n"),
		"gap notice":    body("event: gap\ndata: " + canary + "\n\n"),
		"rejected":      body(`data: {"type":"status","status":"connected","resumeRejected":"` + canary + `"}` + "\n\n"),
		"unfinished":    body("data: " + canary),
		"connection":    echo(func(http.ResponseWriter) { panic(http.ErrAbortHandler) }),
		"authorization": body(`data: {"type":"status","status":"` + canary + `","code":"authorization-ended"}` + "\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, h)
			a := attemptAt(s.URL)
			a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer " + canary}
			a.Resume.Cursor = canary + "-position"
			a.Options = map[string]string{"resumeBy": "parameter"}
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
			if all := fmt.Sprintf("%v %+v %#v", a.Credential, a.Credential, a.Credential); strings.Contains(all, canary) {
				t.Errorf("printed: %s", all)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		a := attemptAt("http://" + l.Addr().String())
		a.Resume.Cursor = canary
		a.Options = map[string]string{"resumeBy": "parameter"}
		var to log
		if err := New().Open(context.Background(), a, &to); err != nil || strings.Contains(fmt.Sprintf("%+v", to), canary) {
			t.Errorf("%v, %s", err, &to)
		}
	})
}
