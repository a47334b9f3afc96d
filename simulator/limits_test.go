package simulator

import (
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
)

// TestOptionsRefuse: each setting has a ceiling; above it is an error that names setting, value and bound (D-13).
func TestOptionsRefuse(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Retention: MaxRetention + 1}, "retention: 65537 is not in 1 to 65536"},
		{Options{Retention: -1}, "retention: -1 is not in 1 to 65536"},
		{Options{HistoryBytes: MaxHistoryBytes + 1}, "historyBytes: 1073741825 is not in 1 to 1073741824"},
		{Options{Connections: MaxConnections + 1}, "connections: 1025 is not in 1 to 1024"},
		{Options{QueueEvents: MaxQueueEvents + 1}, "queueEvents: 65537 is not in 1 to 65536"},
		{Options{QueueBytes: MaxQueueBytes + 1}, "queueBytes: 268435457 is not in 1 to 268435456"},
		{Options{Stall: MaxStall + 1}, "stall: 24h0m0.000000001s is not in 1ms to 24h0m0s"},
		{Options{Heartbeat: MaxHeartbeat + 1}, "heartbeat: 1h0m0.000000001s is not in 1ms to 1h0m0s"},
		{Options{RetryHint: MaxRetryHint + 1}, "retryHint: 1h40m0.000000001s is not in 1ms to 1h40m0s"},
		{Options{Rows: MaxRows + 1}, "rows: 16385 is not in 0 to 16384 (-1 for none)"},
		{Options{Head: event.MaxSeq}, "head: 9007199254740991 is not in 0 to 9007199254675455"},
		{Options{Version: -3}, "version: -3 is not in 1 to 2147483647"},
		{Options{Source: "a b"}, `source: "a b" is not 1 to 256 letters, digits, dots, dashes and underscores`},
		{Options{Path: "stream"}, `path: "stream" is no absolute path`},
		{Options{Vouch: "maybe"}, `vouch: "maybe" is none of frame, none`},
		{Options{Vouch: "none", Expiry: "rejected"}, `expiry: "rejected" needs the connected frame, and vouch is none`},
		{Options{CursorIn: "x"}, `cursorIn: "x" is none of id, json, both`},
		{Options{Schedule: Schedule{[]Fault{{Name: "gap"}, {Name: "gapp"}}}}, `faults[1]: fault: unknown fault "gapp"`},
		{Options{Schedule: Schedule{[]Fault{{Name: "gap", At: At{Byte: 1}}}}}, "faults[0]: at.byte: the fault gap does not take this trigger, only connection, request, sequence, event"},
		{Options{Schedule: Schedule{make([]Fault, 1)}}, `faults[0]: fault: unknown fault ""`},
	} {
		if _, err := New(c.opt); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	at := Options{Retention: MaxRetention, HistoryBytes: MaxHistoryBytes, Connections: MaxConnections, QueueEvents: MaxQueueEvents, QueueBytes: MaxQueueBytes,
		Stall: MaxStall, Heartbeat: MaxHeartbeat, RetryHint: MaxRetryHint, Rows: MaxRows}
	if _, err := New(at); err != nil {
		t.Errorf("at the ceilings: %v", err)
	}
}

// TestFaultLimit: a schedule is bounded, and room comes back when faults are used up.
func TestFaultLimit(t *testing.T) {
	r := newRig(t, Options{})
	r.get("/stream", "")
	for range MaxFaults {
		r.must(r.sim.Add(r.clock(), Fault{Name: "gap", At: At{Sequence: 1}}))
	}
	if err := r.sim.Add(r.clock(), Fault{Name: "gap"}); err == nil || err.Error() != "faults: at most 1000 at a time" {
		t.Errorf("error %v", err)
	}
	r.publish(AutoUpsert, 1) // one of them drops the event; the others find nothing to drop
	if got := len(r.sim.State().Faults); got != MaxFaults-1 {
		t.Errorf("%d faults left", got)
	}
	r.must(r.sim.Add(r.clock(), Fault{Name: "gap"}))
}

// TestRequestLimits: what a client can make long is bounded.
func TestRequestLimits(t *testing.T) {
	r := newRig(t, Options{})
	for _, c := range []struct {
		target, position string
		want             int
	}{
		{"/stream?x=" + strings.Repeat("y", MaxTarget), "", 414},
		{"/stream", strings.Repeat("c", MaxPosition+1), 431},
		{"/stream", strings.Repeat("c", MaxPosition), 200},
		{"/stream?x=%zz", "", 400},
		{"/other", "", 404},
		{"/stream?sourceId=elsewhere", "", 404},
		{"stream", "", 400},
		{"", "", 400},
	} {
		if got := r.head[r.get(c.target, c.position)].Status; got != c.want {
			t.Errorf("%.40s %.10s: %d, want %d", c.target, c.position, got, c.want)
		}
	}
}
