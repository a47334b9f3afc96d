package probe

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/conform-dev/conform/core/subject"
	"github.com/conform-dev/conform/core/subject/start"
	"github.com/conform-dev/conform/core/trace"
)

// TestPhrases: the vocabulary is small, each phrase is written in a shipped scenario, and no step fits two.
func TestPhrases(t *testing.T) {
	var text []byte
	for _, name := range []string{"fleetserver", "sseserver", "websocketserver", "odataserver"} {
		one, err := os.ReadFile("../" + name + ".feature")
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, one...)
	}
	phrases := Phrases()
	p := &Probe{}
	if asks, feed := len(p.when())+len(p.then()), len(p.feedWhen())+len(p.feedThen())+len(p.deltaWhen())+len(p.deltaThen()); asks > MaxPhrases || feed > MaxFeedPhrases {
		t.Errorf("%d and %d phrases, at most %d and %d", asks, feed, MaxPhrases, MaxFeedPhrases)
	}
	used := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		word, step, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word != "When" && word != "Then" && word != "And" {
			continue
		}
		n := 0
		for _, p := range phrases {
			if regexp.MustCompile("^" + p + "$").MatchString(step) {
				used[p] = true
				n++
			}
		}
		if n > 1 {
			t.Errorf("%q fits %d phrases", step, n)
		}
	}
	for _, p := range phrases {
		if !used[p] {
			t.Errorf("nobody says %s", p)
		}
	}
}

// examined is a probe of the server at url.
func examined(t *testing.T, url string, people map[string]Person) *Probe {
	t.Helper()
	p := New(func(context.Context) (*Target, error) {
		return &Target{Wire: "fleetwake", Base: url, Events: "/e", Wake: "/w", People: people, Secrets: func() []string { return []string{"CANARY"} }}, nil
	})
	p.patience = 300 * time.Millisecond
	if err := p.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func viewer() map[string]Person {
	return map[string]Person{Viewer: {Login: "@v", Subscription: "W", Admission: func() (string, error) { return "CANARY", nil },
		Key: func() (string, error) { return strings.Repeat("a", 64), nil }}}
}

// kinds are the examiner's records as people would tell them.
func kinds(p *Probe) (out []string) {
	for _, r := range p.Records() {
		if r.Actor == trace.Examiner {
			out = append(out, strings.TrimSpace(fmt.Sprint(r.Kind, " ", r.Status, r.Type, " ", r.Detail)))
		}
	}
	return out
}

// TestNoAnswer: a server that takes the connection and says nothing is waited for, for so long, and so is a stream without its state.
func TestNoAnswer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := examined(t, "http://"+ln.Addr().String(), viewer())
	if _, admitted, err := p.knock(t.Context(), Viewer); admitted || err != nil {
		t.Fatalf("admitted %v, %v", admitted, err)
	}
	if got := kinds(p); got[len(got)-1] != "answered none no answer within 300ms" {
		t.Errorf("%q", got)
	}
}

// TestStreams: what is heard is written down as it came, ended by whom, and no credential that the server repeats.
func TestStreams(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "retry: 5\n\n:hb\nid: 7\nevent: state\ndata: {\"you\":\"%s\"}\n\n", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/e" {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
	}))
	defer server.Close()
	p := examined(t, server.URL, viewer())
	if _, _, err := p.knock(t.Context(), Viewer); err != nil {
		t.Fatal(err)
	}
	if err := p.leave(1); err != nil {
		t.Fatal(err)
	}
	p.target.Events = "/short"
	if _, _, err := p.knock(t.Context(), Viewer); err != nil {
		t.Fatal(err)
	}
	if err := p.hears(t.Context(), 2, "never", 1); err != nil { // over is an answer too
		t.Fatal(err)
	}
	want := []string{"asked", "answered 200", "heard retry 5", "heard comment", `heard state {"you":"SECRET"}`, "ended  left",
		"asked", "answered 200", "heard retry 5", "heard comment", `heard state {"you":"SECRET"}`, "ended  eof"}
	if got := kinds(p); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	if err := p.leave(99); err == nil {
		t.Error("a stream that was never opened was left")
	}
}

// TestLate: a wait that runs out is written down, and the scenario goes on.
func TestLate(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(hold)
	p := examined(t, server.URL, viewer())
	if _, _, err := p.knock(t.Context(), Viewer); err != nil {
		t.Fatal(err)
	}
	last := p.Records()[len(p.Records())-1]
	if last.Kind != trace.StageLate || last.Detail != "stream 1 to hear 1 state" {
		t.Errorf("%v", last)
	}
}

// TestTooManyRequests: a scenario is bounded.
func TestTooManyRequests(t *testing.T) {
	p := examined(t, "http://127.0.0.1:1", viewer())
	p.asked = MaxRequests
	if _, _, err := p.knock(t.Context(), Viewer); err == nil || !strings.Contains(err.Error(), "more than 2000 requests") {
		t.Errorf("%v", err)
	}
}

// TestSigned: the golden vector of the lane's signature, as the examiner sends it.
func TestSigned(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer server.Close()
	p := examined(t, server.URL, viewer())
	l, err := p.write(Viewer)
	if err != nil {
		t.Fatal(err)
	}
	l.body = []byte(`{"schemaVersion":"1.0","eventType":"wake/digest","eventId":"EVT:1","logId":7,"agentIdentity":"@viewer","subscriptionId":"WAKE_SUB:relay","payload":{"totalEvents":1},"emittedAt":"2026-08-14T08:00:00.000Z"}`)
	if err := p.post(t.Context(), l, nil); err != nil {
		t.Fatal(err)
	}
	if sig := got.Get(wakeSignature); sig != "1a49ab154d896616a3fa210a99cde1cef98c9e279084571c6ab487d32b2da227" {
		t.Errorf("signature %s", sig)
	}
	if _, err := p.write(Other); err == nil {
		t.Error("a wake for somebody without a key")
	}
}

// TestBudget: a window that is used up is waited for; one that was not begun is not.
func TestBudget(t *testing.T) {
	b := &budget{most: 2, window: 100 * time.Millisecond}
	if err := b.renew(t.Context()); err != nil || !b.over() {
		t.Fatal("a window that nobody began was waited for")
	}
	b.spend()
	b.spend()
	began := b.began
	if err := b.room(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d < 100*time.Millisecond {
		t.Errorf("a third one after %v", d)
	}
	b.spend()
	b.spend()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.room(ctx); err == nil {
		t.Error("the wait outlived its context")
	}
	if err := (&budget{most: 1, spent: 1, began: time.Now()}).renew(t.Context()); err == nil {
		t.Error("a window without a length was waited for")
	}
}

// TestAble: each capability follows from what the file names, and every one that can be missing says what it needs.
func TestAble(t *testing.T) {
	for _, c := range slices.Concat(Capabilities, FeedCapabilities) {
		if means[c] == "" {
			t.Errorf("nothing says what %s needs", c)
		}
	}
	text, err := subject.New("fleetwake")
	if err != nil {
		t.Fatal(err)
	}
	s, err := subject.Parse("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(Able(s), " "); got != "viewer" {
		t.Errorf("the new file: %s", got)
	}
	v := &subject.Value{Env: "X"}
	all := subject.Person{Login: "@a", Subscription: "W", Bearer: v, Plane: v, Key: v}
	s = &subject.Subject{Wire: "fleetwake", Endpoints: map[string]string{"poll": "/p"}, Visitors: []subject.Person{all, all},
		People: map[string]subject.Person{"viewer": all, "another-viewer": all, "stranger": {Bearer: v}, "holder": {Bearer: v}},
		Limits: subject.Limits{Attempts: 1, AttemptWindow: 1, ViewerStreams: 1, Streams: 2, WakeRequests: 1, WakeWindow: 1, WakeBody: 1, Heartbeat: 1},
		Hooks:  map[string]subject.Hook{"publish": {}, "restart": {}, "shutdown": {}, "lose": {}, "arm": {}, "disarm": {}}}
	if got := Missing(Able(s), Capabilities); got != "" {
		t.Errorf("everything is named, and %s is missing", got)
	}
	s.Limits.Streams = 3
	if got := Missing(Able(s), Capabilities); got != "visitors" {
		t.Errorf("too few visitors: %q", got)
	}
}

// TestOf: hooks run with their values, a server that was shut down comes back, and a secret that is gone is named.
func TestOf(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.URL.String()) }))
	defer server.Close()
	hook := func(path string) subject.Hook {
		return subject.Hook{HTTP: &subject.HTTP{Method: "POST", URL: path}, Within: time.Second}
	}
	t.Setenv("CONFORM_TEST_BEARER", "CANARY")
	s := &subject.Subject{Name: "s", File: "s.yaml", Wire: "fleetwake", Server: subject.Server{URL: server.URL},
		People: map[string]subject.Person{"viewer": {Login: "@v", Bearer: &subject.Value{Env: "CONFORM_TEST_BEARER"}}},
		Hooks:  map[string]subject.Hook{"publish": hook("/publish/{login}/{serial}"), "shutdown": hook("/shutdown"), "restart": hook("/restart")}}
	running, err := start.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	s.Headers = map[string]subject.Value{"X-Env": {Env: "CONFORM_TEST_BEARER"}}
	target, err := Of(s, running)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{target.Do(t.Context(), Publish, Viewer, 2), target.Do(t.Context(), ShutDown, "", 1), target.Close(), target.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := "/publish/@v/1 /publish/@v/2 /shutdown /restart"; strings.Join(got, " ") != want {
		t.Errorf("the server was asked %q, want %s", got, want)
	}
	if own, err := target.Headers(); err != nil || own["X-Env"] != "CANARY" {
		t.Errorf("headers %v %v", own, err)
	}
	os.Unsetenv("CONFORM_TEST_BEARER")
	if _, err := target.Headers(); err == nil || !strings.Contains(err.Error(), "s.yaml: headers.X-Env: the variable CONFORM_TEST_BEARER is not set") {
		t.Errorf("%v", err)
	}
	if _, err := target.People[Viewer].Admission(); err == nil || !strings.Contains(err.Error(), "s.yaml: the variable CONFORM_TEST_BEARER is not set") {
		t.Errorf("%v", err)
	}
}

// TestSerial: a change is told by the number at its pointer, and by nothing else.
func TestSerial(t *testing.T) {
	for text, want := range map[string]int64{`{"a":{"b~/c":7}}`: 7, `{"a":{"b~/c":"8"}}`: 8, `{"a":{"b~/c":[]}}`: -1, `{"a":7}`: -1, `7`: -1, ``: -1, `{"a":{"b~/c":1e3}}`: -1} {
		n, ok := serialOf("/a/b~0~1c", []byte(text))
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%s: %d %v", text, n, ok)
		}
	}
	if n, ok := serialOf("", []byte("9")); !ok || n != 9 {
		t.Errorf("the document itself: %d %v", n, ok)
	}
}

// TestHeaders: what a subject wants with every request goes with every request, and what cannot be read is the harness's error.
func TestHeaders(t *testing.T) {
	got := make(chan string, 4)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("X-Env") }))
	defer server.Close()
	p := examined(t, server.URL, viewer())
	p.target.Headers = func() (map[string]string, error) { return map[string]string{"X-Env": "test"}, nil }
	if _, _, err := p.knock(t.Context(), Viewer); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "test" {
		t.Errorf("the header is %q", text)
	}
	p.target.Headers = func() (map[string]string, error) { return nil, fmt.Errorf("unset") }
	if _, _, err := p.knock(t.Context(), Viewer); err == nil || err.Error() != "unset" {
		t.Errorf("%v", err)
	}
}

// TestSocket: messages are written down with their type, position and number; a refused upgrade with its status; an end with whose it was.
func TestSocket(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/e" {
			http.Error(w, "not here", http.StatusGone)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		_ = c.Write(r.Context(), websocket.MessageText, []byte(`{"t":"upsert","at":"p-7","n":7}`))
		_ = c.Write(r.Context(), websocket.MessageText, []byte(`hello`))
		if r.URL.RawQuery == "from=p-7" {
			_ = c.Close(websocket.StatusGoingAway, "")
			return
		}
		<-hold
	}))
	defer server.Close()
	defer close(hold)
	p := examined(t, server.URL, nil)
	p.target.Wire, p.target.Feed = "websocket", &Feed{Type: "/t", ID: "/at", Serial: "/n", Query: "from"}
	for _, id := range []string{"", "p-7"} {
		if err := p.resume(t.Context(), id, "", 0); err != nil {
			t.Fatal(err)
		}
		if err := p.hears(t.Context(), p.asked, "message", 1); err != nil {
			t.Fatal(err)
		}
		if err := p.leave(p.asked); err != nil {
			t.Fatal(err)
		}
	}
	p.target.Events = "/elsewhere"
	if err := p.resume(t.Context(), "", "", 0); err != nil {
		t.Fatal(err)
	}
	got := kinds(p)
	want := []string{"asked", "answered 101", `heard upsert {"t":"upsert","at":"p-7","n":7}`, "heard message hello", "ended  left", "asked", "answered 101"}
	if strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") || !strings.HasPrefix(got[len(got)-1], "answered 410 not here") {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	if k, id := p.lastOf(1); k != 7 || id != "p-7" {
		t.Errorf("the last change is %d with %q", k, id)
	}
}
