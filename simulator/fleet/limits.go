package fleet

import "time"

// Limits of the lane. The defaults are the numbers of the contract (D-58, fleet facts 1.5); each can be scaled down for a test, and a
// value above its ceiling is an error that names it, never clamped (D-13).
const (
	// DefaultAttempts is how many connects one viewer may make in one window; refused ones count as the matrix says.
	DefaultAttempts = 30
	// MaxAttempts is the ceiling of that setting.
	MaxAttempts = 100_000
	// DefaultAttemptWindow is that window. It is fixed, and begins with the viewer's first attempt.
	DefaultAttemptWindow = time.Minute
	// DefaultViewerStreams is how many streams one viewer may hold.
	DefaultViewerStreams = 8
	// DefaultStreams is how many streams all viewers together may hold.
	DefaultStreams = 64
	// MaxStreams is the ceiling of both settings: each stream may hold a full buffer.
	MaxStreams = 1024

	// DefaultWakeRequests is how many signed wakes one subscription may get in one window; all unknown ones share one window.
	DefaultWakeRequests = 120
	// MaxWakeRequests is the ceiling of that setting.
	MaxWakeRequests = 100_000
	// DefaultWakeWindow is that window, of the same form.
	DefaultWakeWindow = time.Minute
	// MaxWindow is the ceiling of both windows.
	MaxWindow = time.Hour
	// DefaultWakeBody bounds the body of a wake, in bytes.
	DefaultWakeBody = 262_144
	// MaxWakeBody is the ceiling of that setting.
	MaxWakeBody = 4 << 20
	// DefaultBuffer bounds what a stream may owe its client, in bytes: a write that finds more ends the stream. One frame more than
	// the bound may be held.
	DefaultBuffer = 262_144
	// MaxBuffer is the ceiling of that setting.
	MaxBuffer = 16 << 20

	// DefaultHeartbeat is the time between two comments; one timer serves all streams, from the first registration on.
	DefaultHeartbeat = 25 * time.Second
	// MaxHeartbeat is the ceiling of that setting.
	MaxHeartbeat = 10 * time.Minute
	// DefaultRetry is the reconnect hint that each stream begins with.
	DefaultRetry = 5 * time.Second
	// MaxRetry is the ceiling of that setting.
	MaxRetry = time.Hour

	// DefaultLogEntries is how many events the plane's log keeps; the oldest go first.
	DefaultLogEntries = 4096
	// MaxLogEntries is the ceiling of that setting: about 12 MiB.
	MaxLogEntries = 65_536
	// MaxPublish bounds the events of one digest.
	MaxPublish = 1000
	// MaxViewers bounds the table of viewers.
	MaxViewers = 1024
	// MaxOwnSubscriptions bounds the subscriptions of one identity.
	MaxOwnSubscriptions = 16
	// MaxText bounds a name, a credential, an id or a URL, in bytes.
	MaxText = 1024
	// MaxRaw bounds bytes that a test puts into streams as they are.
	MaxRaw = 4 << 20
	// MaxPollBody bounds the body of a poll, in bytes.
	MaxPollBody = 64 << 10
	// MaxRefusalText is where the text of a refusal is cut, in characters (fleet facts 1.4).
	MaxRefusalText = 300
	// MaxLogID is the largest log id: a client reads it as a number of 53 bits.
	MaxLogID = 1<<53 - 1
)
