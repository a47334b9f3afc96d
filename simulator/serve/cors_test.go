package serve

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/conform-dev/conform/simulator"
)

// page sends a request as a browser would for a page of that origin; extra are names and values of headers.
func (s *site) page(method, url, origin string, extra ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, method, url, nil)
	s.must(err)
	req.Header.Set("Origin", origin)
	for i := 0; i+1 < len(extra); i += 2 {
		req.Header.Set(extra[i], extra[i+1])
	}
	res, err := s.client.Do(req)
	s.must(err)
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// shared is what CORS says in an answer.
func shared(res *http.Response) string {
	var out []string
	for _, name := range []string{"Origin", "Credentials", "Methods", "Headers"} {
		if v := res.Header.Get("Access-Control-Allow-" + name); v != "" {
			out = append(out, strings.ToLower(name)+"="+v)
		}
	}
	return fmt.Sprint(res.StatusCode, " ", strings.Join(out, " "))
}

const (
	home  = "http://localhost:5173"
	other = "https://other.test"
)

// TestNoCORS: off by default; a browser then keeps the stream from every page of another origin.
func TestNoCORS(t *testing.T) {
	s := open(t, simulator.Options{})
	res := s.page("GET", s.URL(), home)
	if shared(res) != "200 " || res.Header.Get("Vary") != "" {
		t.Errorf("stream: %s", shared(res))
	}
	if got := shared(s.page("OPTIONS", s.URL(), home, "Access-Control-Request-Method", "GET")); got != "405 " {
		t.Errorf("preflight: %s", got)
	}
}

// TestCORS: the pages of a named origin may read the stream, resume it and use the control API; nobody else's may.
func TestCORS(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := openWith(t, Options{CORS: []string{"http://localhost:3000", home}, TLS: secure})
		const yes = "200 origin=" + home + " credentials=true"
		res := s.page("GET", s.URL(), home)
		if shared(res) != yes || res.Header.Get("Vary") != "Origin" || res.Header.Get("Access-Control-Expose-Headers") != "Retry-After" {
			t.Errorf("stream: %s, %v", shared(res), res.Header)
		}
		blocks(t, bufio.NewReader(res.Body), 2) // and the stream is a stream still
		asked := s.State().Requests
		ask := []string{"Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "last-event-id,x-tenant"}
		res = s.page("OPTIONS", s.URL(), home, ask...)
		if got := shared(res); got != "204 origin="+home+" credentials=true methods=GET headers=last-event-id,x-tenant" || res.Header.Get("Access-Control-Max-Age") != "600" {
			t.Errorf("preflight: %s, %v", got, res.Header)
		}
		if got := shared(s.page("OPTIONS", s.URL(), other, ask...)); got != "204 " {
			t.Errorf("preflight of another page: %s", got)
		}
		if s.State().Requests != asked {
			t.Error("a preflight counts as a request")
		}
		if res := s.page("GET", s.URL(), other); shared(res) != "200 " || res.Header.Get("Vary") != "Origin" {
			t.Errorf("stream for another page: %s", shared(res))
		}
		if got := shared(s.page("OPTIONS", s.ControlURL()+"/publish", home, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")); got != "204 origin="+home+" credentials=true methods=GET, POST, DELETE headers=content-type" {
			t.Errorf("preflight of the control API: %s", got)
		}
		if got := shared(s.page("POST", s.ControlURL()+"/publish", home)); got != yes {
			t.Errorf("control: %s", got)
		}
		if got := shared(s.page("GET", s.ControlURL()+"/nonsense", home)); got != "404 origin="+home+" credentials=true" {
			t.Errorf("a refusal can be read: %s", got)
		}
		head := s.State().Head
		if got := shared(s.page("POST", s.ControlURL()+"/publish", other)); got != "403 " || s.State().Head != head {
			t.Errorf("control for another page: %s", got)
		}
		// Faults are answers too.
		s.must(s.Add(simulator.Fault{Name: "status", With: map[string]string{"code": "503", "retryAfter": "1"}}))
		if res := s.page("GET", s.URL(), home); shared(res) != "503 origin="+home+" credentials=true" || res.Header.Get("Retry-After") != "1" {
			t.Errorf("a fault: %s", shared(res))
		}
	}
}

// TestCORSForAll: every page may read the stream, without cookies, and none may use the control API: it would be open to any page
// that somebody visits.
func TestCORSForAll(t *testing.T) {
	s := openWith(t, Options{CORS: []string{"*"}})
	for _, origin := range []string{home, other, "null"} {
		if got := shared(s.page("GET", s.URL(), origin)); got != "200 origin=*" {
			t.Errorf("%s: %s", origin, got)
		}
		if got := shared(s.page("OPTIONS", s.URL(), origin, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "last-event-id")); got != "204 origin=* methods=GET headers=last-event-id" {
			t.Errorf("%s: preflight %s", origin, got)
		}
	}
	if got := shared(s.page("POST", s.ControlURL()+"/publish", other)); got != "403 " {
		t.Errorf("control: %s", got)
	}
	if got := shared(s.page("OPTIONS", s.ControlURL()+"/publish", other, "Access-Control-Request-Method", "POST")); got != "204 " {
		t.Errorf("control, preflight: %s", got)
	}
}

func TestBadOrigins(t *testing.T) {
	for _, bad := range []string{"", "null", "localhost:5173", "http://", "http://localhost:5173/", "http://a.test/path", "ftp://a.test", "http://A.test", "http://*.test\r\nX: 1", "http://u@a.test", "http://a.test?x"} {
		if _, err := Start(t.Context(), Options{CORS: []string{bad}}); err == nil || !strings.HasPrefix(err.Error(), "cors: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := Start(t.Context(), Options{CORS: make([]string, MaxOrigins+1)}); err == nil || err.Error() != "cors: 65 origins, the limit is 64" {
		t.Errorf("too many: %v", err)
	}
}
