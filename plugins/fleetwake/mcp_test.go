package fleetwake

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolPlane is a plane whose poll is a tool at /mc/mcp, behind a bearer.
type toolPlane struct {
	*plane
	mu     sync.Mutex
	called []string
	bearer map[string]bool
}

func newToolPlane(t *testing.T, tool mcp.ToolHandler, script ...any) *toolPlane {
	t.Helper()
	p := &toolPlane{plane: newPlane(t, nil, script...), bearer: map[string]bool{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "plane", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: pollTool, InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p.mu.Lock()
		p.called = append(p.called, string(r.Params.Arguments))
		p.mu.Unlock()
		return tool(ctx, r)
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	mux := http.NewServeMux()
	mux.HandleFunc(EventsPath, p.events)
	mux.HandleFunc(MCPPath, func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.bearer[r.Header.Get("Authorization")] = true
		p.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer MCP-AAA" {
			w.WriteHeader(401)
			return
		}
		handler.ServeHTTP(w, r)
	})
	p.Config.Handler = mux
	return p
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// P19 with the real protocol: the poll is a tool call with the plane's own credential, and the stream's never goes there.
func TestToolCall(t *testing.T) {
	const secret = "s3cr3t-of-the-server"
	for _, c := range []struct {
		name    string
		tool    mcp.ToolHandler
		options []string
		want    string
	}{
		{"text", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(`{"subscriptionId":"WAKE_SUB:relay","pending":4,"watermark":30}`), nil
		}, nil, "caught-up done pending=4 mark=30"},
		{"structured", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"pending": 4, "watermark": 9007199254740991}}, nil
		}, nil, "caught-up done pending=4 mark=9007199254740991"},
		{"text wins: its numbers are exact", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			r := text(`{"pending":4}`)
			r.StructuredContent = map[string]any{"pending": 5}
			return r, nil
		}, nil, "caught-up done pending=4 mark=-1"},
		{"an error of the tool", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			r := text("Subscription not found: " + secret)
			r.IsError = true
			return r, nil
		}, nil, `caught-up failed pending=-1 mark=-1 "` + toolError + `"`},
		{"an error of the protocol", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New(secret)
		}, nil, `caught-up failed pending=-1 mark=-1 "` + toolError + `"`},
		{"nothing", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		}, nil, `caught-up failed pending=-1 mark=-1 "` + toolNothing + `"`},
		{"no object", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text(secret), nil }, nil,
			`caught-up failed pending=-1 mark=-1 "` + notAnAnswer + `"`},
		{"too large", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(`{"pending":4,"digest":"` + strings.Repeat("x", 1<<20) + `"}`), nil
		}, []string{OptionMaxPollBytes, "65536"}, `caught-up failed pending=-1 mark=-1 "` + pollTooLarge + `"`},
		{"no answer", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, []string{OptionPollTimeout, "300"}, `caught-up failed pending=-1 mark=-1 "` + PollTime + `"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			caught := make(chan struct{})
			p := newToolPlane(t, c.tool, state, caught, wake7)
			to := &log{hook: at("caught-up", caught)}
			if err := open(t, attemptAt(p.URL, append([]string{OptionPoll, PollMCP}, c.options...)...), to); err != nil {
				t.Fatal(err)
			}
			expect(t, to, "open",
				`wake-stated armed=true reason="armed" push=-1 identities=0 viewer=true id=WAKE_SUB:relay`, c.want,
				"woken id=WAKE_SUB:relay event=EVT:1 log=7 envelope=204", "ended connection-lost (end-of-stream)")
			p.Close() // no request is under way any more
			p.mu.Lock()
			defer p.mu.Unlock()
			var args any
			if len(p.called) != 1 {
				t.Fatalf("called %q", p.called)
			}
			if err := json.Unmarshal([]byte(p.called[0]), &args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{"action": "poll-digest", "subscriptionId": "WAKE_SUB:relay", "sinceLogId": 0.0}, args); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]bool{"Bearer MCP-AAA": true}, p.bearer); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A tool's server that refuses, redirects, is no MCP server or is not there.
func TestToolServerRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		mcp  http.HandlerFunc
		want string
	}{
		{"401", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "HTTP 401"},
		{"503", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "HTTP 503"},
		{"redirect", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "/else"); w.WriteHeader(307) }, pollRedirect},
		{"no MCP", answering(`{"hello":"s3cr3t"}`), sessionError},
		{"cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "abnormal-end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			caught := make(chan struct{})
			mux := http.NewServeMux()
			p := &plane{t: t, script: []any{state, caught}}
			mux.HandleFunc(EventsPath, p.events)
			mux.HandleFunc(MCPPath, c.mcp)
			mux.HandleFunc("/else", func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
			s := httptest.NewServer(mux)
			defer s.Close()
			to := &log{hook: at("caught-up", caught)}
			if err := open(t, attemptAt(s.URL, OptionPoll, PollMCP, OptionPollTimeout, "5000"), to); err != nil {
				t.Fatal(err)
			}
			expect(t, to, "open",
				`wake-stated armed=true reason="armed" push=-1 identities=0 viewer=true id=WAKE_SUB:relay`,
				`caught-up failed pending=-1 mark=-1 "`+c.want+`"`, "ended connection-lost (end-of-stream)")
		})
	}
}
