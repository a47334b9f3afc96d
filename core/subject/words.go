package subject

import (
	"slices"
	"time"
)

// Limits of the file.
const (
	// MaxFile is how long it may be, in bytes: it is written by hand.
	MaxFile = 256 << 10
	// MaxText bounds one text, in bytes.
	MaxText = 4096
	// MaxList bounds a list or a table.
	MaxList = 256
	// MaxSecret bounds what a reference may lead to, in bytes.
	MaxSecret = 64 << 10
	// DefaultWithin bounds a hook, and how long a started server may take until it is ready.
	DefaultWithin = 10 * time.Second
	// MaxWithin is the ceiling of both.
	MaxWithin = 5 * time.Minute
	// MaxWindow is the ceiling of a declared window or heartbeat.
	MaxWindow = time.Hour
	// MaxCount is the ceiling of a declared number.
	MaxCount = 1 << 30
)

// Wires are the wires that a server may speak.
var Wires = []string{"sse", "websocket", "odata", "fleetwake"}

// wire is what a wire's subjects may name, with what it means.
type wire struct {
	endpoints map[string]string // with its default; empty: none
	claims    []string
}

// words are the vocabularies of each wire.
var words = map[string]wire{
	"sse": {endpoints: map[string]string{"stream": "/events"},
		claims: []string{"framing", "replay", "expiry", "contract"}},
	"websocket": {endpoints: map[string]string{"stream": "/ws"},
		claims: []string{"framing", "replay", "expiry", "contract"}},
	"odata": {endpoints: map[string]string{"collection": "/"},
		claims: []string{"snapshot", "delta", "expiry"}},
	"fleetwake": {endpoints: map[string]string{"events": "/fleet/events", "wake": "/wake", "poll": "", "tool": "/mc/mcp"},
		claims: []string{"admission", "caps", "stream", "wakes", "polls"}},
}

// Endpoints are the names of a wire's endpoints, sorted.
func Endpoints(wire string) []string { return sorted(words[wire].endpoints) }

// Claims are the words that a server of wire may claim.
func Claims(wire string) []string { return slices.Clone(words[wire].claims) }

// people are whom a fleet-wake server may be asked for; others know the viewer alone.
var people = map[string]string{
	"viewer":         "the server holds a wake route for it",
	"another-viewer": "it has an identity of its own",
	"stranger":       "it is admitted and has no stable subject",
	"holder":         "its token proves possession and no identity",
}

// hooks are what a server can be made to do.
var hooks = map[string]string{
	"publish":  "make one change; {serial} is its number and must stand in the payload. For a fleet-wake server: one message for {login}",
	"trim":     "forget all but the last {keep} changes",
	"restart":  "end and start again",
	"pause":    "stop answering, without ending connections",
	"resume":   "go on after pause",
	"revoke":   "take the viewer's credential away",
	"shutdown": "begin to shut down: no stream is taken any more",
	"lose":     "lose the next wake that is accepted",
	"arm":      "arm {login}",
	"disarm":   "disarm {login}",
}

// Hooks are the names of hooks, sorted.
func Hooks() []string { return sorted(hooks) }

// Placeholders are what texts of a hook may hold in braces.
var Placeholders = []string{"serial", "keep", "login", "base", "port", "dir"}

// containerVerbs are what a hook may do to a container.
var containerVerbs = []string{"pause", "unpause", "kill", "restart", "disconnect", "connect"}

func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
