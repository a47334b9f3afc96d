package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/conform-dev/conform/core/trace"
)

// toolName is the plane's tool for wake subscriptions.
const toolName = "manage_wake_subscription"

// poll asks for what whom missed since a mark, over HTTP. An empty id is left out.
func (p *Probe) poll(ctx context.Context, whom, id string, since int64) error {
	body, err := json.Marshal(arguments("", id, since))
	if err != nil {
		return err
	}
	_, _, err = p.ask(ctx, question{who: whom, class: 3, method: "POST", path: p.target.Poll, since: &since,
		header: http.Header{"Content-Type": {"application/json"}}, body: body})
	return err
}

func arguments(action, id string, since int64) map[string]any {
	out := map[string]any{"sinceLogId": since}
	if action != "" {
		out["action"] = action
	}
	if id != "" {
		out["subscriptionId"] = id
	}
	return out
}

// call asks the plane's tool: one session of its own, as a relay's.
func (p *Probe) call(ctx context.Context, whom string, args map[string]any) error {
	token, err := p.token(whom, 3)
	if err != nil {
		return err
	}
	q := question{who: whom, class: 3, method: "POST", path: p.target.Tool, odd: fmt.Sprint("tool action ", args["action"])}
	if since, ok := args["sinceLogId"].(int64); ok {
		q.since = &since
	}
	n, err := p.enter(&q)
	if err != nil {
		return err
	}
	status, text := p.tool(ctx, token, args)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.answered(n, status, nil, text)
	return nil
}

// bearing adds a credential to each request.
type bearing struct {
	token string
	next  http.RoundTripper
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// tool is one call; status is tool, tool-error, or none if there was no answer.
func (p *Probe) tool(ctx context.Context, token string, args map[string]any) (status, text string) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "conform-examiner", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: p.target.Base + p.target.Tool, MaxRetries: -1,
		DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearing{token, p.client.Transport}}}, nil)
	if err != nil {
		return "none", "no session with the tool: " + firstLine(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: toolName, Arguments: args})
	if err != nil {
		return "none", "the call failed: " + firstLine(err)
	}
	for _, c := range result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	if result.IsError {
		return "tool-error", text
	}
	return "tool", text
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return trace.Clip(line)
}

// mark reads a mark as phrases name it: a number, what an answer said, or what a request asked for.
func (p *Probe) mark(text string) (int64, error) {
	n, asked := strings.CutPrefix(text, "what request ")
	kind := trace.ExaminerAsked
	if asked {
		n = strings.TrimSuffix(n, " asked")
	} else if n, asked = strings.CutPrefix(text, "what answer "); asked {
		n, kind = strings.TrimSuffix(n, " said"), trace.ExaminerAnswered
	} else {
		return strconv.ParseInt(text, 10, 64)
	}
	for _, r := range p.Records() {
		if r.Actor != trace.Examiner || r.Kind != kind || strconv.FormatUint(uint64(r.Epoch), 10) != n {
			continue
		}
		if kind == trace.ExaminerAsked {
			return strconv.ParseInt(r.Args["since"], 10, 64)
		}
		var said struct {
			Watermark int64 `json:"watermark"`
		}
		_ = json.Unmarshal([]byte(r.Detail), &said) // an answer without a mark leads to a poll from the beginning, and what is expected then fails
		return said.Watermark, nil
	}
	return 0, fmt.Errorf("there is no %s", text)
}
