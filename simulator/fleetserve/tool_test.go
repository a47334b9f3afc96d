package fleetserve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/conform-dev/conform/simulator/fleet"
)

// bearing sends a bearer with every request.
type bearing struct {
	to    http.RoundTripper
	token string
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.to.RoundTrip(r)
}

// callTool makes one call in a session of its own; an error of the tool begins with "error: ".
func (s *site) callTool(t *testing.T, token string, arguments map[string]any) string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(s.ctx, &mcp.StreamableClientTransport{Endpoint: s.PlaneBase() + fleet.ToolPath, MaxRetries: -1, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: bearing{s.client.Transport, token}}}, nil)
	if err != nil {
		return "no session"
	}
	defer session.Close()
	result, err := session.CallTool(s.ctx, &mcp.CallToolParams{Name: fleet.ToolName, Arguments: arguments})
	if err != nil {
		return "no call: " + err.Error()
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		return "error: " + text
	}
	return text
}

// rotate asks the plane for a new key.
func (s *site) rotate() string {
	s.t.Helper()
	var answer struct{ SigningKey string }
	s.must(json.Unmarshal([]byte(s.callTool(s.t, "MCP-AAA", map[string]any{"action": "rotate-key", "subscriptionId": "WAKE_SUB:relay"})), &answer))
	return answer.SigningKey
}

// armedKey is the key of a route that this test owns: it registers one of its own.
func (s *site) armedKey() string {
	s.t.Helper()
	key := ""
	s.must(s.Do(func(m *fleet.Server, now fleet.Now) error {
		_, _, err := m.Arm(now, "", fleet.ArmWell)
		key = m.SigningKey("WAKE_SUB:relay")
		return err
	}))
	return key
}

// TestTool is D1 to D7 through the protocol's own client, and that a class-1 bearer gets no session.
func TestTool(t *testing.T) {
	s := open(t, table())
	_, err := s.Publish("@viewer", fleet.Event{}, fleet.Event{})
	s.must(err)
	poll := func(id string, since any) map[string]any {
		return map[string]any{"action": "poll-digest", "subscriptionId": id, "sinceLogId": since}
	}
	for _, c := range []struct {
		token     string
		arguments map[string]any
		want      string
	}{
		{"MCP-AAA", poll("WAKE_SUB:relay", 0), `{"subscriptionId":"WAKE_SUB:relay","pending":2,"digest":"2 sent_to_me","digestPriority":"normal","eventsReplayed":2,"watermark":2}`},
		{"MCP-AAA", poll("WAKE_SUB:relay", 999999), `{"subscriptionId":"WAKE_SUB:relay","pending":0,"reason":"no wake-relevant events above the client watermark in current read state","watermark":999999}`},
		{"OTHER-MCP", poll("WAKE_SUB:relay", 0), `error: Permission denied: subscription WAKE_SUB:relay is owned by @viewer, not @other.`},
		{"MCP-AAA", map[string]any{"action": "poll-digest"}, `error: Missing 'subscriptionId' parameter.`},
		{"MCP-AAA", poll("WAKE_SUB:nobody", 0), `error: Subscription not found: WAKE_SUB:nobody`},
		{"OTHER-MCP", map[string]any{"action": "subscribe", "url": "http://x.test/wake"}, `{"subscriptionId":"WAKE_SUB:other"}`},
		{"OWN-CCC", poll("WAKE_SUB:relay", 0), "no session"},
		{"nobody", poll("WAKE_SUB:relay", 0), "no session"},
	} {
		if got := s.callTool(t, c.token, c.arguments); got != c.want {
			t.Errorf("%v: %s", c.arguments, got)
		}
	}
	if got := s.callTool(t, "MCP-AAA", map[string]any{"action": "list"}); !strings.Contains(got, `"lastPollAt":"20`) || strings.Contains(got, "999999") {
		t.Errorf("D3: %s", got)
	}
	if got, h := s.ask("POST", fleet.ToolPath, "{}", "Authorization", "Bearer OWN-CCC"); !strings.HasPrefix(got, "401 ") || h.Get("WWW-Authenticate") == "" {
		t.Error(got)
	}
	s.must(s.Do(func(m *fleet.Server, now fleet.Now) error { return m.Revoke(now, 0, fleet.ClassPlane) }))
	if got := s.callTool(t, "MCP-AAA", poll("WAKE_SUB:relay", 0)); got != "no session" {
		t.Error(got)
	}
}

// TestPollURL: the same poll over plain HTTP; what both doors answer is equal.
func TestPollURL(t *testing.T) {
	s := open(t, table())
	_, err := s.Publish("@viewer")
	s.must(err)
	for _, since := range []int{0, 1, 7} {
		over, _ := s.ask("POST", fleet.PollPath, fmt.Sprintf(`{"subscriptionId":"WAKE_SUB:relay","sinceLogId":%d}`, since), "Authorization", "Bearer MCP-AAA")
		tool := s.callTool(t, "MCP-AAA", map[string]any{"action": "poll-digest", "subscriptionId": "WAKE_SUB:relay", "sinceLogId": since})
		if over != "200 "+tool {
			t.Errorf("%s, tool %s", over, tool)
		}
	}
	if got, _ := s.ask("POST", fleet.PollPath, strings.Repeat("x", fleet.MaxPollBody+1), "Authorization", "Bearer MCP-AAA"); got != `413 {"error":"invalid-body"}` {
		t.Error(got)
	}
}
