// Package fence holds the import rules of the rooms. Its test reads every Go file of the module and fails on an arrow
// that is not here, each rule with the reason it would give to somebody who is about to break it.
package fence

// Room is one part of the tree and what its files may import of this module. An arrow includes what its target may
// import.
type Room struct {
	Path  string   // folder, relative to the module
	May   []string // rooms
	Pure  bool     // no clock, randomness, network, file, goroutine: see Impure
	Never map[string]string
}

// Rooms lists every room of the product. A folder that is in none of them fails the test.
var Rooms = []Room{
	{Path: "core/event", Pure: true},
	{Path: "core/gate", May: []string{"core/event"}, Pure: true},
	{Path: "core/oracle", May: []string{"core/event"}, Pure: true,
		Never: map[string]string{"core/gate": "a gate cannot vouch for itself: the model shares no code with it (law 4)"}},
	{Path: "core/checkpoint", May: []string{"core/event"}, Pure: true},
	{Path: "core/fixture", May: []string{"core/event", "core/checkpoint"}, Pure: true},
	{Path: "core/store", May: []string{"core/checkpoint"}},
	{Path: "core/session", May: []string{"core/event", "core/gate"}, Pure: true},
	{Path: "core/transport", May: []string{"core/event"}},
	{Path: "core/transport/envelope", May: []string{"core/transport", "core/event"}, Pure: true},
	{Path: "core/transport/web", May: []string{"core/transport", "core/event"}, Pure: true},
	{Path: "core/endpoint", May: []string{"core/transport", "core/transport/web"}},
	{Path: "core/credential", May: []string{"core/transport", "core/endpoint", "core/session"}},
	{Path: "core/trace", May: []string{"core/event"}, Pure: true},
	{Path: "core/polling", May: []string{"core/session"}, Pure: true},
	{Path: "core/drive", May: []string{"core/session", "core/polling", "core/transport", "core/trace", "core/checkpoint"}, Pure: true},
	{Path: "core/subscription", May: []string{"core/session", "core/store", "core/transport", "core/drive"}},
	{Path: "core/plugin/wire", May: []string{"core/transport"}},
	{Path: "core/plugin", May: []string{"core/plugin/wire", "core/transport"}},
	{Path: "core/host", May: []string{"core/plugin/wire", "core/transport"}},
	{Path: "core/ledger", Pure: true},
	{Path: "core/judge", May: []string{"core/trace", "core/ledger", "core/oracle"}, Pure: true,
		Never: map[string]string{"core/gate": "a verdict comes from the trace and the slow model, never from the gate (laws 3 and 4)"}},
	{Path: "core/report", May: []string{"core/judge", "core/ledger"}},
	{Path: "plugins/sse", May: []string{"core/transport", "core/transport/envelope", "core/transport/web", "core/endpoint", "core/plugin"}},
	{Path: "plugins/websocket", May: []string{"core/transport", "core/transport/envelope", "core/transport/web", "core/endpoint", "core/plugin"}},
	{Path: "plugins/odata", May: []string{"core/transport", "core/transport/web", "core/endpoint", "core/plugin"}},
	{Path: "plugins/fleetwake", May: []string{"core/transport", "core/transport/web", "core/endpoint", "core/plugin", "plugins/sse"}},
	{Path: "simulator", May: []string{"core/trace", "core/event"}, Pure: true,
		Never: map[string]string{"plugins": "the simulator is the second witness: its encoders are its own"}},
	{Path: "simulator/fleet", May: []string{"simulator", "core/trace"}, Pure: true,
		Never: map[string]string{"plugins": "the simulator is the second witness: its encoders are its own"}},
	{Path: "simulator/fleetserve", May: []string{"simulator/fleet", "core/trace"},
		Never: map[string]string{"plugins": "the simulator is the second witness: its encoders are its own"}},
	{Path: "simulator/proxy"},
	{Path: "simulator/serve", May: []string{"simulator", "simulator/fleet"},
		Never: map[string]string{"plugins": "the simulator is the second witness: its encoders are its own"}},
	{Path: "simulator/world", May: []string{"simulator", "core/fixture", "core/drive", "core/checkpoint", "core/polling", "plugins/sse", "plugins/websocket", "plugins/odata", "plugins/fleetwake", "simulator/fleet"}, Pure: true},
	{Path: "features", May: []string{"features/probe", "core/subscription", "core/credential", "core/host", "core/store", "core/checkpoint", "core/trace", "core/ledger", "core/plugin", "simulator", "simulator/serve", "simulator/fleet", "simulator/fleetserve", "simulator/world", "core/polling", "plugins/sse", "plugins/websocket", "plugins/odata", "plugins/fleetwake"},
		Never: map[string]string{
			"core/oracle": "a step acts and records; only the judge decides (law 3)",
			"core/judge":  "a step acts and records; only the judge decides (law 3)",
		}},
	{Path: "core/subject"},
	{Path: "core/container"},
	{Path: "core/subject/start", May: []string{"core/subject", "core/container"}},
	{Path: "features/probe", May: []string{"core/subject", "core/subject/start", "core/trace", "plugins/sse", "simulator", "simulator/serve", "simulator/fleet", "simulator/fleetserve", "simulator/world"},
		Never: map[string]string{"core/judge": "an examiner asks and writes down; only the judge decides (law 3)"}},
	{Path: "cmd", May: []string{"*"}},
	{Path: "internal", May: []string{"core/ledger"}},
	{Path: "internal/inspect", May: []string{"core/gate", "core/checkpoint", "core/drive", "plugins/sse", "plugins/websocket", "plugins/odata"}, Pure: true},
	{Path: "internal/certify", May: []string{"*"}},
}

// Impure are the imports that no pure room has (law 1), with the reason. time and context types are allowed where the
// selectors below are not used; context is not, since a machine is never cancelled, it is told.
var Impure = map[string]string{
	"net":                            "a machine takes bytes and returns bytes; the driver owns sockets",
	"net/http":                       "a machine takes bytes and returns bytes; the driver owns sockets",
	"os":                             "a machine reads no file and no environment",
	"os/exec":                        "a machine starts no process",
	"os/signal":                      "a machine hears no signal",
	"sync":                           "a machine is owned by one driver; a lock in it hides a second owner",
	"sync/atomic":                    "a machine is owned by one driver",
	"context":                        "a machine is told to stop by an input",
	"math/rand":                      "randomness is drawn before the run, into data (law 2)",
	"math/rand/v2":                   "randomness is drawn before the run, into data (law 2)",
	"crypto/rand":                    "randomness is drawn before the run, into data (law 2)",
	"log":                            "a machine returns what happened; the driver logs it",
	"log/slog":                       "a machine returns what happened; the driver logs it",
	"testing":                        "test helpers live in test files",
	"runtime":                        "a machine does not look at its process",
	"runtime/debug":                  "a machine does not look at its process",
	"unsafe":                         "nothing here needs it",
	"path/filepath":                  "a machine reads no file",
	"io/fs":                          "a machine reads no file",
	"io/ioutil":                      "a machine reads no file",
	"text/template":                  "rendering belongs to reports",
	"html/template":                  "rendering belongs to reports",
	"github.com/hashicorp/go-plugin": "processes belong to core/host",
}

// ImpureAllowed are the exceptions, by room and import.
var ImpureAllowed = map[string]map[string]string{
	"simulator/world": {"math/rand/v2": "a seed makes the schedule here, before the loop runs; the loop itself draws nothing (checked by its own test)"},
}

// Selectors are the uses of an allowed import that a pure room does not have.
var Selectors = map[string]string{
	"time.Now": "now is an argument", "time.Since": "now is an argument", "time.Until": "now is an argument",
	"time.After": "a machine has one Deadline; the driver owns timers", "time.AfterFunc": "the driver owns timers",
	"time.NewTimer": "the driver owns timers", "time.NewTicker": "the driver owns timers", "time.Tick": "the driver owns timers",
	"time.Sleep": "a machine never waits", "time.Local": "a machine has no time zone",
}

// ThirdParty says which room may import which module from elsewhere, and why.
var ThirdParty = []struct{ Room, Import, Why string }{
	{"core/store", "go.etcd.io/bbolt", "durable checkpoints"},
	{"core/plugin", "github.com/hashicorp/go-plugin", "the process boundary"},
	{"core/plugin", "github.com/hashicorp/go-hclog", "go-plugin's log type"},
	{"core/plugin", "google.golang.org/grpc", "its wire"},
	{"core/plugin", "google.golang.org/protobuf", "its wire"},
	{"core/plugin/wire", "google.golang.org/grpc", "generated code"},
	{"core/plugin/wire", "google.golang.org/protobuf", "generated code"},
	{"core/host", "github.com/hashicorp/go-plugin", "the process boundary"},
	{"core/host", "github.com/hashicorp/go-hclog", "go-plugin's log type"},
	{"core/host", "google.golang.org/grpc", "its wire"},
	{"core/host", "google.golang.org/protobuf", "its wire"},
	{"core/host", "golang.org/x/sys", "process groups, and the death signal of a parent"},
	{"core/ledger", "go.yaml.in/yaml/v3", "rows are YAML"},
	{"core/subject", "go.yaml.in/yaml/v3", "a subject file is YAML"},
	{"core/container", "github.com/testcontainers/testcontainers-go", "images and containers, without a registry"},
	{"core/container", "github.com/moby/moby/client", "what testcontainers has no words for: verbs, labels, a sweep"},
	{"core/container", "github.com/moby/moby/api", "its types"},
	{"core/container", "github.com/containerd/errdefs", "what its errors mean"},
	{"core/report", "go.yaml.in/yaml/v3", "a baseline is YAML"},
	{"core/report", "github.com/santhosh-tekuri/jsonschema/v6", "an envelope is checked against its shipped schema"},
	{"features", "github.com/cucumber/godog", "runs the feature files"},
	{"features/probe", "github.com/coder/websocket", "a socket as a plain client has one"},
	{"features/probe", "github.com/modelcontextprotocol/go-sdk/mcp", "the plane's tool, asked as a plain client does"},
	{"features", "github.com/cucumber/gherkin/go", "lists the scenarios without running them"},
	{"features", "go.etcd.io/bbolt", "a record that another program wrote is made behind the back of the store"},
	{"simulator", "go.yaml.in/yaml/v3", "fault schedules are YAML"},
	{"simulator/serve", "golang.org/x/sys/unix", "the length of the send queue, before a reset throws it away"},
	{"core/credential", "go.yaml.in/yaml/v3", "the leaves may stand in a configuration file"},
	{"plugins/fleetwake", "github.com/modelcontextprotocol/go-sdk/mcp", "the catch-up poll as a tool call"},
	{"simulator/fleetserve", "github.com/modelcontextprotocol/go-sdk/mcp", "the plane's tool, served"},
	{"cmd", "github.com/spf13/cobra", "commands and flags"},
	{"internal", "go.yaml.in/yaml/v3", "the mutants are YAML"},
}
