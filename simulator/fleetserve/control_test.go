package fleetserve

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/conform-dev/conform/simulator/fleet"
)

// TestControl plays the whole API on one server: each answer holds the state.
func TestControl(t *testing.T) {
	s := open(t, table())
	_, res := s.stream("OWN-CCC")
	s.until(res.Body, "}\n\n")
	for _, c := range []struct {
		call, body string
		want       func(result string, st fleet.State) bool
	}{
		{"GET /state", "", func(_ string, st fleet.State) bool { return st.Streams == 1 && st.Armed }},
		{"POST /publish", `{"identity":"@viewer","events":[{"kind":"task_state_changed","source":"TASK:1"},{"priority":"high"}]}`, func(r string, st fleet.State) bool {
			return st.LogID == 2 && st.Wakes == 1 && strings.Contains(r, `"logIds":[1,2]`) && strings.Contains(r, `"state":"accepted"`)
		}},
		{"POST /read", `{"logId":2}`, func(_ string, st fleet.State) bool { return st.LogEntries == 2 }},
		{"POST /raw", `{"text":":x\n\n"}`, func(_ string, st fleet.State) bool { return st.Streams == 1 }},
		{"POST /silence", `{}`, func(_ string, st fleet.State) bool { return st.Streams == 1 }},
		{"POST /silence", `{"on":false}`, func(_ string, st fleet.State) bool { return st.Streams == 1 }},
		{"POST /cut", `{"identity":"@viewer","how":"eof"}`, func(r string, st fleet.State) bool { return r == "1" && st.Streams == 0 }},
		{"POST /disarm", `{"identity":"@viewer"}`, func(_ string, st fleet.State) bool { return len(st.Routes) == 0 }},
		{"POST /arm", `{"fault":"rotate"}`, func(r string, st fleet.State) bool {
			return r == `"not-armed: rotate-key returned no signing key"` && !st.Armed
		}},
		{"POST /arm", `{"identity":"@other"}`, func(r string, st fleet.State) bool {
			return r == `"armed"` && len(st.Routes) == 1 && st.Routes[0].Identity == "@other"
		}},
		{"POST /fail", `{"what":"poll"}`, func(_ string, st fleet.State) bool { return true }},
		{"POST /revoke", `{"viewer":1,"class":3}`, func(_ string, st fleet.State) bool { return true }},
		{"POST /reset-log", `{"logId":7}`, func(_ string, st fleet.State) bool { return st.LogID == 7 && st.LogEntries == 0 }},
		{"POST /dispose", ``, func(_ string, st fleet.State) bool { return st.Disposed && len(st.Routes) == 0 }},
		{"POST /restart", `{"how":"reset"}`, func(_ string, st fleet.State) bool { return !st.Disposed && st.Armed }},
	} {
		method, path, _ := strings.Cut(c.call, " ")
		got, h := s.ask(method, controlRoot+path, c.body)
		var answer struct {
			Result json.RawMessage
			State  fleet.State
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(got, "200 ")), &answer); err != nil || h.Get("Content-Type") != "application/json" || !c.want(string(answer.Result), answer.State) {
			t.Errorf("%s %s: %s", c.call, c.body, got)
		}
	}
	// What the calls did, seen from outside.
	if got, _ := s.ask("POST", fleet.PollPath, `{"subscriptionId":"WAKE_SUB:relay"}`, "Authorization", "Bearer MCP-AAA"); got != `500 {"error":"The poll failed."}` {
		t.Error(got)
	}
	if got, _ := s.ask("POST", fleet.PollPath, `{}`, "Authorization", "Bearer OTHER-MCP"); !strings.HasPrefix(got, "401 ") {
		t.Error(got)
	}
}

// TestControlRefuses: bad input is a problem document that names the member and its place, and changes nothing.
func TestControlRefuses(t *testing.T) {
	s := open(t, table())
	for _, c := range []struct {
		call, body, want string
		head             []string
	}{
		{"POST /publish", `{"identity":"@viewer","event":[]}`, `400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"unknown member; known are identity, events","member":"event","line":1,"column":23}`, nil},
		{"POST /publish", `{"identity":"@viewer","events":[{"kind":"x"}]}`, `409 {"type":"about:blank","title":"Conflict","status":409,"detail":"events[0]: kind: \"x\" is none of`, nil},
		{"POST /publish", `{`, `400 `, nil},
		{"POST /cut", `{"how":"slowly"}`, `how: \"slowly\" is none of eof, cut, reset`, nil},
		{"POST /restart", `{"how":"slowly"}`, `how: \"slowly\" is none of eof, cut, reset`, nil},
		{"POST /revoke", `{"viewer":9}`, `viewer: 9 is not in 0 to 1`, nil},
		{"POST /read", `{"logId":9}`, `logId: 9 is not in the log`, nil},
		{"POST /arm", `{"identity":"@x"}`, `is no viewer with a plane bearer`, nil},
		{"POST /fail", `{"what":"x"}`, `is none of handshake, hand-over, poll`, nil},
		{"POST /dispose", `{"x":1}`, `unknown member`, nil},
		{"POST /nothing", ``, `404 `, nil},
		{"PUT /state", ``, `404 `, nil},
		{"GET /state", ``, `421 `, []string{"Host", "evil.test"}},
		{"GET /state", ``, `403 `, []string{"Origin", "http://127.0.0.1"}},
		{"POST /raw", `{"text":"` + strings.Repeat("x", MaxControlBody) + `"}`, `400 `, nil},
		{"POST /raw", `{"text":"` + strings.Repeat("x", fleet.MaxRaw+1) + `"}`, `raw: 4194305 bytes are not in`, nil},
	} {
		method, path, _ := strings.Cut(c.call, " ")
		got, h := s.ask(method, controlRoot+path, c.body, c.head...)
		if !strings.Contains(got, c.want) || h.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %.80s: %s", c.call, c.body, got)
		}
	}
	if st := s.State(); st.LogID != 0 || st.Disposed {
		t.Errorf("%+v", st)
	}
}
