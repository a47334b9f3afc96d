package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/simulator"
)

// poll asks over HTTP and answers status and body.
func (r *rig) poll(token, id string, since int64) string {
	r.t.Helper()
	return r.said(r.ask("POST", PollPath, fmt.Sprintf(`{"subscriptionId":%q,"sinceLogId":%d}`, id, since), "Authorization", "Bearer "+token))
}

// tool calls the tool with a bearer.
func (r *rig) tool(token, arguments string) Result {
	r.t.Helper()
	by, refused := r.s.Plane(r.clock(), Request{Method: "POST", Target: ToolPath, Host: "localhost", Header: simulator.Header{"Authorization": {"Bearer " + token}}})
	defer r.drain()
	if refused != nil {
		return Result{Text: fmt.Sprintf("%d %s", refused.Status, refused.Body), Error: true}
	}
	return r.s.Tool(r.clock(), by, []byte(arguments))
}

const pollRelay = `{"action":"poll-digest","subscriptionId":"WAKE_SUB:relay","sinceLogId":`

// TestPollDigest is D1, D2, D5 and fleet facts 4 in exact bytes, over both doors.
func TestPollDigest(t *testing.T) {
	r := newRig(t, options())
	both := func(since int64, want string) {
		t.Helper()
		if got := r.poll("MCP-AAA", "WAKE_SUB:relay", since); got != "200 "+want {
			t.Errorf("HTTP since %d: %s", since, got)
		}
		if got := r.tool("MCP-AAA", fmt.Sprintf("%s%d}", pollRelay, since)); got.Error || got.Text != want {
			t.Errorf("tool since %d: %s", since, got.Text)
		}
	}
	empty := func(mark int64) string {
		return fmt.Sprintf(`{"subscriptionId":"WAKE_SUB:relay","pending":0,"reason":"no wake-relevant events above the client watermark in current read state","watermark":%d}`, mark)
	}
	both(0, empty(0))
	both(999999, empty(999999)) // D2
	r.publish("@viewer", Event{}, Event{})
	d1 := `{"subscriptionId":"WAKE_SUB:relay","pending":2,"digest":"2 sent_to_me","digestPriority":"normal","eventsReplayed":2,"watermark":2}`
	both(0, d1) // D1
	both(2, empty(2))
	both(0, d1) // D5: the mark is the client's; at the old one everything is seen again
	both(999999, empty(999999))
	r.publish("@viewer", Event{Kind: TaskState}, Event{Kind: Permission}, Event{Kind: Pulse}, Event{Kind: Other}, Event{Priority: "low"}, Event{Priority: "critical"})
	r.publish("@other")
	both(2, `{"subscriptionId":"WAKE_SUB:relay","pending":5,"digest":"2 sent_to_me, 1 task_state_changed, 1 permission_granted, 1 heartbeat_pulse","digestPriority":"critical","eventsReplayed":6,"watermark":9}`)
	r.must(r.s.Read(r.clock(), 8)) // the critical one
	both(6, `{"subscriptionId":"WAKE_SUB:relay","pending":1,"digest":"1 sent_to_me","digestPriority":"low","eventsReplayed":1,"watermark":9}`)
	r.must(r.s.Read(r.clock(), 7))
	both(6, empty(9))
	if err := r.s.Read(r.clock(), 99); err == nil {
		t.Error("read what is not there")
	}
}

// TestPollStamp is D3 and D4: the time of the poll is kept and shown to its owner, a mark is not, and a foreigner stamps nothing.
func TestPollStamp(t *testing.T) {
	r := newRig(t, options())
	list := func() string { return r.tool("MCP-AAA", `{"action":"list"}`).Text }
	want := func(stamp string) string {
		return `{"subscriptions":[{"subscriptionId":"WAKE_SUB:relay","owner":"@viewer","harnessTarget":"a2a-webhook","url":"http://fleet.test/wake","lastPollAt":` + stamp + `}]}`
	}
	if got := list(); got != want("null") {
		t.Error(got)
	}
	for _, do := range []string{
		r.poll("OTHER-MCP", "WAKE_SUB:relay", 0),
		r.poll("MCP-AAA", "WAKE_SUB:relay", -1),
	} {
		if strings.HasPrefix(do, "200") || list() != want("null") {
			t.Errorf("D4: %s, %s", do, list())
		}
	}
	r.now = 1500 * time.Millisecond
	r.poll("MCP-AAA", "WAKE_SUB:relay", 77)
	if got := list(); got != want(`"2026-08-14T08:00:01.500Z"`) || strings.Contains(got, "77") {
		t.Errorf("D3: %s", got)
	}
	if got := r.tool("OTHER-MCP", `{"action":"list"}`); got.Error || got.Text != `{"subscriptions":[]}` {
		t.Error(got.Text)
	}
}

// TestPollRefused is D4, D6, D7 and the errors of fleet facts 4, over both doors.
func TestPollRefused(t *testing.T) {
	o := options()
	o.Viewers = append(o.Viewers, Viewer{ProviderUsername: "no login", UserID: "u6", Plane: []string{"UNBOUND"}})
	r := newRig(t, o)
	invalid := `401 {"error":"invalid_token","error_description":"Token is not admitted for this audience"}`
	for _, c := range []struct{ token, body, http, tool string }{
		{"MCP-AAA", `{"sinceLogId":0}`, "400 Missing 'subscriptionId' parameter.", "Missing 'subscriptionId' parameter."}, // D7
		{"MCP-AAA", `{"subscriptionId":7}`, "400 Missing 'subscriptionId' parameter.", "Missing 'subscriptionId' parameter."},
		{"MCP-AAA", `{"subscriptionId":"X"}`, "404 Subscription not found: X", "Subscription not found: X"},
		{"OTHER-MCP", `{"subscriptionId":"WAKE_SUB:relay"}`, "403 Permission denied: subscription WAKE_SUB:relay is owned by @viewer, not @other.", // D6
			"Permission denied: subscription WAKE_SUB:relay is owned by @viewer, not @other."},
		{"UNBOUND", `{"subscriptionId":"WAKE_SUB:relay"}`, "403 The caller has no bound identity.", "The caller has no bound identity."},
		{"OWN-CCC", `{"subscriptionId":"WAKE_SUB:relay"}`, invalid, invalid}, // class 1 never on the plane's audience
		{"MCP-AAA", `{"subscriptionId":"WAKE_SUB:relay","sinceLogId":-1}`, "400 Invalid 'sinceLogId' parameter: it is no whole number from 0 on.", "Invalid 'sinceLogId' parameter: it is no whole number from 0 on."},
		{"MCP-AAA", `{"subscriptionId":"WAKE_SUB:relay","sinceLogId":1.5}`, "400 Invalid 'sinceLogId' parameter: it is no whole number from 0 on.", "Invalid 'sinceLogId' parameter: it is no whole number from 0 on."},
		{"MCP-AAA", `{"subscriptionId":"WAKE_SUB:relay","sinceLogId":"1"}`, "400 Invalid 'sinceLogId' parameter: it is no whole number from 0 on.", "Invalid 'sinceLogId' parameter: it is no whole number from 0 on."},
		{"MCP-AAA", `{"subscriptionId":"WAKE_SUB:relay","sinceLogId":9007199254740992}`, "400 Invalid 'sinceLogId' parameter: it is no whole number from 0 on.", "Invalid 'sinceLogId' parameter: it is no whole number from 0 on."},
		{"MCP-AAA", `[]`, "400 The body is no JSON object of subscriptionId and sinceLogId.", ""},
		{"MCP-AAA", `{`, "400 The body is no JSON object of subscriptionId and sinceLogId.", ""},
		{"MCP-AAA", `{"action":"list"}`, "400 The body is no JSON object of subscriptionId and sinceLogId.", ""},
	} {
		want := c.http
		if status, text, _ := strings.Cut(c.http, " "); !strings.HasPrefix(text, "{") {
			want = status + ` {"error":` + quoted(text) + "}"
		}
		if got := r.said(r.ask("POST", PollPath, c.body, "Authorization", "Bearer "+c.token)); got != want {
			t.Errorf("HTTP %s: %s, want %s", c.body, got, want)
		}
		if c.tool == "" {
			continue
		}
		if got := r.tool(c.token, strings.Replace(strings.Replace(c.body, "{", `{"action":"poll-digest",`, 1), ",}", "}", 1)); !got.Error || got.Text != c.tool {
			t.Errorf("tool %s: %s, want %s", c.body, got.Text, c.tool)
		}
	}
	for state, want := range map[string]string{"large": `413 {"error":"invalid-body"}`, "broken": `400 {"error":"invalid-body"}`} {
		r.want(r.ask("POST", PollPath, "", "Authorization", "Bearer MCP-AAA", "State", state), want)
	}
	r.want(r.ask("POST", PollPath, "", "Authorization", "Bearer MCP-AAA", "Origin", "http://evil.test"), "403 "+wiredBody("fleet: origin not admitted"))
	if got := r.tool("MCP-AAA", `{"action":"drop"}`); !got.Error || !strings.HasPrefix(got.Text, "Unknown action; known are subscribe") {
		t.Error(got.Text)
	}
	if got := r.s.State().Polls; got != 0 {
		t.Errorf("%d polls were stamped", got)
	}
}

// TestPollFails: a poll that the plane cannot answer, once.
func TestPollFails(t *testing.T) {
	r := newRig(t, options())
	r.must(r.s.Fail(r.clock(), FailPoll, 1))
	if got := r.poll("MCP-AAA", "WAKE_SUB:relay", 0); got != `500 {"error":"The poll failed."}` {
		t.Error(got)
	}
	if got := r.poll("MCP-AAA", "WAKE_SUB:relay", 0); !strings.HasPrefix(got, "200") {
		t.Error(got)
	}
}

// TestSubscribe: the same owner and address is the same subscription; ids are not guessed, and their number is bounded.
func TestSubscribe(t *testing.T) {
	r := newRig(t, options())
	if got := r.tool("MCP-AAA", `{"action":"subscribe","url":"http://fleet.test/wake"}`); got.Text != `{"subscriptionId":"WAKE_SUB:relay"}` {
		t.Error(got.Text)
	}
	seen := map[string]bool{}
	for i := range MaxOwnSubscriptions - 1 {
		seen[r.tool("MCP-AAA", fmt.Sprintf(`{"action":"subscribe","url":"http://x.test/%d","harnessTarget":"a2a-webhook"}`, i)).Text] = true
	}
	if got := r.tool("MCP-AAA", `{"action":"subscribe","url":"http://x.test/more"}`); len(seen) != MaxOwnSubscriptions-1 || !got.Error {
		t.Errorf("%d, %s", len(seen), got.Text)
	}
	if got := r.tool("MCP-AAA", `{"action":"subscribe"}`); !got.Error {
		t.Error("no url")
	}
	if got := r.tool("OTHER-MCP", `{"action":"rotate-key","subscriptionId":"WAKE_SUB:relay"}`); !got.Error || !strings.HasPrefix(got.Text, "Permission denied") {
		t.Error(got.Text)
	}
}

// TestLog: the log is bounded, and one that begins again looks caught up to an old mark (fleet facts 4).
func TestLog(t *testing.T) {
	o := options()
	o.LogEntries = 3
	r := newRig(t, o)
	r.publish("@viewer", make([]Event, 5)...)
	if got := r.poll("MCP-AAA", "WAKE_SUB:relay", 0); !strings.Contains(got, `"pending":3,`) || !strings.Contains(got, `"watermark":5}`) || r.s.State().LogEntries != 3 {
		t.Error(got)
	}
	r.must(r.s.ResetLog(r.clock(), 0))
	r.publish("@viewer")
	if got := r.poll("MCP-AAA", "WAKE_SUB:relay", 5); !strings.Contains(got, `"pending":0,`) || !strings.Contains(got, `"watermark":5}`) {
		t.Error(got)
	}
	for _, bad := range [][]Event{make([]Event, MaxPublish+1), {{Kind: "x"}}, {{Priority: "x"}}, {{Source: strings.Repeat("x", MaxText+1)}}} {
		if _, err := r.s.Publish(r.clock(), "@viewer", bad); err == nil {
			t.Error("published")
		}
	}
	if _, err := r.s.Publish(r.clock(), "", nil); err == nil {
		t.Error("published for nobody")
	}
	if err := r.s.ResetLog(r.clock(), MaxLogID); err == nil {
		t.Error("no room left above")
	}
}
