package odata

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/conform-dev/conform/core/transport"
)

// log is a sink that writes down what it was told.
type log struct {
	lines []string
	last  transport.Signal
	hook  func(line string) error // called for each, may be nil
}

func (l *log) note(o transport.Output) error {
	line := render(o)
	l.lines = append(l.lines, line)
	if l.hook != nil {
		return l.hook(line)
	}
	return nil
}

func (l *log) Document(d transport.Document) error { return l.note(transport.Output{Document: &d}) }

func (l *log) Signal(s transport.Signal) error {
	l.last = s
	return l.note(transport.Output{Signal: &s})
}

// service answers the n-th request with the n-th handler, the last one again and again.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	seen  []*http.Request
	conns atomic.Int32
	open  atomic.Int32 // requests under way
	most  atomic.Int32
}

func serve(t *testing.T, handlers ...http.HandlerFunc) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.most.Store(max(s.most.Load(), s.open.Add(1)))
		defer s.open.Add(-1)
		s.mu.Lock()
		s.seen = append(s.seen, r)
		n := len(s.seen)
		s.mu.Unlock()
		handlers[min(n, len(handlers))-1](w, r)
	}))
	s.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(func() {
		s.Close()
		noneLeft(t)
	})
	return s
}

func (s *service) requests() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.seen {
		all = append(all, r.RequestURI)
	}
	return all
}

// noneLeft fails if a goroutine still runs code of the driver's.
func noneLeft(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "odata.(*connection)") {
			t.Errorf("left over:\n%s", stack)
		}
	}
}

func answer(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// open runs the driver; it must return within the guard.
func open(t *testing.T, a transport.Attempt, to *log) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	return New().Open(ctx, a, to)
}

func at(s *service, options ...string) transport.Attempt {
	return attemptAt(s.URL+"/odata/Vehicles", append([]string{"foreign=1", "pollIntervalMs=1"}, options...)...)
}

var errEnough = errors.New("enough")

// TestRoundsOverHTTP plays the cases that need no long wait against a real server, and compares what the sink is told and what is asked for.
func TestRoundsOverHTTP(t *testing.T) {
	played := 0
	for _, s := range loadRounds(t, "testdata/rounds.txt") {
		if strings.Contains(strings.Join(s.lines, "\n"), "broken") || strings.Contains(strings.ToLower(strings.Join(s.lines, "\n")), "://svc.example") ||
			strings.Contains(strings.Join(s.lines, "\n"), "retry ") || s.attempt.Options[OptionPollIntervalMs] != "" || strings.Contains(s.name, "coding") || strings.Contains(s.attempt.Resume.DeltaToken, "://") ||
			strings.Contains(strings.Join(s.lines, "\n"), "< 204") || !strings.Contains(s.attempt.Endpoint, "svc.example/odata") {
			continue
		}
		played++
		t.Run(s.name, func(t *testing.T) { overHTTP(t, s) })
	}
	if played < 30 {
		t.Errorf("only %d cases", played)
	}
}

func overHTTP(t *testing.T, s scenario) {
	var handlers []http.HandlerFunc
	var want, asks []string
	for _, line := range s.lines {
		script, isAnswer := strings.CutPrefix(line, "< ")
		switch {
		case isAnswer:
			h, body, _ := cutAnswer(script)
			var header []string
			for name, v := range h.Header {
				header = append(header, name, v[0])
			}
			handlers = append(handlers, answer(h.Status, body, header...))
		case strings.HasPrefix(line, "GET "):
			asks = append(asks, strings.TrimSuffix(line[len("GET "):], " Prefer: odata.track-changes"))
		case strings.HasPrefix(line, "wait "):
		default:
			want = append(want, strings.Replace(line, "next=5s", "next=1ms", 1))
		}
	}
	last := len(handlers)
	enough := make(chan struct{})
	handlers = append(handlers, func(w http.ResponseWriter, r *http.Request) { close(enough); <-r.Context().Done() })
	server := serve(t, handlers...)
	a := s.attempt
	a.Endpoint = server.URL + strings.TrimPrefix(a.Endpoint, origin)
	a.Options[OptionPollIntervalMs] = "1"
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	go func() {
		select {
		case <-enough:
			cancel()
		case <-ctx.Done():
		}
	}()
	var to log
	err := New().Open(ctx, a, &to)
	if got := strings.NewReplacer(server.URL, origin, "http://evil", "https://evil").Replace(strings.Join(to.lines, "\n")); got != strings.Join(want, "\n") {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, strings.Join(want, "\n"))
	}
	if got := server.requests(); strings.Join(got, "\n") != strings.Join(asks, "\n") {
		t.Errorf("asked for\n%s\nwant\n%s (%d answers)", strings.Join(got, "\n"), strings.Join(asks, "\n"), last)
	}
	if server.most.Load() > 1 {
		t.Errorf("%d requests at one time", server.most.Load())
	}
}

const onePage = `{"value":[{"Id":"V1"}],"@odata.deltaLink":"?$deltatoken=d1"}`

// ref:ODA-22, ref:ODA-23: when the caller lets go, a poll that is planned is not made, and one under way is given up at once.
func TestCancel(t *testing.T) {
	t.Run("between polls", func(t *testing.T) {
		s := serve(t, answer(200, onePage))
		a := at(s)
		a.Options[OptionPollIntervalMs] = "86400000"
		ctx, cancel := context.WithTimeout(context.Background(), guard)
		defer cancel()
		to := log{hook: func(line string) error {
			if strings.HasPrefix(line, "polled") {
				cancel()
			}
			return nil
		}}
		if err := New().Open(ctx, a, &to); err != context.Canceled || len(s.requests()) != 1 {
			t.Errorf("%v, %q", err, s.requests())
		}
	})
	t.Run("under way", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), guard)
		defer cancel()
		gone := make(chan struct{})
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"value":[`)
			w.(http.Flusher).Flush()
			cancel()
			<-r.Context().Done()
			close(gone)
		})
		var to log
		err := New().Open(ctx, at(s), &to)
		if err != context.Canceled || strings.Contains(strings.Join(to.lines, ""), "ended") {
			t.Errorf("%v, %q", err, to.lines)
		}
		<-gone
	})
	t.Run("ref:ODA-24 before the start", func(t *testing.T) {
		s := serve(t, answer(200, onePage))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		var to log
		if err := New().Open(ctx, at(s), &to); err != context.Canceled || len(to.lines) != 0 {
			t.Errorf("%v, %q", err, to.lines)
		}
		if n := len(s.requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// A sink that is gone ends it, with its error, whatever is under way.
func TestSinkGone(t *testing.T) {
	for _, kind := range []string{"open", "document", "polled", "heartbeat"} {
		s := serve(t, answer(200, `{"value":[{"Id":"V1"}],"@odata.nextLink":"?p=2"}`), answer(200, onePage))
		to := log{hook: func(line string) error {
			if strings.HasPrefix(line, kind) {
				return errEnough
			}
			return nil
		}}
		if err := open(t, at(s), &to); err != errEnough {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// The pages of a cycle and the next poll come over one connection.
func TestOneConnection(t *testing.T) {
	s := serve(t, answer(200, `{"value":[],"@odata.nextLink":"?p=2"}`), answer(200, onePage), answer(200, onePage), answer(404, ""))
	var to log
	if err := open(t, at(s), &to); err != nil || s.conns.Load() != 1 || len(s.requests()) != 4 {
		t.Errorf("%v: %d connections for %q", err, s.conns.Load(), s.requests())
	}
}

// A connection that breaks in the middle of a page is one that was lost: the same link again, and what came of it is taken back.
func TestBrokenConnection(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"value":[{"Id":"V9"},`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, answer(200, onePage), answer(404, ""))
	var to log
	if err := open(t, at(s), &to); err != nil {
		t.Fatal(err)
	}
	want := "open\n" + `document {"type":"snapshot","features":[{"id":"V1","feature":{"Id":"V1"}}],"sequence":1,"deltaToken":"d1"}` +
		"\npolled sequence=1 changed=true upserts=1 deletes=0 next=1ms\nrefused rejected (status 404)"
	if got := strings.Join(to.lines, "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
}

// ref:RED-01: header and credential go to the collection's own origin and to no other, however the service asks for it.
func TestNothingCrossesTheOrigin(t *testing.T) {
	const canary = "s3cr3t-canary"
	var crossed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { crossed.Add(1) }))
	defer elsewhere.Close()
	away := elsewhere.URL + "/odata/Vehicles?$deltatoken=d1"
	for name, h := range map[string]http.HandlerFunc{
		"302":        answer(302, "", "Location", away),
		"307":        answer(307, "", "Location", away),
		"next link":  answer(200, `{"value":[],"@odata.nextLink":"`+away+`"}`),
		"delta link": answer(200, `{"value":[],"@odata.deltaLink":"`+away+`"}`),
		"location":   answer(410, "", "Location", away),
		"context":    answer(200, `{"@odata.context":"`+elsewhere.URL+`/odata/$metadata#Vehicles","value":[],"@odata.deltaLink":"Vehicles?$deltatoken=d1"}`),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+canary || r.Header.Get("X-Tenant") != canary {
					t.Error("the credential did not arrive")
				}
				h(w, r)
			}, answer(404, ""))
			a := at(s, "resume=d0")
			a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer " + canary}
			a.Headers = []transport.ExtraHeader{{Name: "X-Tenant", Value: canary}}
			var to log
			if err := open(t, a, &to); err != nil || crossed.Load() != 0 {
				t.Errorf("%v: %d requests elsewhere, %q", err, crossed.Load(), to.lines)
			}
		})
	}
}

// The credential and the position reach the service and nobody else: one that echoes them wherever it can does not get them into a signal or
// an error.
func TestSecretsStayOnTheWire(t *testing.T) {
	const canary, token = "s3cr3t-canary", "t0k3n-canary"
	for _, word := range []string{canary, token} {
		for name, h := range map[string]http.HandlerFunc{
			"content type": answer(200, "", "Content-Type", "x/"+word),
			"coding":       answer(200, "", "Content-Encoding", word),
			"location":     answer(301, "", "Location", "http://x/"+word),
			"host":         answer(301, "", "Location", "http://"+word+"/x"),
			"escaped":      answer(301, "", "Location", "http://x/%73"+word[1:]+"/%74"+word[1:]),
			"unreadable":   answer(301, "", "Location", "http://x:y/"+word),
			"expired":      answer(410, "", "Location", "/"+word),
			"retry after":  answer(401, "", "Retry-After", word),
			"refusal":      answer(400, `{"error":{"code":"`+word+`","message":"`+word+`"}}`),
			"no JSON":      answer(200, `{"value":[`+word+`]}`),
			"cut":          answer(200, `{"value":["`+word),
			"next link":    answer(200, `{"value":[],"@nextLink":"/`+word+`"}`),
			"delta link":   answer(200, `{"value":[],"@deltaLink":"https://x/`+word+`"}`),
			"member":       answer(200, `{"value":[{"`+word+`":1}]}`),
			"annotation":   answer(200, `{"value":[],"@`+word+`":1,"@nextLink":["`+word+`"]}`),
			"removed":      answer(200, `{"value":[{"@removed":{"reason":"`+word+`"},"@id":"`+word+`"}]}`),
			"link":         answer(200, `{"value":[{"@context":"#`+word+`/$link"}]}`),
			"epoch":        answer(200, `{"value":[{"@context":"#A/$entity","Id":1}],"@context":"#`+word+`"}`),
		} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, h, answer(404, word))
				a := at(s, "resume="+token)
				a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer " + canary}
				var to log
				told := ""
				to.hook = func(line string) error {
					told += fmt.Sprintf("%s %+v %#v\n", line, to.last, to.last)
					return nil
				}
				err := open(t, a, &to)
				if told += fmt.Sprint(err); strings.Contains(told, word) || len(to.lines) == 0 {
					t.Errorf("told:\n%s", told)
				}
			})
		}
	}
}

// An attempt that cannot be made is an error, and no request goes out.
func TestOpenRefuses(t *testing.T) {
	var to log
	if err := New().Open(context.Background(), attemptAt("/relative"), &to); err != nil || len(to.lines) != 1 || to.last.Cause != transport.Rejected {
		t.Errorf("%v, %q", err, to.lines)
	}
	to = log{}
	a := attemptAt("https://127.0.0.1:1/x")
	a.TLS.CA = "no certificate"
	if err := New().Open(context.Background(), a, &to); err != nil || len(to.lines) != 1 || to.last.Kind != transport.Refused {
		t.Errorf("%v, %q", err, to.lines)
	}
	if d, err := New().Describe(context.Background()); err != nil || d.Name != "odata" {
		t.Errorf("%+v, %v", d, err)
	}
}
