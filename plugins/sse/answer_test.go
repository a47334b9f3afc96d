package sse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// answered is what a machine makes of the head of the answer to its first request.
func answered(words []string, status int, header transport.Header) string {
	m := NewMachine()
	m.Start(wireAttempt(words))
	take(m)
	m.Head(transport.Head{Status: status, Header: header})
	return take(m)
}

func TestStatus(t *testing.T) {
	stream := transport.Header{"Content-Type": {"text/event-stream"}}
	resume := []string{"resume"}
	for _, c := range []struct {
		words  []string
		status int
		header transport.Header
		want   string
	}{
		{nil, 200, stream, "open"},
		{nil, 200, transport.Header{"Content-Type": {"Text/Event-Stream; charset=utf-8"}}, "open"},                                  // P-CON-03
		{nil, 200, transport.Header{"Content-Type": {" text/event-stream ;charset=latin1"}}, "open"},                                // always UTF-8
		{nil, 200, transport.Header{"Content-Type": {"text/event-stream-x"}}, "refused bad-media-type (bad-content-type)"},          // P-CON-03
		{nil, 200, transport.Header{"Content-Type": {"text/html"}}, "refused bad-media-type (bad-content-type: text/html)"},         // P-CON-02
		{nil, 200, transport.Header{"Content-Type": {"*/*"}}, "refused bad-media-type (bad-content-type)"},                          // P-CON-03
		{nil, 200, transport.Header{"Content-Type": {"text/event-stream, text/html"}}, "refused bad-media-type (bad-content-type)"}, // two in one
		{nil, 200, transport.Header{"Content-Type": {"text/event-stream", "text/html"}}, "refused bad-media-type (bad-content-type: text/html)"},
		{nil, 200, nil, "refused bad-media-type (bad-content-type: none)"},
		{nil, 200, transport.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}, "refused bad-media-type (content-encoding not asked for)"},
		{nil, 200, transport.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"identity"}}, "open"},
		{nil, 204, nil, "ended server-stop (status 204)"}, // P-CON-01
		{nil, 201, stream, "refused rejected (status 201)"},
		{nil, 206, stream, "refused rejected (status 206)"},
		{nil, 304, nil, "refused rejected (status 304)"},
		{nil, 400, nil, "refused rejected (status 400)"},
		{nil, 401, nil, "refused unauthorized (status 401)"}, // P-CON-14
		{nil, 403, nil, "refused unauthorized (status 403)"},
		{nil, 404, nil, "refused rejected (status 404)"},
		{nil, 410, nil, "refused rejected (status 410)"},
		{resume, 410, nil, "expired cursor-expired (status 410)"},
		{[]string{"resume", "resumeBy=parameter"}, 410, nil, "expired cursor-expired (status 410)"},
		{nil, 429, transport.Header{"Retry-After": {"5"}}, "ended throttled (status 429) retry-after=5s"},
		{nil, 503, transport.Header{"Retry-After": {"120"}}, "ended throttled (status 503) retry-after=2m0s"},
		{nil, 503, nil, "ended throttled (status 503)"},
		{nil, 500, transport.Header{"Retry-After": {"5"}}, "ended connection-lost (status 500)"},
		{nil, 502, nil, "ended connection-lost (status 502)"},
		{nil, 599, nil, "ended connection-lost (status 599)"},
		{nil, 999, nil, "refused rejected (status 999)"},
		{nil, 0, nil, "refused rejected (status 0)"},
	} {
		if got := answered(c.words, c.status, c.header); got != c.want {
			t.Errorf("%d %v %v: got %q, want %q", c.status, c.header, c.words, got, c.want)
		}
	}
}

// P-CON-04, P-CON-05: a redirect is followed within the origin, with everything that the request carried, and nowhere else.
func TestRedirects(t *testing.T) {
	for location, want := range map[string]string{
		"/other?x=1#part":             "GET http://127.0.0.1:8080/other?x=1",
		"http://127.0.0.1:8080/o":     "GET http://127.0.0.1:8080/o",
		"HTTP://127.0.0.1:8080/o":     "GET http://127.0.0.1:8080/o",
		"next":                        "GET http://127.0.0.1:8080/next",
		"":                            "refused bad-redirect (redirect-without-location)",
		"http://127.0.0.1:8081/o":     "refused bad-redirect (cross-origin-redirect)",
		"https://127.0.0.1:8080/o":    "refused bad-redirect (cross-origin-redirect)",
		"http://localhost:8080/o":     "refused bad-redirect (cross-origin-redirect)",
		"//other.example/o":           "refused bad-redirect (cross-origin-redirect)",
		"http://u:p@127.0.0.1:8080/o": "refused bad-redirect (redirect-with-userinfo)",
		"http://127.0.0.1:8080:1/%zz": "refused bad-redirect (redirect-unreadable)",
		"javascript:alert(1)":         "refused bad-redirect (cross-origin-redirect)",
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			got := answered([]string{"resume"}, status, transport.Header{"Location": {location}})
			if strings.HasPrefix(want, "GET") {
				if first, rest, _ := strings.Cut(got, "\n"); first != want || !strings.Contains(rest, "Last-Event-ID: incidents-v7:41") {
					t.Errorf("%d %q: got %q", status, location, got)
				}
			} else if got != want {
				t.Errorf("%d %q: got %q, want %q", status, location, got, want)
			}
		}
	}
	if got := answered(nil, 301, nil); got != "refused bad-redirect (redirect-without-location)" {
		t.Errorf("no Location: %q", got)
	}
	if got := answered(nil, 301, transport.Header{"Location": {"/a", "/b"}}); got != "refused bad-redirect (redirect-with-two-locations)" {
		t.Errorf("two Locations: %q", got)
	}
}

func TestDefaultPortsAreTheSameOrigin(t *testing.T) {
	for _, c := range []struct{ from, to string }{{"http://h/s", "http://H:80/t"}, {"https://h:443/s", "https://h/t"}} {
		m := NewMachine()
		a := wireAttempt(nil)
		a.Endpoint = c.from
		m.Start(a)
		take(m)
		m.Head(transport.Head{Status: 307, Header: transport.Header{"Location": {c.to}}})
		if got := take(m); !strings.HasPrefix(got, "GET "+strings.ToLower(c.to[:5])) {
			t.Errorf("%s to %s: %q", c.from, c.to, got)
		}
	}
}

// P-CON-05: a ring stops at the limit.
func TestRedirectRing(t *testing.T) {
	m := NewMachine()
	m.Start(wireAttempt(nil))
	take(m)
	for n := 1; ; n++ {
		m.Head(transport.Head{Status: 307, Header: transport.Header{"Location": {"/stream"}}})
		got := take(m)
		if strings.HasPrefix(got, "GET ") {
			continue
		}
		if want := fmt.Sprintf("refused bad-redirect (too-many-redirects: limit %d)", web.MaxRedirects); got != want || n != web.MaxRedirects+1 {
			t.Fatalf("after %d answers: %q, want %q", n, got, want)
		}
		return
	}
}
