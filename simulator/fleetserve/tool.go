package fleetserve

import (
	"context"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/conform-dev/conform/simulator/fleet"
)

// callerKey is where a request's context holds who asks.
type callerKey struct{}

// schema is what the tool takes.
var schema = map[string]any{
	"type":     "object",
	"required": []string{"action"},
	"properties": map[string]any{
		"action":         map[string]any{"type": "string", "enum": []string{"subscribe", "rotate-key", "list", "poll-digest"}},
		"subscriptionId": map[string]any{"type": "string"},
		"sinceLogId":     map[string]any{"type": "integer", "minimum": 0},
		"harnessTarget":  map[string]any{"type": "string"},
		"url":            map[string]any{"type": "string"},
	},
}

// newTools serves the plane's tool over MCP's streamable HTTP. It keeps no session: every request is admitted by its own bearer, so a
// session id is worth nothing to somebody else, and a revoked bearer ends at once.
func newTools(s *Server) http.Handler {
	var mu sync.Mutex
	servers := map[fleet.Caller]*mcp.Server{} // one per viewer, and the table of viewers is bounded
	of := func(r *http.Request) *mcp.Server {
		caller, _ := r.Context().Value(callerKey{}).(fleet.Caller)
		mu.Lock()
		defer mu.Unlock()
		if servers[caller] == nil {
			servers[caller] = s.toolsFor(caller)
		}
		return servers[caller]
	}
	return mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: fleet.MaxPollBody,
		DisableLocalhostProtection: true}) // hosts are the machine's business
}

func (s *Server) toolsFor(caller fleet.Caller) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "conform-fleet-simulator", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: fleet.ToolName, Description: "Manages wake subscriptions of the caller", InputSchema: schema},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var result fleet.Result
			err := s.Do(func(m *fleet.Server, now fleet.Now) error {
				result = m.Tool(now, caller, r.Params.Arguments)
				return nil
			})
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result.Text}}, IsError: result.Error}, nil
		})
	return server
}

// tool admits a request for the tool and lets the protocol's library answer it.
func (s *Server) tool(w http.ResponseWriter, r *http.Request) {
	var caller fleet.Caller
	var refused *fleet.Answer
	if err := s.Do(func(m *fleet.Server, now fleet.Now) error {
		caller, refused = m.Plane(now, s.request(w, r, 0))
		return nil
	}); err != nil {
		panic(http.ErrAbortHandler)
	}
	if refused != nil {
		for name, values := range refused.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(refused.Status)
		_, _ = w.Write(refused.Body)
		return
	}
	s.tools.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
}
