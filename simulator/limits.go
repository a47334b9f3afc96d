package simulator

import "time"

// Limits of a feed and its servers. Each bounds memory or work that an input could otherwise grow without end.
const (
	// DefaultRetention is the history kept, in events: enough that a client which was away for a moment resumes.
	DefaultRetention = 1024
	// MaxRetention is the ceiling of that setting: 65,536 events of 300 bytes are about 30 MiB with their bookkeeping.
	MaxRetention = 65536
	// DefaultHistoryBytes bounds the encoded history, whatever the number of events; the oldest go first.
	DefaultHistoryBytes = 64 << 20
	// MaxHistoryBytes is the ceiling of that setting.
	MaxHistoryBytes = 1 << 30

	// DefaultRows is the state that a feed starts with.
	DefaultRows = 3
	// MaxRows bounds the state: a snapshot of 16,384 rows is about 3 MiB.
	MaxRows = 16384
	// MaxFeatureBytes bounds the payload of one row.
	MaxFeatureBytes = 1 << 20
	// MaxIDBytes bounds a row's id, which is repeated in every event about it.
	MaxIDBytes = 256
	// MaxTime is the last millisecond whose date has four digits for its year.
	MaxTime = 253402300799999
	// MaxPublish bounds one publish input: each event of it is encoded and recorded before the call returns.
	MaxPublish = 10000

	// DefaultConnections is how many connections may be open at once, on all wires together; the next one is answered 503.
	DefaultConnections = 64
	// MaxConnections is the ceiling of that setting: each connection may hold a full send queue.
	MaxConnections = 1024
	// DefaultQueueEvents is how many events may be handed to the driver and not be written yet. Beyond it the server stops
	// composing; the rest waits in the history. A client that finds its place gone from there is told so and closed.
	DefaultQueueEvents = 1024
	// MaxQueueEvents is the ceiling of that setting.
	MaxQueueEvents = 65536
	// DefaultQueueBytes is the same in bytes. One event more than the limit may be queued: it is checked before composing.
	DefaultQueueBytes = 1 << 20
	// MaxQueueBytes is the ceiling of that setting.
	MaxQueueBytes = 256 << 20
	// DefaultStall is how long a client may take nothing of a full send queue before it is closed. A consumer under test is
	// stopped for seconds; a dead peer is noticed by the kernel after minutes.
	DefaultStall = 10 * time.Minute
	// MaxStall is the ceiling of that setting.
	MaxStall = 24 * time.Hour

	// DefaultHeartbeat is the time without bytes after which a comment is sent: three fit into a horizon of 90 s.
	DefaultHeartbeat = 25 * time.Second
	// MaxHeartbeat is the ceiling of that setting.
	MaxHeartbeat = time.Hour
	// MaxRetryHint is the ceiling of a `retry:` hint: ten minutes are what a client honours (D-34), ten times that is a test
	// of it.
	MaxRetryHint = 100 * time.Minute

	// DefaultCloseWait is how long a WebSocket client may take to answer a close frame before its connection is cut.
	DefaultCloseWait = 5 * time.Second
	// MaxCloseWait is the ceiling of that setting.
	MaxCloseWait = time.Minute
	// MaxClientMessage bounds a frame and a message of a WebSocket client, decompressed too; a longer one is answered with close
	// code 1009. Clients say little: a subscribe message, pings.
	MaxClientMessage = 64 << 10
	// MaxClientFrames bounds the frames of one WebSocket client, each of which is recorded; one more is answered with close
	// code 1008. A ping every 15 s is 17 days.
	MaxClientFrames = 100000
	// MaxSubprotocols bounds the subprotocols that the server knows.
	MaxSubprotocols = 16

	// DefaultODataPageSize is how many entries a page of the OData server has: a state of 16,384 rows is read in 164 pages.
	DefaultODataPageSize = 100
	// MaxODataPageSize is the ceiling of that setting: the whole state.
	MaxODataPageSize = MaxRows
	// DefaultODataPageBytes is how many bytes of entries a page has. It ends behind the entry that exceeds them, so one feature of
	// MaxFeatureBytes more may stand on it.
	DefaultODataPageBytes = 1 << 20
	// MaxODataPageBytes is the ceiling of that setting.
	MaxODataPageBytes = 64 << 20
	// DefaultODataCycles is how many snapshots and rounds are held for clients that have not read their last page. One more
	// takes the place of the one that was used longest ago.
	DefaultODataCycles = 16
	// MaxODataCycles is the ceiling of that setting: each holds a place for every row.
	MaxODataCycles = 256
	// MaxEmptyPages is the ceiling of the pages without entries that a fault puts before or behind others: more than the 500 pages
	// that a client reads of one snapshot.
	MaxEmptyPages = 1000

	// MaxTarget bounds a request's target; a longer one is answered 414.
	MaxTarget = 8 << 10
	// MaxPosition bounds a position that a client sends; a longer one is answered 431.
	MaxPosition = 4 << 10

	// MaxFaults bounds a schedule: every fault is looked at for every event.
	MaxFaults = 1000
	// MaxTimes is the ceiling of how often one fault strikes; Always is for ever.
	MaxTimes = 1000000
	// MaxScheduleBytes bounds a schedule's text.
	MaxScheduleBytes = 1 << 20
	// MaxOversize is the ceiling of an oversize event: a little more than a transport's own ceiling of 64 MiB, so that it
	// can be exceeded.
	MaxOversize = 65 << 20
	// maxDepth bounds the nesting of a document. A schedule needs 4 levels, a feature some more.
	maxDepth = 64
)
