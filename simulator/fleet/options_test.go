package fleet

import (
	"strings"
	"testing"
	"time"
)

// TestDefaults: the real numbers (fleet facts 1.5, 2).
func TestDefaults(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil || o.Attempts != 30 || o.AttemptWindow != time.Minute || o.ViewerStreams != 8 || o.Streams != 64 || o.WakeRequests != 120 ||
		o.WakeWindow != time.Minute || o.WakeBody != 262144 || o.Buffer != 262144 || o.Heartbeat != 25*time.Second || o.Retry != 5*time.Second || o.RetryAfter {
		t.Errorf("%+v %v", o, err)
	}
}

// TestOptionBounds: a value above its ceiling is an error that names it, and never clamped.
func TestOptionBounds(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"attempts: 100001 is not in 1 to 100000":               func(o *Options) { o.Attempts = MaxAttempts + 1 },
		"attempts: -1 is not in":                               func(o *Options) { o.Attempts = -1 },
		"attemptWindow: 1h0m0.001s is not in":                  func(o *Options) { o.AttemptWindow = MaxWindow + time.Millisecond },
		"attemptWindow: 1.5ms is not in":                       func(o *Options) { o.AttemptWindow = 1500 * time.Microsecond },
		"viewerStreams: 1025 is not in":                        func(o *Options) { o.ViewerStreams = MaxStreams + 1 },
		"streams: 1025 is not in":                              func(o *Options) { o.Streams = MaxStreams + 1 },
		"wakeRequests: 100001 is not in":                       func(o *Options) { o.WakeRequests = MaxWakeRequests + 1 },
		"wakeWindow: 1h0m0.001s is not in":                     func(o *Options) { o.WakeWindow = MaxWindow + time.Millisecond },
		"wakeBody: 4194305 is not in":                          func(o *Options) { o.WakeBody = MaxWakeBody + 1 },
		"buffer: 16777217 is not in":                           func(o *Options) { o.Buffer = MaxBuffer + 1 },
		"heartbeat: 10m0.001s is not in":                       func(o *Options) { o.Heartbeat = MaxHeartbeat + time.Millisecond },
		"retry: 1h0m0.001s is not in":                          func(o *Options) { o.Retry = MaxRetry + time.Millisecond },
		"logEntries: 65537 is not in":                          func(o *Options) { o.LogEntries = MaxLogEntries + 1 },
		"logId: 9007199254740991 is not in":                    func(o *Options) { o.LogID = MaxLogID },
		`dialect: "cr" is none of reference, crlf`:             func(o *Options) { o.Dialect = "cr" },
		`arming: "never" is none of boot, later`:               func(o *Options) { o.Arming = "never" },
		"viewers: 1025 is more than 1024":                      func(o *Options) { o.Viewers = make([]Viewer, MaxViewers+1) },
		"selfBase: longer than":                                func(o *Options) { o.SelfBase = strings.Repeat("x", MaxText+1) },
		"viewers[0]: a text is longer":                         func(o *Options) { o.Viewers = []Viewer{{UserID: strings.Repeat("x", MaxText+1)}} },
		"viewers[0].admission[0]: a bearer is":                 func(o *Options) { o.Viewers = []Viewer{{Admission: []string{"a b"}}} },
		"viewers[1]: its subscription id is":                   func(o *Options) { o.Viewers = []Viewer{{Subscription: "S"}, {Subscription: "S"}} },
		`service: "@x" is the canonical login of no viewer`:    func(o *Options) { o.Service = "@x" },
		"refusing to boot a dead feature: the service @v (A9)": func(o *Options) { o.Service, o.Viewers = "@v", []Viewer{{Username: "v"}} },
		"viewers[1]: the plane knows @v as viewers[0]": func(o *Options) {
			o.Viewers = []Viewer{{Username: "v", Plane: []string{"A"}}, {Username: "v", Plane: []string{"B"}}}
		},
		"viewers[0].plane[0] holds the same secret as viewers[0].a": func(o *Options) {
			o.Viewers = []Viewer{{Username: "v", Admission: []string{"S3CR3T"}, Plane: []string{"S3CR3T"}}}
		},
		"viewers[1].admission[0] holds the same secret as viewers": func(o *Options) {
			o.Viewers = []Viewer{{Admission: []string{"S3CR3T"}}, {Admission: []string{"S3CR3T"}}}
		},
	} {
		o := Options{}
		change(&o)
		_, err := New(o)
		if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(want, " (A9)")) || strings.Contains(err.Error(), "S3CR3T") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestControlBounds: what the control inputs refuse.
func TestControlBounds(t *testing.T) {
	r := newRig(t, options())
	if _, err := r.s.Cut(r.clock(), "", "slowly"); err == nil {
		t.Error("cut slowly")
	}
	for what, n := range map[string]int{"weather": 1, FailPoll: -1, FailHandshake: MaxAttempts + 1} {
		if err := r.s.Fail(r.clock(), what, n); err == nil {
			t.Errorf("fail %s %d", what, n)
		}
	}
	if _, _, err := r.s.Arm(r.clock(), "", "badly"); err == nil {
		t.Error("armed badly")
	}
	if err := r.s.Raw(r.clock(), "", nil); err == nil {
		t.Error("no bytes")
	}
}
