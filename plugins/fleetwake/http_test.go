package fleetwake

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/transport"
)

// guard bounds a test that would otherwise hang when the driver is broken. Nothing waits for it when all is well.
const guard = 20 * time.Second

// The exact bytes of a server (fleet facts 2).
const (
	hello = "retry: 5000\n\n"
	state = "event: state\ndata: " + `{"armed":true,"reason":"armed","lastPushAt":null,"connectedIdentities":0,"armedForViewer":true,"subscriptionId":"WAKE_SUB:relay"}` + "\n\n"
	beat  = ":hb\n\n"
	// The body of fleet facts 3.1, as it is sent on.
	wake7 = "event: wake\ndata: " + `{"subscriptionId":"WAKE_SUB:relay","envelope":{"schemaVersion":"1.0","eventType":"wake/digest","eventId":"EVT:1","logId":7,"agentIdentity":"@viewer","subscriptionId":"WAKE_SUB:relay","payload":{"totalEvents":1},"emittedAt":"2026-08-14T08:00:00.000Z"}}` + "\n\n"
)

// plane is a server for one stream and the polls beside it.
type plane struct {
	*httptest.Server
	t      *testing.T
	script []any // strings to write and channels to wait for
	poll   http.HandlerFunc

	mu    sync.Mutex
	seen  []*http.Request
	asked []string // bodies of polls
}

func newPlane(t *testing.T, poll http.HandlerFunc, script ...any) *plane {
	t.Helper()
	p := &plane{t: t, script: script, poll: poll}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fleet/events", p.events)
	mux.HandleFunc("POST /fleet/poll-digest", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		p.note(r)
		p.mu.Lock()
		p.asked = append(p.asked, string(body))
		p.mu.Unlock()
		p.poll(w, r)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *plane) note(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r)
}

func (p *plane) events(w http.ResponseWriter, r *http.Request) {
	p.note(r)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, step := range p.script {
		switch step := step.(type) {
		case string:
			io.WriteString(w, step)
			w.(http.Flusher).Flush()
		case chan struct{}:
			select {
			case <-step:
			case <-r.Context().Done():
				return
			}
		}
	}
}

func answering(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}
}

// log is a sink that writes down what it was told.
type log struct {
	lines []string
	hook  func(line string) error
}

func (l *log) Document(transport.Document) error { return errors.New("a wake stream has no documents") }

func (l *log) Signal(s transport.Signal) error {
	line := render(transport.Output{Signal: &s})
	l.lines = append(l.lines, line)
	if l.hook != nil {
		return l.hook(line)
	}
	return nil
}

// at closes ch at the first line that begins with prefix.
func at(prefix string, ch chan struct{}) func(string) error {
	var once sync.Once
	return func(line string) error {
		if strings.HasPrefix(line, prefix) {
			once.Do(func() { close(ch) })
		}
		return nil
	}
}

func attemptAt(base string, options ...string) transport.Attempt {
	a := own()
	a.Endpoint = base
	a.Headers = []transport.ExtraHeader{{Name: transport.PollCredential, Value: "Bearer MCP-AAA"}}
	for i := 0; i+1 < len(options); i += 2 {
		a.Options[options[i]] = options[i+1]
	}
	return a
}

func (p *plane) attempt(options ...string) transport.Attempt {
	return attemptAt(p.URL, append([]string{OptionPoll, PollURL, OptionPollURL, p.URL + "/fleet/poll-digest"}, options...)...)
}

func open(t *testing.T, a transport.Attempt, to *log) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	return New().Open(ctx, a, to)
}

func expect(t *testing.T, to *log, want ...string) {
	t.Helper()
	got := slices.DeleteFunc(slices.Clone(to.lines), func(line string) bool { return line == "heartbeat" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// C3, F15, P19: the bytes of the facts, the poll beside the stream, one credential on each.
func TestArc(t *testing.T) {
	caught := make(chan struct{})
	p := newPlane(t, answering(`{"subscriptionId":"WAKE_SUB:relay","pending":4,"digest":"4 waiting","digestPriority":"normal","eventsReplayed":5,"watermark":30}`),
		hello, state, beat, caught, wake7)
	to := &log{hook: at("caught-up", caught)}
	a := p.attempt()
	a.Endpoint += "//"
	if err := open(t, a, to); err != nil {
		t.Fatal(err)
	}
	expect(t, to,
		"open", "retry 5s",
		`wake-stated armed=true reason="armed" push=-1 identities=0 viewer=true id=WAKE_SUB:relay`,
		"caught-up done pending=4 mark=30",
		"woken id=WAKE_SUB:relay event=EVT:1 log=7 envelope=204",
		"ended connection-lost (end-of-stream)")
	if diff := cmp.Diff([]string{`{"subscriptionId":"WAKE_SUB:relay","sinceLogId":0}`}, p.asked); diff != "" {
		t.Error(diff)
	}
	for i, want := range []http.Header{
		{"Authorization": {"Bearer OWN-CCC"}, "Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}, "Cache-Control": {"no-store"}},
		{"Authorization": {"Bearer MCP-AAA"}, "Accept": {"application/json"}, "Content-Type": {"application/json"}, "Content-Length": {"50"}},
	} {
		got := p.seen[i].Header.Clone()
		got.Del("User-Agent")
		got.Del("Connection")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request %d: %s", i+1, diff)
		}
	}
	if got := p.seen[0].URL.String(); got != "/fleet/events" {
		t.Errorf("asked for %s", got)
	}
}

// P-FW-05, D-51: however a poll fails, nothing is counted, the word is one of ours, and the stream goes on.
func TestPollFailures(t *testing.T) {
	const secret = "s3cr3t-of-the-server"
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			if code >= 400 {
				io.WriteString(w, secret)
			}
		}
	}
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer other.Close()
	for _, c := range []struct {
		name    string
		poll    http.HandlerFunc
		options []string
		want    string
	}{
		{"status", status(500), nil, "HTTP 500"},
		{"refused", status(401), nil, "HTTP 401"},
		{"no content", status(204), nil, "HTTP 204"},
		{"redirect", status(307, "Location", other.URL), nil, pollRedirect},
		{"no JSON", answering(secret), nil, notAnAnswer},
		{"other subscription", answering(`{"subscriptionId":"` + secret + `","pending":3}`), nil, foreignAnswer},
		{"too large", answering(`{"pending":3,"digest":"` + strings.Repeat("x", 200) + `"}`), []string{OptionMaxPollBytes, "200"}, pollTooLarge},
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []string{OptionPollTimeout, "50"}, PollTime},
		{"half an answer", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"pending":`)
		}, nil, "abnormal-end"},
		{"nobody there", nil, []string{OptionPollURL, "http://127.0.0.1:1/"}, "connection-refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			caught := make(chan struct{})
			p := newPlane(t, c.poll, state, caught, wake7)
			to := &log{hook: at("caught-up", caught)}
			if err := open(t, p.attempt(c.options...), to); err != nil {
				t.Fatal(err)
			}
			expect(t, to, "open",
				`wake-stated armed=true reason="armed" push=-1 identities=0 viewer=true id=WAKE_SUB:relay`,
				`caught-up failed pending=-1 mark=-1 "`+c.want+`"`,
				"woken id=WAKE_SUB:relay event=EVT:1 log=7 envelope=204",
				"ended connection-lost (end-of-stream)")
		})
	}
}

// The bound is exact: an answer of so many bytes passes.
func TestPollAtItsBound(t *testing.T) {
	caught := make(chan struct{})
	const body = `{"pending":3,"watermark":9}`
	p := newPlane(t, answering(body), state, caught)
	to := &log{hook: at("caught-up", caught)}
	if err := open(t, p.attempt(OptionMaxPollBytes, "27"), to); err != nil || len(body) != 27 {
		t.Fatal(err)
	}
	if !slices.Contains(to.lines, "caught-up done pending=3 mark=9") {
		t.Errorf("got %q", to.lines)
	}
}

// A poll that hangs does not hold Open back when its stream ends or its caller leaves, and its answer is nobody's.
func TestOpenTakesItsPollAlong(t *testing.T) {
	asked, gone := make(chan struct{}, 2), make(chan struct{}, 2)
	hang := func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}
	t.Run("the stream ends", func(t *testing.T) {
		p := newPlane(t, hang, state, asked)
		to := &log{}
		if err := open(t, p.attempt(), to); err != nil {
			t.Fatal(err)
		}
		if to.lines[len(to.lines)-1] != "ended connection-lost (end-of-stream)" {
			t.Errorf("got %q", to.lines)
		}
		<-gone
	})
	t.Run("the caller leaves", func(t *testing.T) {
		p := newPlane(t, hang, state, make(chan struct{}))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		to := &log{}
		if err := New().Open(ctx, p.attempt(), to); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		<-gone
		if last := to.lines[len(to.lines)-1]; !strings.HasPrefix(last, "wake-stated") {
			t.Errorf("got %q", to.lines)
		}
	})
}

func TestSinkThatFails(t *testing.T) {
	broken := errors.New("the sink is gone")
	p := newPlane(t, answering(`{}`), state, make(chan struct{}))
	to := &log{hook: func(line string) error {
		if strings.HasPrefix(line, "wake-stated") {
			return broken
		}
		return nil
	}}
	if err := open(t, p.attempt(), to); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// The credential never crosses an origin, and no redirect within one is followed either.
func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer other.Close()
	for _, to := range []string{other.URL + "/fleet/events", "/fleet/other"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != EventsPath {
				t.Error("a redirect was followed")
			}
			w.Header().Set("Location", to)
			w.WriteHeader(307)
		}))
		defer s.Close()
		told := &log{}
		if err := open(t, attemptAt(s.URL), told); err != nil {
			t.Fatal(err)
		}
		expect(t, told, "refused bad-redirect (stream refused: HTTP 307)")
	}
}

// The server is let go before a final signal is told, and a limit ends the connection.
func TestFinalSignalClosesFirst(t *testing.T) {
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: wake\ndata: "+strings.Repeat("x", 64)+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer s.Close()
	to := &log{hook: func(line string) error {
		if strings.HasPrefix(line, "gap") {
			<-gone
		}
		return nil
	}}
	if err := open(t, attemptAt(s.URL, OptionMaxEventBytes, "64"), to); err != nil {
		t.Fatal(err)
	}
	expect(t, to, "open", `caught-up no-seam pending=-1 mark=-1 "no way to poll was set up"`, "gap transport-gap (frame-too-large: limit 64, frame at byte 0)")
}

// A poll elsewhere takes along whom to trust, and nothing that tells who we are.
func TestPollAccess(t *testing.T) {
	a := attemptAt("https://plane.test:443/base")
	a.TLS = transport.TLS{CA: "ca", Certificate: "cert", Key: "key", ServerName: "name"}
	a.Proxy = "http://proxy.test"
	for to, want := range map[string]transport.TLS{
		"https://plane.test/poll":      a.TLS,
		"https://poll.test/poll":       {CA: "ca"},
		"http://plane.test/poll":       {CA: "ca"},
		"https://plane.test:8443/poll": {CA: "ca"},
	} {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		got := pollAccess(a, u)
		if got.TLS != want || got.Proxy != a.Proxy || got.Credential != (transport.Credential{}) || len(got.Headers) != 0 {
			t.Errorf("%s: got %+v", to, got)
		}
	}
}

// The request's body is JSON whatever the id holds.
func TestPollBodyIsJSON(t *testing.T) {
	caught := make(chan struct{})
	id := "WAKE \"SUB\"\n<é>"
	quoted, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlane(t, answering(`{"pending":0}`), strings.Replace(state, `"WAKE_SUB:relay"`, string(quoted), 1), caught)
	a := p.attempt()
	a.Resume.Watermark = "9007199254740991"
	if err := open(t, a, &log{hook: at("caught-up", caught)}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		SubscriptionID string
		SinceLogID     int64
	}
	if err := json.Unmarshal([]byte(p.asked[0]), &got); err != nil || got.SubscriptionID != id || got.SinceLogID != 9007199254740991 {
		t.Errorf("asked %q: %v", p.asked, err)
	}
}
