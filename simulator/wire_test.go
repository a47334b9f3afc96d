package simulator

import (
	"strings"
	"testing"
)

// TestPaths: each wire has a path of its own.
func TestPaths(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{WebSocketPath: "ws"}, `webSocketPath: "ws" is no absolute path`},
		{Options{ODataPath: "/odata?x"}, `odataPath: "/odata?x" is no absolute path`},
		{Options{WebSocketPath: "/stream"}, `webSocketPath: "/stream" is the path too`},
		{Options{Source: "roads", Path: "/odata/roads"}, `odataPath: "/odata/roads" is the path too`},
	} {
		if _, err := New(c.opt); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// TestWireTrigger: a fault can be aimed at a wire that knows it, and at no other.
func TestWireTrigger(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"faults: [{fault: gap, at: {wire: sse, sequence: 2}}]", ""},
		{"faults: [{fault: gap, at: {wire: odata}}]", ""},
		{"faults: [{fault: gap, at: {wire: smoke}}]", "must be sse, websocket, odata"},
		{"faults: [{fault: dialect, at: {wire: websocket}}]", "must be sse"},
		{"faults: [{fault: trim, at: {wire: sse}}]", "unknown member; known are sequence"},
	} {
		_, err := ParseSchedule([]byte(c.text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := New(Options{Schedule: Schedule{[]Fault{{Name: "dialect", At: At{Wire: WebSocket}}}}}); err == nil ||
		!strings.Contains(err.Error(), `at.wire: "websocket" is none of the wires of the fault dialect: sse`) {
		t.Errorf("made in Go: %v", err)
	}
	r := newRig(t, Options{})
	r.must(r.sim.Add(r.clock(), Fault{Name: "gap", At: At{Wire: OData}}))
	c := r.get("/stream", "")
	r.publish(AutoUpsert, 2)
	if n := len(r.events(c)); n != 4 || r.sim.State().Struck["gap"] != 0 {
		t.Errorf("%d frames; a fault of another wire struck", n)
	}
}
