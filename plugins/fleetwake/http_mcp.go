package fleetwake

import (
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tool and its action (fleet facts 1.1, 4).
const (
	pollTool   = "manage_wake_subscription"
	pollAction = "poll-digest"
)

// The words for a tool call without an answer.
const (
	toolError    = "the tool answered with an error"
	toolNothing  = "the tool answered without content"
	sessionError = "no session with the tool's server"
)

// call asks by a tool call over MCP's streamable HTTP, in a session of its own that ends with done.
func (c *pollClient) call(to string, due Poll) (answer []byte, done func(), err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "conform-fleetwake", Version: Version}, nil)
	session, err := client.Connect(c.ctx, &mcp.StreamableClientTransport{
		Endpoint: to, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: int(c.left),
		HTTPClient: &http.Client{Transport: c, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil)
	if err != nil {
		return nil, func() {}, pollWord(sessionError)
	}
	// An error of the farewell changes nothing: the answer is there, and whether the server forgets the session is its business.
	done = func() { _ = session.Close() }
	result, err := session.CallTool(c.ctx, &mcp.CallToolParams{
		Name:      pollTool,
		Arguments: map[string]any{"action": pollAction, "subscriptionId": due.SubscriptionID, "sinceLogId": int64(due.Since)},
	})
	switch {
	case err != nil:
		return nil, done, pollWord(toolError)
	case result.IsError:
		return nil, done, pollWord(toolError)
	}
	answer, err = toolAnswer(result)
	return answer, done, err
}

// toolAnswer is the text of the result, whose numbers are exact; the structured form, which went through floating point, only where
// there is no text that is an object.
func toolAnswer(result *mcp.CallToolResult) ([]byte, error) {
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			if _, why := openObject([]byte(text.Text)); why == "" {
				return []byte(text.Text), nil
			}
		}
	}
	if result.StructuredContent != nil {
		return json.Marshal(result.StructuredContent)
	}
	if len(result.Content) > 0 {
		return nil, pollWord(notAnAnswer)
	}
	return nil, pollWord(toolNothing)
}
