package serve

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/internal/need"
	"github.com/conform-dev/conform/simulator"
)

// call makes one control request; head are further header lines, name and value in turn.
func (s *site) call(method, path, body string, head ...string) (int, string, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, method, "http://"+s.Addr()+path, strings.NewReader(body))
	s.must(err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(head); i += 2 {
		if head[i] == "Host" {
			req.Host = head[i+1]
		}
		req.Header.Set(head[i], head[i+1])
	}
	res, err := s.client.Do(req)
	s.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	s.must(err)
	return res.StatusCode, res.Header.Get("Content-Type"), strings.TrimSpace(string(text))
}

// TestControl plays the whole API on one server: each answer is the state.
func TestControl(t *testing.T) {
	s := open(t, simulator.Options{Head: 40})
	for _, c := range []struct {
		method, path, body string
		want               func(simulator.State) bool
	}{
		{"GET", "/state", "", func(st simulator.State) bool { return st.Head == 40 && st.Rows == 3 && st.Epoch == "incidents-v7" }},
		{"POST", "/publish", "", func(st simulator.State) bool { return st.Head == 41 }},
		{"POST", "/publish", `{"count":3,"kind":"mixed"}`, func(st simulator.State) bool { return st.Head == 44 }},
		{"POST", "/publish", `{"changes":[{"type":"upsert","id":"pump-1","feature":{"state":"shut"}},{"type":"delete","id":"1"},` +
			`{"type":"delta","upserts":[{"id":"pump-2","feature":{}}],"deletes":["pump-1"]}]}`, func(st simulator.State) bool { return st.Head == 47 }},
		{"POST", "/trim", `{"keep":2}`, func(st simulator.State) bool { return st.Oldest == 46 }},
		{"POST", "/trim", "", func(st simulator.State) bool { return st.Oldest == 48 }},
		{"POST", "/retention", `{"retention":5}`, func(st simulator.State) bool { return st.Retention == 5 }},
		{"POST", "/pause", "", func(st simulator.State) bool { return st.Paused }},
		{"POST", "/resume", "{}", func(st simulator.State) bool { return !st.Paused }},
		{"POST", "/fault", `{"fault":"gap","at":{"sequence":60},"with":{"skip":2},"times":-1}`, func(st simulator.State) bool {
			return len(st.Faults) == 1 && st.Faults[0].With["skip"] == "2" && st.Faults[0].Times == simulator.Always
		}},
		{"DELETE", "/fault", "", func(st simulator.State) bool { return len(st.Faults) == 0 }},
		{"POST", "/publish", `{"changes":[{"type":"delta","eventId":"delta-48","timestamp":"2026-07-27T03:59:59.500Z","upserts":[{"id":"3","feature":{}},{"id":"1","feature":{}},{"id":"3","feature":{"a":1}}],"deletes":["2"]}]}`,
			func(st simulator.State) bool { return st.Head == 48 && st.Rows == 5 }},
		{"POST", "/jump", `{"to":100}`, func(st simulator.State) bool { return st.Head == 100 && st.Oldest == 101 && st.Rows == 5 }},
		{"POST", "/jump", `{"to":200,"rows":[{"id":"1","feature":{}}]}`, func(st simulator.State) bool { return st.Head == 200 && st.Rows == 1 }},
		{"POST", "/jump", `{"to":201,"rows":[]}`, func(st simulator.State) bool { return st.Head == 201 && st.Rows == 0 }},
		{"POST", "/restart", `{"head":3,"epoch":true,"as":"reset"}`, func(st simulator.State) bool { return st.Head == 3 && st.Epoch == "incidents-v8" }},
	} {
		status, mime, text := s.call(c.method, controlRoot+c.path, c.body)
		var st struct {
			simulator.State
			Faults json.RawMessage `json:"faults"`
		}
		if err := json.Unmarshal([]byte(text), &st); err != nil || status != 200 || mime != "application/json" {
			t.Errorf("%s %s %s: %d %s %s %v", c.method, c.path, c.body, status, mime, text, err)
			continue
		}
		if st.Epoch == "" || !c.want(s.State()) || st.Head != s.State().Head {
			t.Errorf("%s %s %s: %s", c.method, c.path, c.body, text)
		}
	}
}

// TestControlRefuses: bad input is a problem document that names the member and its place, and changes nothing.
func TestControlRefuses(t *testing.T) {
	s := open(t, simulator.Options{Head: 40})
	before := s.State()
	for _, c := range []struct {
		method, path, body, want string
		head                     []string
	}{
		{"POST", "/publish", `{"count":0}`, `400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"0 is not a whole number in 1 to 10000","member":"count","line":1,"column":10}`, nil},
		{"POST", "/publish", "{\n  \"cuont\": 1}", `400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"unknown member; known are count, kind, changes","member":"cuont","line":2,"column":3}`, nil},
		{"POST", "/publish", `{"count":1.5}`, `"detail":"1.5 is not a whole number in 1 to 10000","member":"count"`, nil},
		{"POST", "/publish", `{"count":1,"count":2}`, `"detail":"member given twice","member":"count","line":1,"column":12`, nil},
		{"POST", "/publish", `{"kind":"all"}`, `"detail":"must be upsert, delete, delta or mixed","member":"kind"`, nil},
		{"POST", "/publish", `{"count":1,"changes":[]}`, `"detail":"stands beside changes; give one of them","member":"count"`, nil},
		{"POST", "/publish", `{"changes":[]}`, `"member":"changes"`, nil},
		{"POST", "/publish", `{"changes":[{"type":"upsert","id":"1","feature":{}},{"type":"upsert","id":"1"}]}`, `"detail":"feature is missing","member":"changes[1]","line":1,"column":53`, nil},
		{"POST", "/publish", `{"changes":[{"type":"upsert","id":"1","feature":[]}]}`, `"detail":"feature: a row's feature is a JSON object","member":"changes[0]"`, nil},
		{"POST", "/publish", `{"changes":[{"type":"snapshot"}]}`, `"detail":"type must be upsert, delete or delta"`, nil},
		{"POST", "/publish", `{"changes":[{"type":"delete","id":7}]}`, `"detail":"must be a text, is a number","member":"changes[0].id"`, nil},
		{"POST", "/publish", `[]`, `"detail":"must be an object, is a list"`, nil},
		{"POST", "/publish", `{`, `"detail":"no JSON: the document ends too early"`, nil},
		{"POST", "/publish", `{} {}`, `"detail":"something follows the document"`, nil},
		{"POST", "/publish", "\xff", `"detail":"not UTF-8"`, nil},
		{"POST", "/publish", strings.Repeat("[", 100), `"detail":"nested deeper than 64"`, nil},
		{"POST", "/publish", `{"kind":"` + strings.Repeat("x", MaxBody) + `"}`, `413 {"type":"about:blank","title":"Request Entity Too Large","status":413,"detail":"body: larger than 4194304 bytes"}`, nil},
		{"POST", "/publish", `{}`, `415 {"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"content-type: must be application/json"}`, []string{"Content-Type", "text/plain"}},
		{"POST", "/publish", `{"changes":[{"type":"delete","id":"1","timestamp":"yesterday"}]}`, `"detail":"must be a date of RFC 3339, after 1970","member":"changes[0].timestamp"`, nil},
		{"POST", "/publish", `{"changes":[{"type":"delete","id":"1","eventId":"a\nb"}]}`, `"detail":"eventId: at most 256 bytes of UTF-8 without control characters","member":"changes[0]"`, nil},
		{"POST", "/jump", `{"to":40}`, `409 {"type":"about:blank","title":"Conflict","status":409,"detail":"to: 40 is not in 41 to 9007199254675455"}`, nil},
		{"POST", "/jump", `{}`, `"detail":"to is missing"`, nil},
		{"POST", "/jump", `{"to":50,"rows":[{"id":"1","feature":{}},{"id":"1","feature":{}}]}`, `409 {"type":"about:blank","title":"Conflict","status":409,"detail":"rows[1]: id: a row with this id stands before it"}`, nil},
		{"POST", "/jump", `{"to":50,"rows":[{"id":"1"}]}`, `"detail":"feature is missing","member":"rows[0]"`, nil},
		{"POST", "/trim", `{"keep":-1}`, `"member":"keep"`, nil},
		{"POST", "/retention", `{}`, `"detail":"retention is missing"`, nil},
		{"POST", "/pause", `{"for":1}`, `"detail":"unknown member; none is known here","member":"for"`, nil},
		{"POST", "/restart", `{"head":3}`, `409 {"type":"about:blank","title":"Conflict","status":409,"detail":"head: 3 is older than the history, which begins after 40"}`, nil},
		{"POST", "/restart", `{"as":"bang"}`, `"detail":"must be cut, eof or reset","member":"as"`, nil},
		{"POST", "/fault", `{"fault":"gapp"}`, `"detail":"unknown fault \"gapp\"; known are gap, `, nil},
		{"POST", "/fault", `{"fault":"gap","at":{"byte":3}}`, `"member":"at.byte","line":1,"column":22`, nil},
		{"POST", "/fault", `{"fault":"gap","with":{"skip":"2"}}`, `"detail":"must be a number","member":"with.skip"`, nil},
		{"GET", "/nothing", "", `404 {"type":"about:blank","title":"Not Found","status":404,"detail":"no such control request"}`, nil},
		{"GET", "/publish", "", `405 {"type":"about:blank","title":"Method Not Allowed","status":405,"detail":"method: allowed are POST"}`, nil},
		{"GET", "/state", "", `421 {"type":"about:blank","title":"Misdirected Request","status":421,"detail":"host: requests for this name are not served"}`, []string{"Host", "attacker.example"}},
		{"POST", "/publish", "", `403 {"type":"about:blank","title":"Forbidden","status":403,"detail":"origin: requests of other sites are not served"}`, []string{"Origin", "https://attacker.example"}},
		{"POST", "/publish", "", `403 `, []string{"Origin", "null"}},
	} {
		status, mime, text := s.call(c.method, controlRoot+c.path, c.body, c.head...)
		if got := http.StatusText(status) + " " + mime; !strings.HasSuffix(got, " application/problem+json") {
			t.Errorf("%s %s %.60s: %s", c.method, c.path, c.body, got)
		}
		if got := strings.Join([]string{strconv.Itoa(status), text}, " "); !strings.Contains(got, c.want) {
			t.Errorf("%s %s %.60s\n got %s\nwant %s", c.method, c.path, c.body, got, c.want)
		}
	}
	if diff := cmp.Diff(before, s.State()); diff != "" {
		t.Errorf("refused calls changed the state:\n%s", diff)
	}
	// The stream itself is not shown to a page of another site either.
	if status, _, _ := s.call("GET", "/stream", "", "Host", "attacker.example:80"); status != http.StatusMisdirectedRequest {
		t.Errorf("stream for another host: %d", status)
	}
}

// TestHosts: a named host is served beside the loopback ones.
func TestHosts(t *testing.T) {
	s := &Server{hosts: map[string]bool{"sim.test": true}}
	for host, want := range map[string]bool{"127.0.0.1:80": true, "127.9.9.9": true, "[::1]:80": true, "localhost": true, "LocalHost:1": true,
		"sim.test:8080": true, "SIM.test": true, "": false, "10.0.0.1": false, "localhost.attacker.example": false, "127.0.0.1.nip.io": false} {
		if got := s.allowed(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}

// TestCurl: the line that is printed for people works as it stands, where there is a curl.
func TestCurl(t *testing.T) {
	s := open(t, simulator.Options{})
	if want := "curl -N 'http://" + s.Addr() + "/stream?sourceId=incidents&mode=snapshot-then-delta'"; s.Curl() != want {
		t.Errorf("%s, want %s", s.Curl(), want)
	}
	if _, _, err := net.SplitHostPort(s.Addr()); err != nil {
		t.Error(err)
	}
	need.Command(t, "curl", "curl") // the text above was checked; running it needs one
	s.must(s.Add(simulator.Fault{Name: "cut", At: simulator.At{Event: 1}, With: map[string]string{"as": "eof"}}))
	out, err := exec.CommandContext(s.ctx, "sh", "-c", s.Curl()).Output()
	if err != nil || !strings.Contains(string(out), "event: snapshot\ndata: {") {
		t.Errorf("curl: %v\n%s", err, out)
	}
}
