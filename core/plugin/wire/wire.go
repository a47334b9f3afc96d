// Package wire is the boundary between a host and a transport plugin: the protocol (proto/conform/transport/v1, which is the
// manual), its generated code (transportv1), and the conversions to and from the types of core/transport. Whatever arrives here
// was written by another process and is checked: enum values, ranges, sizes, UTF-8. Bad input is an error, never a panic.
package wire

// The handshake, the same at both ends.
const (
	// ProtocolVersion is the version of conform.transport.v1 in go-plugin's negotiation. A host and a plugin that share no version
	// refuse each other by name.
	ProtocolVersion = 1
	// CookieKey and CookieValue tell a plugin that a host started it. They are no secret: mutual TLS keeps others out.
	CookieKey   = "CONFORM_PLUGIN"
	CookieValue = "conform.transport"
	// PluginName is the one entry of go-plugin's plugin set.
	PluginName = "transport"
	// HostPIDKey is the environment variable that names the process id of the host, so that a plugin whose host died before it
	// could look finds out.
	HostPIDKey = "CONFORM_HOST_PID"
)

// Limits of the protocol. None is settable except where it says so.
const (
	// MaxBatchEvents and MaxBatchBytes bound one batch. At 64 events the cost of a message is spread thin enough (256 gain a tenth
	// more); 256 KiB keeps window plus batch near the 1 MiB that a stream may hold. A larger event crosses in parts.
	MaxBatchEvents = 64
	MaxBatchBytes  = 256 << 10
	// MaxPart bounds the data of one part, for the same reason.
	MaxPart = MaxBatchBytes
	// MaxMember bounds each text of a captured event but the id. The eight of them fit into Overhead, and no position in use comes
	// near; an event with a longer one crosses as a document, whose size is bounded anyway.
	MaxMember = 64 << 10
	// MaxFraming bounds a position or an id that the framing named beside a document. Both fit into Overhead.
	MaxFraming = 511 << 10
	// Overhead is what a message may hold beside MaxBatchBytes of documents: the texts of one event, and framing.
	Overhead = 1 << 20
	// MaxMessage bounds every message that a plugin sends on a connection. gRPC holds a message whole before anybody can look at
	// it, so this is memory that a hostile plugin can take from the host per connection, beside the window.
	MaxMessage = MaxBatchBytes + Overhead

	// StreamWindow is how much a plugin may send on one connection before the host reads: the whole of the memory that a stopped
	// consumer costs the host. Smaller windows cost throughput (64 KiB: half), larger ones gain nothing measurable.
	StreamWindow = 1 << 20
	// ConnWindow is the same for all connections of a plugin together; grpc-go refills it without waiting for readers, so it is
	// no bound, only a buffer.
	ConnWindow = 4 << 20

	// DefaultDocument is the largest document a connection takes when its options say nothing, MaxDocument the ceiling of that
	// setting (D-32).
	DefaultDocument = 16 << 20
	MaxDocument     = 64 << 20

	// PluginReceive is the largest message that a plugin takes from the host. gRPC's default of 4 MiB has surprised users of
	// go-plugin; an open frame is far smaller than either.
	PluginReceive = 16 << 20
	// MaxOpen bounds an open frame: endpoint, filter, positions and options together.
	MaxOpen = 1 << 20
	// MaxHeaderList bounds HTTP/2 header and trailer lists, which carry a status message of a failing plugin.
	MaxHeaderList = 64 << 10

	// MaxDetail bounds Signal.detail: it ends up in reports and traces.
	MaxDetail = 1024
	// MaxEnvelope bounds the envelope of a wake. A server takes bodies of 256 KiB at most, and writing JSON anew may make it longer.
	MaxEnvelope = 512 << 10
	// MaxStatus is the largest status a signal may carry: HTTP has three digits, WebSocket close codes go to 4999.
	MaxStatus = 4999

	// MaxName, MaxText and MaxList bound the description.
	MaxName = 64
	MaxText = 1024
	MaxList = 64
)

// OptionMaxEventBytes is the option (D-32) that also sets the largest document the host takes on that connection. A transport
// that has no such option gets DefaultDocument.
const OptionMaxEventBytes = "maxEventBytes"
