package simulator

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/event"
)

// Options says what is simulated. Zero values mean the defaults; a value above its ceiling is an error that names it,
// never clamped (D-13).
type Options struct {
	Source  string    // source id; "incidents"
	Version int       // first source version; 7. Source and version make the stream epoch: incidents-v7
	Head    event.Seq // sequence that the feed starts at; 0
	Rows    int       // rows that it starts with, ids "1" to "n"; DefaultRows, -1 for none
	Seed    []Row     // the rows that it starts with, in place of made-up ones; Rows is then 0
	Start   int64     // unix milliseconds of the rows that it starts with; 2026-07-27T04:00:00Z
	// Stamp, if not 0, makes timestamps a function of the sequence: Stamp + sequence milliseconds, instead of the wall time
	// of the publish. A run over real sockets then sends the same bytes twice.
	Stamp int64

	SnapshotID string // begins the event ids of snapshots, and the sequence follows; empty: s-<version>-<sequence>
	Watermark  string // begins the watermark of every event, and the sequence follows; empty: there is none

	Retention    int   // events kept; DefaultRetention
	HistoryBytes int64 // DefaultHistoryBytes

	Path          string // of the SSE stream; "/stream"
	WebSocketPath string // of the WebSocket stream; "/ws"
	ODataPath     string // of the OData collection; "/odata/" and the source

	Connections int           // open at once, on all wires together; DefaultConnections
	QueueEvents int           // DefaultQueueEvents
	QueueBytes  int64         // DefaultQueueBytes
	Stall       time.Duration // DefaultStall
	Heartbeat   time.Duration // DefaultHeartbeat; -1 sends none
	HeartbeatAs string        // comment (on WebSocket a ping), frame
	RetryHint   time.Duration // sent as `retry:` at the start of each stream; 0 sends none
	Vouch       string        // frame: the connected frame of D-41; none: a foreign server without it
	Expiry      string        // frame: error frame on the stream; gone: 410; rejected: connected frame, then a snapshot
	CursorIn    string        // id: the id line; json: the event's JSON; both
	// Accepts are the values of the Authorization header that the server knows, one after the other: it takes the first, until
	// a fault revokes that. Empty: it checks none. They are secrets: nothing prints them.
	Accepts []string
	IDIs    string // what the id line carries where it is no cursor (CursorIn json): eventId, none

	Subprotocols []string      // that the WebSocket server knows; it takes the first one that the client names. None by default
	Subscribe    string        // first: the WebSocket stream begins with the client's first message; none
	Deflate      string        // permessage-deflate, where a client offers it: none; each: message by message; takeover: with its window kept
	CloseWait    time.Duration // for the answer to a close frame; DefaultCloseWait

	ODataVersion     string // negotiate: 4.01 for clients that say they know it, else 4.0; 4.0; 4.01, but not for clients that know 4.0 alone
	ODataRemoved     string // how 4.0 says that a row is gone: context ($deletedEntity), annotation (@odata.removed)
	ODataPageSize    int    // entries on a page; DefaultODataPageSize
	ODataPageBytes   int64  // of the entries on a page, one more may go beyond; DefaultODataPageBytes
	ODataCycles      int    // snapshots and rounds that are held for further pages; DefaultODataCycles
	ODataRejected    string // how a token that was never given out, or in another epoch, is answered: gone (410), bad-request (400)
	ODataLocation    string // what stands on every 410: fresh, a Location that begins a snapshot; none
	ODataAnnotations string // all: those of the contract; none: a foreign service without them

	Schedule Schedule // faults
}

func (o Options) withDefaults() (Options, error) {
	text := func(p *string, def string) {
		if *p == "" {
			*p = def
		}
	}
	text(&o.Source, "incidents")
	text(&o.Path, "/stream")
	text(&o.WebSocketPath, "/ws")
	text(&o.ODataPath, "/odata/"+o.Source)
	text(&o.HeartbeatAs, "comment")
	text(&o.Vouch, "frame")
	if o.Vouch == "none" {
		text(&o.Expiry, "gone") // a server without frames of ours has a status code and nothing else
	}
	text(&o.Expiry, "frame")
	text(&o.CursorIn, "id")
	text(&o.IDIs, "none")
	text(&o.Subscribe, "none")
	text(&o.Deflate, "none")
	text(&o.ODataVersion, "negotiate")
	text(&o.ODataRemoved, "context")
	text(&o.ODataRejected, "gone")
	text(&o.ODataLocation, "none")
	text(&o.ODataAnnotations, "all")
	if o.Start == 0 {
		o.Start = 1785124800000
	}
	if o.Rows == 0 && o.Seed == nil {
		o.Rows = DefaultRows
	} else if o.Rows == -1 {
		o.Rows = 0
	}
	var err error
	number := func(name string, p *int64, def, ceiling int64) {
		if *p == 0 {
			*p = def
		}
		if err == nil && (*p < 1 || *p > ceiling) {
			err = fmt.Errorf("%s: %d is not in 1 to %d", name, *p, ceiling)
		}
	}
	count := func(name string, p *int, def, ceiling int64) {
		v := int64(*p)
		number(name, &v, def, ceiling)
		*p = int(v)
	}
	span := func(name string, p *time.Duration, def, ceiling time.Duration) {
		if *p == 0 {
			*p = def
		}
		if err == nil && (*p < time.Millisecond || *p > ceiling) {
			err = fmt.Errorf("%s: %v is not in 1ms to %v", name, *p, ceiling)
		}
	}
	count("version", &o.Version, 7, 1<<31-1)
	count("retention", &o.Retention, DefaultRetention, MaxRetention)
	number("historyBytes", &o.HistoryBytes, DefaultHistoryBytes, MaxHistoryBytes)
	count("connections", &o.Connections, DefaultConnections, MaxConnections)
	count("queueEvents", &o.QueueEvents, DefaultQueueEvents, MaxQueueEvents)
	number("queueBytes", &o.QueueBytes, DefaultQueueBytes, MaxQueueBytes)
	span("stall", &o.Stall, DefaultStall, MaxStall)
	span("closeWait", &o.CloseWait, DefaultCloseWait, MaxCloseWait)
	count("odataPageSize", &o.ODataPageSize, DefaultODataPageSize, MaxODataPageSize)
	number("odataPageBytes", &o.ODataPageBytes, DefaultODataPageBytes, MaxODataPageBytes)
	count("odataCycles", &o.ODataCycles, DefaultODataCycles, MaxODataCycles)
	if o.Heartbeat != -1 {
		span("heartbeat", &o.Heartbeat, DefaultHeartbeat, MaxHeartbeat)
	}
	if o.RetryHint != 0 {
		span("retryHint", &o.RetryHint, 0, MaxRetryHint)
	}
	if err == nil {
		if o.Seed, err = checkRows(o.Seed); err != nil {
			err = fmt.Errorf("seed: %w", err)
		}
	}
	if err != nil {
		return o, err
	}
	return o, o.check()
}

func (o *Options) check() error {
	for _, e := range []struct {
		name, value string
		allowed     []string
	}{
		{"heartbeatAs", o.HeartbeatAs, []string{"comment", "frame"}},
		{"vouch", o.Vouch, []string{"frame", "none"}},
		{"expiry", o.Expiry, []string{"frame", "gone", "rejected"}},
		{"cursorIn", o.CursorIn, []string{"id", "json", "both"}},
		{"idIs", o.IDIs, []string{"eventId", "none"}},
		{"subscribe", o.Subscribe, []string{"first", "none"}},
		{"deflate", o.Deflate, []string{"none", "each", "takeover"}},
		{"odataVersion", o.ODataVersion, []string{"negotiate", "4.0", "4.01"}},
		{"odataRemoved", o.ODataRemoved, []string{"context", "annotation"}},
		{"odataRejected", o.ODataRejected, []string{"gone", "bad-request"}},
		{"odataLocation", o.ODataLocation, []string{"none", "fresh"}},
		{"odataAnnotations", o.ODataAnnotations, []string{"all", "none"}},
	} {
		if !has(e.allowed, e.value) {
			return fmt.Errorf("%s: %q is none of %s", e.name, e.value, strings.Join(e.allowed, ", "))
		}
	}
	switch {
	case o.Rows < 0 || o.Rows > MaxRows:
		return fmt.Errorf("rows: %d is not in 0 to %d (-1 for none)", o.Rows, MaxRows)
	case o.Rows != 0 && o.Seed != nil:
		return fmt.Errorf("rows: %d stands beside a seed; give one of them", o.Rows)
	case o.SnapshotID != "" && (!plain(o.SnapshotID) || len(o.SnapshotID) > MaxIDBytes):
		return fmt.Errorf("snapshotId: %q is not 1 to %d letters, digits, dots, dashes and underscores", o.SnapshotID, MaxIDBytes)
	case o.Watermark != "" && (!plain(o.Watermark) || len(o.Watermark) > MaxIDBytes):
		return fmt.Errorf("watermark: %q is not 1 to %d letters, digits, dots, dashes and underscores", o.Watermark, MaxIDBytes)
	case o.Start < 0 || o.Start > MaxTime:
		return fmt.Errorf("start: %d is not in 0 to %d", o.Start, int64(MaxTime))
	case o.Head < 0 || o.Head > event.MaxSeq-MaxRetention:
		return fmt.Errorf("head: %d is not in 0 to %d", o.Head, event.MaxSeq-MaxRetention)
	case len(o.Source) > MaxIDBytes || !plain(o.Source):
		return fmt.Errorf("source: %q is not 1 to %d letters, digits, dots, dashes and underscores", o.Source, MaxIDBytes)
	case o.Expiry == "rejected" && o.Vouch == "none":
		return fmt.Errorf("expiry: %q needs the connected frame, and vouch is none", o.Expiry)
	}
	if len(o.Subprotocols) > MaxSubprotocols {
		return fmt.Errorf("subprotocols: %d is more than %d", len(o.Subprotocols), MaxSubprotocols)
	}
	for _, name := range o.Subprotocols {
		if !plain(name) || len(name) > MaxIDBytes {
			return fmt.Errorf("subprotocols: %q is not 1 to %d letters, digits, dots, dashes and underscores", name, MaxIDBytes)
		}
	}
	return o.checkPaths()
}

// checkPaths wants each wire at a place of its own.
func (o *Options) checkPaths() error {
	taken := map[string]string{}
	for _, p := range []struct{ name, path string }{{"path", o.Path}, {"webSocketPath", o.WebSocketPath}, {"odataPath", o.ODataPath}} {
		if !strings.HasPrefix(p.path, "/") || strings.ContainsAny(p.path, "?# \r\n") {
			return fmt.Errorf("%s: %q is no absolute path", p.name, p.path)
		}
		if other := taken[p.path]; other != "" {
			return fmt.Errorf("%s: %q is the %s too", p.name, p.path, other)
		}
		taken[p.path] = p.name
	}
	if set := path.Base(o.ODataPath); !plain(set) {
		return fmt.Errorf("odataPath: %q does not end with a name of letters, digits, dots, dashes and underscores", o.ODataPath)
	}
	return nil
}

// plain says whether s can stand in a URL, a header and a line of SSE as it is.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_') {
			return false
		}
	}
	return s != ""
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
