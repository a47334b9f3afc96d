package fleet

import (
	"strings"
	"testing"
	"time"
)

const hostBody = `{"jsonrpc":"2.0","error":{"code":-32000,"message":"`

// TestMatrix is the refusal matrix of fleet facts 1.4, row by row: status, body, headers, and whether it uses up an attempt.
func TestMatrix(t *testing.T) {
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	for _, c := range []struct {
		name    string
		method  string
		target  string
		header  []string
		status  int
		body    string
		counted bool
	}{
		{"no host", "GET", EventsPath, []string{"Host", ""}, 403, hostBody + `Missing Host header"},"id":null}`, false},
		{"malformed host", "GET", EventsPath, []string{"Host", "a:b:c"}, 403, hostBody + `Invalid Host header: a:b:c"},"id":null}`, false},
		{"malformed host, escaped", "GET", EventsPath, []string{"Host", "a\"<\x01"}, 403, hostBody + `Invalid Host header: a\"<\u0001"},"id":null}`, false},
		{"foreign host", "GET", EventsPath, append(bearer("OWN-CCC"), "Host", "Evil.test:80"), 403, hostBody + `Invalid Host: evil.test"},"id":null}`, false},
		{"host before origin and bearer", "GET", EventsPath, []string{"Host", "evil.test", "Origin", "http://evil.test"}, 403, hostBody + `Invalid Host: evil.test"},"id":null}`, false},
		{"origin", "GET", EventsPath, append(bearer("OWN-CCC"), "Origin", "http://evil.test"), 403, wiredBody("fleet: origin not admitted"), false},
		{"origin before bearer", "GET", EventsPath, []string{"Origin", "null"}, 403, wiredBody("fleet: origin not admitted"), false},
		{"no credential (P17)", "GET", EventsPath, nil, 401, `{"error":"invalid_token","error_description":"Missing Authorization header"}`, false},
		{"not Bearer", "GET", EventsPath, []string{"Authorization", "Basic abc"}, 401, `{"error":"invalid_token","error_description":"Invalid Authorization header format, expected 'Bearer TOKEN'"}`, false},
		{"no token", "GET", EventsPath, []string{"Authorization", "Bearer"}, 401, `{"error":"invalid_token","error_description":"Invalid Authorization header format, expected 'Bearer TOKEN'"}`, false},
		{"two spaces", "GET", EventsPath, []string{"Authorization", "Bearer  OWN-CCC"}, 401, `{"error":"invalid_token","error_description":"Invalid Authorization header format, expected 'Bearer TOKEN'"}`, false},
		{"unknown token", "GET", EventsPath, bearer("OWN-CC"), 401, `{"error":"invalid_token","error_description":"Token is not admitted on this surface"}`, false},
		{"plane bearer (P19, P-FW-12)", "GET", EventsPath, bearer("MCP-AAA"), 401, `{"error":"invalid_token","error_description":"Token is not admitted on this surface"}`, false},
		{"possession only", "GET", EventsPath, bearer("BARE-CCC"), 401, wiredBody("fleet: authenticated provider identity required"), false},
		{"no stable subject", "GET", EventsPath, bearer("NONE-CCC"), 403, wiredBody("fleet: viewer identity carries no stable subject"), true},
		{"POST to the stream", "POST", EventsPath, bearer("OWN-CCC"), 404, wiredBody("fleet: route not found"), false},
		{"slash at the end", "GET", EventsPath + "/", bearer("OWN-CCC"), 404, wiredBody("fleet: route not found"), false},
		{"elsewhere", "GET", "/", bearer("OWN-CCC"), 404, wiredBody("fleet: route not found"), false},
		{"elsewhere without a credential", "GET", "/x", nil, 401, `{"error":"invalid_token","error_description":"Missing Authorization header"}`, false},
		{"GET of the intake", "GET", WakePath, bearer("OWN-CCC"), 404, wiredBody("fleet: route not found"), false},
		{"GET of the poll", "GET", PollPath, bearer("OWN-CCC"), 404, wiredBody("fleet: route not found"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, options())
			conn := r.ask(c.method, c.target, "", c.header...)
			if got := r.head[conn]; got == nil || got.Status != c.status || r.body[conn].String() != c.body {
				t.Fatalf("said %q", r.said(conn))
			}
			h := r.head[conn].Header
			if len(h["Content-Type"]) != 1 || h["Content-Type"][0] != "application/json; charset=utf-8" || h["Retry-After"] != nil {
				t.Errorf("headers %v", h)
			}
			_, challenged := h["Www-Authenticate"]
			if sdk := strings.Contains(c.body, "invalid_token"); challenged != sdk {
				t.Errorf("challenge %v", h["Www-Authenticate"])
			}
			if got := len(r.s.attempts.open) == 1; got != c.counted {
				t.Errorf("counted %v", got)
			}
		})
	}
}

// TestChallenge: the challenge of a 401 repeats the description.
func TestChallenge(t *testing.T) {
	r := newRig(t, options())
	c := r.ask("GET", EventsPath, "")
	if got := r.head[c].Header["Www-Authenticate"][0]; got != `Bearer error="invalid_token", error_description="Missing Authorization header"` {
		t.Error(got)
	}
}

// TestAdmitted: what may vary in a request that is let in (fleet facts 1.1, 1.2).
func TestAdmitted(t *testing.T) {
	o := options()
	o.Origins = []string{"http://cockpit.test"}
	for name, ask := range map[string]func(*rig) Conn{
		"plain":      func(r *rig) Conn { return r.open("OWN-CCC") },
		"second":     func(r *rig) Conn { return r.open("OWN-2") },
		"path case":  func(r *rig) Conn { return r.ask("GET", "/FLEET/events", "", "Authorization", "Bearer OWN-CCC") },
		"query":      func(r *rig) Conn { return r.ask("GET", EventsPath+"?a=b", "", "Authorization", "Bearer OWN-CCC") },
		"scheme":     func(r *rig) Conn { return r.ask("GET", EventsPath, "", "Authorization", "bEARER OWN-CCC") },
		"more words": func(r *rig) Conn { return r.ask("GET", EventsPath, "", "Authorization", "Bearer OWN-CCC more") },
		"ipv6":       func(r *rig) Conn { return r.open("OWN-CCC", "Host", "[::1]:80") },
		"accept":     func(r *rig) Conn { return r.open("OWN-CCC", "Accept", "text/html", "Last-Event-Id", "7") },
	} {
		r := newRig(t, o)
		if c := ask(r); !r.live(c) {
			t.Errorf("%s: %s", name, r.said(c))
		}
	}
	r := newRig(t, o)
	c := r.open("OWN-CCC", "Origin", "http://cockpit.test")
	if got := r.head[c].Header["Access-Control-Allow-Origin"]; !r.live(c) || len(got) != 1 || got[0] != "http://cockpit.test" {
		t.Errorf("admitted origin: %v", got)
	}
}

// TestHead: HEAD reaches the same handler, takes a place, and gets no byte.
func TestHead(t *testing.T) {
	r := newRig(t, options())
	c := r.ask("HEAD", EventsPath, "", "Authorization", "Bearer OWN-CCC")
	r.pass(time.Minute)
	r.publish("@viewer")
	if r.head[c] != nil || r.closed[c] != "" || r.s.State().Streams != 1 {
		t.Errorf("head %v, streams %d", r.head[c], r.s.State().Streams)
	}
	r.s.Gone(r.clock(), c)
	if r.s.State().Streams != 0 {
		t.Error("its place is not free")
	}
}

// TestAttempts is P-FW-10 and the limiter of fleet facts 1.5: 30 in a fixed window from the first attempt, refused ones count and do
// not extend it, all streams of a viewer share it, and others are not touched.
func TestAttempts(t *testing.T) {
	o := options()
	o.RetryAfter = true
	r := newRig(t, o)
	too := "429 " + wiredBody("fleet: too many stream attempts")
	for i := range 30 {
		c := r.open([]string{"OWN-CCC", "OWN-2"}[i%2])
		if i < 8 && !r.live(c) {
			t.Fatalf("attempt %d: %s", i+1, r.said(c))
		}
		if i >= 8 {
			r.want(c, "429 "+wiredBody("fleet: stream cap reached (per viewer)")) // counts as well
			if got := r.head[c].Header["Retry-After"]; got[0] != "5" {
				t.Errorf("Retry-After %v", got)
			}
		}
		r.now += time.Second
	}
	for _, at := range []time.Duration{30 * time.Second, 59*time.Second + 999*time.Millisecond} {
		r.now = at
		c := r.open("OWN-CCC")
		r.want(c, too)
		if got := r.head[c].Header["Retry-After"][0]; got != map[bool]string{true: "30", false: "1"}[at == 30*time.Second] {
			t.Errorf("Retry-After %q at %v", got, at)
		}
	}
	if c := r.open("OTHER-CCC"); !r.live(c) {
		t.Error("another viewer's budget was touched")
	}
	r.now = time.Minute // one window after the first attempt, not after the last
	r.want(r.open("OWN-CCC"), "429 "+wiredBody("fleet: stream cap reached (per viewer)"))
	if got := count(r.words(EventsPath), "429 "+tooManyAttempts); got != 2 {
		t.Errorf("%d refusals recorded", got)
	}
}

// TestUncounted: what is refused before the limiter does not use up anything, and all without a subject share one key.
func TestUncounted(t *testing.T) {
	o := options()
	o.Attempts = 2
	r := newRig(t, o)
	for range 5 {
		r.ask("GET", EventsPath, "", "Authorization", "Bearer WRONG")
		r.open("OWN-CCC", "Origin", "http://evil.test")
		r.open("OWN-CCC", "Host", "evil.test")
	}
	for range 2 {
		if c := r.open("OWN-CCC"); !r.live(c) {
			t.Error(r.said(c))
		}
		r.want(r.open("NONE-CCC"), "403 "+wiredBody("fleet: viewer identity carries no stable subject"))
	}
	r.want(r.open("OWN-CCC"), "429 "+wiredBody("fleet: too many stream attempts"))
	r.want(r.open("NONE-CCC"), "429 "+wiredBody("fleet: too many stream attempts")) // the limiter is asked before the subject
}

// TestStreamKey is fleet facts 1.6: the login only with its proof, otherwise the provider's tuple.
func TestStreamKey(t *testing.T) {
	for _, c := range []struct {
		v      Viewer
		proven string
		want   string
	}{
		{Viewer{ProviderUsername: "viewer", Provider: "github", ProviderUserID: "1"}, "@viewer", "@viewer"},
		{Viewer{ProviderUsername: "viewer", Provider: "github", ProviderUserID: "1"}, "", "provider:github:1"},
		{Viewer{ProviderUsername: "viewer", Provider: "github", ProviderUserID: "1"}, "@other", "provider:github:1"},
		{Viewer{Username: "viewer"}, "@viewer", "@viewer"},
		{Viewer{ProviderUsername: "a b", Username: "viewer", Provider: "g", ProviderUserID: "1"}, "@viewer", "provider:g:1"},
		{Viewer{Username: "@viewer"}, "@viewer", "@viewer"},
		{Viewer{Provider: "github"}, "", ""},
		{Viewer{ProviderUserID: "1"}, "", ""},
		{Viewer{}, "", ""},
	} {
		v := &viewer{Viewer: c.v, login: canonical(c.v.ProviderUsername, c.v.Username)}
		if got := v.key(c.proven); got != c.want {
			t.Errorf("%+v proven %q: key %q, want %q", c.v, c.proven, got, c.want)
		}
	}
}

// TestCutText: the text of a W refusal is cut at 300 characters.
func TestCutText(t *testing.T) {
	if got := wired(404, strings.Repeat("é", 400)).body; got != wiredBody(strings.Repeat("é", 300)) {
		t.Error(len(got))
	}
}
