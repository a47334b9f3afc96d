package wire

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/conform-dev/conform/core/event"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// over sends a message through its encoded form.
func over[M proto.Message](t *testing.T, in, out M) M {
	t.Helper()
	b, err := proto.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAttemptCrossesUnchanged(t *testing.T) {
	full := transport.Attempt{
		Epoch: 7, Endpoint: "https://example.test/events",
		Query: transport.Query{
			SourceID: "incidents", LayerID: "l", RequestID: "r", Mode: "delta", Where: "a > 1", Fields: []string{"a", "b"},
			SpatialFilter: `{"x":1}`, Metadata: `{}`,
		},
		Resume:     event.Position{Seq: event.MaxSeq, Cursor: "c", Watermark: "w", Timestamp: "t", DeltaToken: "d"},
		Credential: transport.Credential{Header: "Authorization", Value: "Bearer x"},
		Options:    map[string]string{"maxEventBytes": "1024"},
		Headers:    []transport.ExtraHeader{{Name: "X-Tenant", Value: "t"}, {Name: "X-Key", Value: "k"}},
		TLS:        transport.TLS{CA: "ca", Certificate: "cert", Key: "key", ServerName: "name.test"},
		Proxy:      "http://u:p@proxy.test:3128",
	}
	zero := full
	zero.Resume = event.Position{Seq: 0}
	cursorOnly := full
	cursorOnly.Resume = event.Position{Seq: event.NoSeq, Cursor: "c"}
	for name, a := range map[string]transport.Attempt{
		"everything": full, "sequence 0": zero, "cursor only": cursorOnly,
		"nothing": {Epoch: 1, Endpoint: "http://x", Resume: event.NoPosition},
	} {
		out, err := FromAttempt(a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ToAttempt(over(t, out, &pb.HostFrame{}))
		if diff := cmp.Diff(a, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestAttemptIsChecked(t *testing.T) {
	if _, err := ToAttempt(&pb.HostFrame{}); err == nil {
		t.Error("an empty frame is no attempt")
	}
	for _, seq := range []int64{-1, math.MinInt64, int64(event.MaxSeq) + 1} {
		f := &pb.HostFrame{Frame: &pb.HostFrame_Open{Open: &pb.OpenRequest{Resume: &pb.Position{Sequence: proto.Int64(seq)}}}}
		if _, err := ToAttempt(f); err == nil || !strings.Contains(err.Error(), fmt.Sprint(seq)) {
			t.Errorf("sequence %d: %v", seq, err)
		}
	}
	if _, err := FromAttempt(transport.Attempt{Endpoint: strings.Repeat("x", MaxOpen)}); err == nil {
		t.Error("an oversize attempt was accepted")
	}
	for want, bad := range map[string]*pb.OpenRequest{
		"headers: Host would send":        {Headers: []*pb.Header{{Name: "host", Value: "canary"}}},
		"tls: the client certificate":     {Tls: &pb.Tls{Certificate: "canary"}},
		"proxy: longer than 2048":         {Proxy: strings.Repeat("canary", 500)},
		"the CA has 524289 bytes":         {Tls: &pb.Tls{Ca: strings.Repeat("x", transport.MaxCA+1)}},
		"headers: 25 of them, the limit ": {Headers: make([]*pb.Header, transport.MaxHeaders+1)},
	} {
		_, err := ToAttempt(&pb.HostFrame{Frame: &pb.HostFrame_Open{Open: bad}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := FromAttempt(transport.Attempt{Headers: []transport.ExtraHeader{{Name: "X", Value: "canary\n"}}}); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a header that cannot be sent: %v", err)
	}
	canary := transport.Attempt{Credential: transport.Credential{Header: "X", Value: "canary\xff"}}
	if _, err := FromAttempt(canary); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a credential that is not UTF-8: %v", err)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestSignalsCrossUnchanged(t *testing.T) {
	for _, s := range []transport.Signal{
		{Kind: transport.Open},
		{Kind: transport.Heartbeat},
		{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: "v7", Head: 41, Resumed: transport.Yes}},
		{Kind: transport.Answered, Answer: transport.Answer{Head: event.NoSeq}},
		{Kind: transport.Answered, Answer: transport.Answer{Head: 0, Resumed: transport.No, Rejected: "cursor-expired", ClosingSoon: true}},
		{Kind: transport.Mark, Cursor: "c"},
		{Kind: transport.Mark},
		{Kind: transport.Retry, RetryAfter: 1500 * time.Millisecond},
		{Kind: transport.Refused, Status: 401, Cause: transport.Unauthorized, Detail: "401"},
		{Kind: transport.Expired, Reason: event.CursorExpired},
		{Kind: transport.Gap, Reason: event.TransportGap, Detail: "frame-too-large"},
		{Kind: transport.Ended, Cause: transport.Throttled, Status: 429, RetryAfter: 10 * time.Minute},
		{Kind: transport.Ended, Cause: transport.ServerStop, Status: 204},
		{Kind: transport.Recovering, Reason: event.CursorExpired, Detail: "410"},
		{Kind: transport.Refreshed, Position: event.Position{Seq: 7, Cursor: "c", Watermark: "w", Timestamp: "t", DeltaToken: long(MaxMember)}},
		{Kind: transport.Refreshed, Position: event.Position{Seq: event.NoSeq, DeltaToken: "d"}},
		{Kind: transport.Polled, Poll: &transport.PollReport{Interval: 24 * time.Hour, Next: 1500 * time.Millisecond, Seq: event.MaxSeq, Changed: true, Upserts: math.MaxInt32, Deletes: 2}},
		{Kind: transport.Polled, Poll: &transport.PollReport{Interval: time.Second, Seq: event.NoSeq}},
		{Kind: transport.WakeStated, WakeState: &transport.WakeState{Armed: true, Reason: "armed", HasReason: true, LastPushAt: 1, ArmedForViewer: true, SubscriptionID: long(MaxText)}},
		{Kind: transport.WakeStated, WakeState: &transport.WakeState{HasReason: true, LastPushAt: -1, ConnectedIdentities: -1}},
		{Kind: transport.WakeStated, WakeState: &transport.WakeState{}},
		{Kind: transport.Woken, Wake: &transport.Wake{SubscriptionID: "s", EventID: long(MaxText), LogID: 7, Envelope: make([]byte, MaxEnvelope)}},
		{Kind: transport.Woken, Wake: &transport.Wake{LogID: event.NoSeq, Dropped: "foreign-subscription"}},
		{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: transport.CatchUpDone, Pending: 0, Watermark: 12}},
		{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: transport.CatchUpDone, Pending: -1, Watermark: event.NoSeq}},
		{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: transport.CatchUpNoSeam, Pending: -1, Watermark: event.NoSeq, Reason: "no seam"}},
	} {
		if s.Kind != transport.Answered {
			s.Answer = transport.Answer{}
		}
		out, err := FromSignal(s)
		if err != nil {
			t.Errorf("%v: %v", s.Kind, err)
			continue
		}
		if size := proto.Size(out); size > MaxMessage {
			t.Errorf("%v: %d bytes, a message may have %d", s.Kind, size, MaxMessage)
		}
		got, err := ToSignal(over(t, out, &pb.Signal{}))
		if diff := cmp.Diff(s, got); err != nil || diff != "" {
			t.Errorf("%v: %v\n%s", s.Kind, err, diff)
		}
	}
}

func inProtocol(word string) string { return strings.ToUpper(strings.ReplaceAll(word, "-", "_")) }

// The enum values of the protocol are those of core/transport; a value added there must be added here.
func TestEnumsAgree(t *testing.T) {
	for k := transport.Open; k.String() != ""; k++ {
		if name := pb.Signal_Kind(k).String(); name != inProtocol(k.String()) {
			t.Errorf("kind %v is %s in the protocol", k, name)
		}
	}
	if n := len(pb.Signal_Kind_name) - 1; transport.SignalKind(n).String() == "" || transport.SignalKind(n+1).String() != "" {
		t.Errorf("the protocol has %d kinds", n)
	}
	for i, state := range catchUpStates {
		if name := pb.CatchUp_State(i + 1).String(); name != inProtocol(string(state)) {
			t.Errorf("catch-up state %v is %s in the protocol", state, name)
		}
	}
	if len(catchUpStates) != len(pb.CatchUp_State_name)-1 {
		t.Errorf("the protocol has %d catch-up states", len(pb.CatchUp_State_name)-1)
	}
	for c := transport.ConnectionLost; c < transport.PluginCrashed; c++ {
		if name := pb.Cause(c).String(); name != inProtocol(c.String()) {
			t.Errorf("cause %v is %s in the protocol", c, name)
		}
	}
	if transport.PluginCrashed.String() == "" || (transport.PluginCrashed+1).String() != "" {
		t.Error("plugin-crashed is not the last cause")
	}
}

func TestSignalIsChecked(t *testing.T) {
	for want, s := range map[string]*pb.Signal{
		"signal.kind 0":                       {},
		"signal.kind 16":                      {Kind: 16},
		"signal.kind -1":                      {Kind: -1},
		"signal.status -1":                    {Kind: pb.Signal_OPEN, Status: -1},
		"signal.status 5000":                  {Kind: pb.Signal_OPEN, Status: 5000},
		"signal.cause 9 is unknown or not":    {Kind: pb.Signal_ENDED, Cause: 9},
		"signal.cause -1":                     {Kind: pb.Signal_ENDED, Cause: -1},
		"signal.cause is missing":             {Kind: pb.Signal_REFUSED},
		"signal.reason is missing":            {Kind: pb.Signal_EXPIRED},
		"none of the contract's reasons (6":   {Kind: pb.Signal_GAP, Reason: "canary"},
		"signal.retry_after_ms -5":            {Kind: pb.Signal_RETRY, RetryAfterMs: -5},
		"signal.retry_after_ms 9223372036854": {Kind: pb.Signal_RETRY, RetryAfterMs: math.MaxInt64},
		"signal.detail is 1025 bytes long":    {Kind: pb.Signal_OPEN, Detail: strings.Repeat("x", 1025)},
		"signal.answer is missing":            {Kind: pb.Signal_ANSWERED},
		"signal.answer.head -1":               {Kind: pb.Signal_ANSWERED, Answer: &pb.Answer{Head: proto.Int64(-1)}},
		"answer.rejected is none":             {Kind: pb.Signal_ANSWERED, Answer: &pb.Answer{Rejected: "canary"}},
		"answer.stream_epoch is 2000":         {Kind: pb.Signal_ANSWERED, Answer: &pb.Answer{StreamEpoch: strings.Repeat("x", 2000)}},
	} {
		_, err := ToSignal(s)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// What the new signals carry is checked as strictly as the rest, and no error quotes a text of the server's.
func TestSignalContentIsChecked(t *testing.T) {
	none := (*int64)(nil)
	poll := func(p *pb.Poll) *pb.Signal { return &pb.Signal{Kind: pb.Signal_POLLED, Poll: p} }
	state := func(s *pb.WakeState) *pb.Signal { return &pb.Signal{Kind: pb.Signal_WAKE_STATED, WakeState: s} }
	wake := func(w *pb.Wake) *pb.Signal { return &pb.Signal{Kind: pb.Signal_WOKEN, Wake: w} }
	caught := func(state pb.CatchUp_State, pending, mark *int64, why string) *pb.Signal {
		return &pb.Signal{Kind: pb.Signal_CAUGHT_UP, CatchUp: &pb.CatchUp{State: state, Pending: pending, Watermark: mark, Reason: why}}
	}
	position := func(p *pb.Position) *pb.Signal { return &pb.Signal{Kind: pb.Signal_REFRESHED, Position: p} }
	for want, s := range map[string]*pb.Signal{
		"signal.reason is missing: recovering":            {Kind: pb.Signal_RECOVERING},
		"signal.position is missing":                      position(nil),
		"position is missing: refreshed":                  position(&pb.Position{}),
		"signal.position.sequence -1":                     position(&pb.Position{Sequence: proto.Int64(-1)}),
		"signal.position.delta_token is 65537 bytes long": position(&pb.Position{DeltaToken: long(MaxMember + 1)}),
		"signal.position.cursor is 65537 bytes long":      position(&pb.Position{Cursor: long(MaxMember + 1)}),
		"signal.poll is missing":                          poll(nil),
		"signal.poll.interval_ms -1":                      poll(&pb.Poll{IntervalMs: -1}),
		"signal.poll.next_ms 9223372036854775807":         poll(&pb.Poll{NextMs: math.MaxInt64}),
		"signal.poll.sequence 9007199254740992":           poll(&pb.Poll{Sequence: proto.Int64(int64(event.MaxSeq) + 1)}),
		"signal.poll.upserts 2147483648":                  poll(&pb.Poll{Upserts: math.MaxInt32 + 1}),
		"signal.poll.deletes -1":                          poll(&pb.Poll{Deletes: -1}),
		"signal.wake_state is missing":                    state(nil),
		"signal.wake_state.reason is 1025 bytes long":     state(&pb.WakeState{Reason: proto.String(long(MaxText + 1))}),
		"wake_state.subscription_id is 1025 bytes long":   state(&pb.WakeState{SubscriptionId: long(MaxText + 1)}),
		"signal.wake_state.last_push_at -1":               state(&pb.WakeState{LastPushAt: proto.Int64(-1)}),
		"signal.wake_state.connected_identities -2":       state(&pb.WakeState{ConnectedIdentities: proto.Int64(-2)}),
		"signal.wake is missing":                          wake(nil),
		"signal.wake.subscription_id is 1025 bytes long":  wake(&pb.Wake{SubscriptionId: long(MaxText + 1)}),
		"signal.wake.event_id is 1025 bytes long":         wake(&pb.Wake{EventId: long(MaxText + 1)}),
		"signal.wake.log_id -1":                           wake(&pb.Wake{LogId: proto.Int64(-1)}),
		"signal.wake.envelope is 524289 bytes long":       wake(&pb.Wake{Envelope: make([]byte, MaxEnvelope+1)}),
		"signal.wake.dropped is not one word of a":        wake(&pb.Wake{Dropped: "canary text"}),
		"at most 64 bytes (65 bytes)":                     wake(&pb.Wake{Dropped: long(MaxName + 1)}),
		"dropped does not go with log_id or":              wake(&pb.Wake{Dropped: "malformed", LogId: proto.Int64(1)}),
		"dropped does not go with log_id or envelope":     wake(&pb.Wake{Dropped: "malformed", Envelope: []byte("{}")}),
		"signal.catch_up is missing":                      {Kind: pb.Signal_CAUGHT_UP},
		"signal.catch_up.state 0":                         caught(0, none, none, ""),
		"signal.catch_up.state 6":                         caught(6, none, none, ""),
		"signal.catch_up.pending -1":                      caught(pb.CatchUp_DONE, proto.Int64(-1), none, ""),
		"signal.catch_up.watermark -1":                    caught(pb.CatchUp_DONE, none, proto.Int64(-1), ""),
		"signal.catch_up.pending does not go with failed": caught(pb.CatchUp_FAILED, proto.Int64(0), none, "canary"),
		"signal.catch_up.reason is missing: not-fired":    caught(pb.CatchUp_NOT_FIRED, none, none, ""),
		"signal.catch_up.reason is 1025 bytes long":       caught(pb.CatchUp_FAILED, none, none, long(MaxText+1)),
	} {
		_, err := ToSignal(s)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, s := range []transport.Signal{
		{Kind: transport.Polled}, {Kind: transport.WakeStated}, {Kind: transport.Woken}, {Kind: transport.CaughtUp}, {Kind: transport.Refreshed, Position: event.NoPosition},
		{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: "canary"}}, {Kind: transport.Polled, Poll: &transport.PollReport{Interval: -time.Second}},
	} {
		if _, err := FromSignal(s); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v: %v", s.Kind, err)
		}
	}
}

// A message that goes with another kind says nothing.
func TestSignalContentOfAnotherKindIsNotRead(t *testing.T) {
	s, err := ToSignal(&pb.Signal{
		Kind: pb.Signal_HEARTBEAT, Position: &pb.Position{Cursor: "c"}, Poll: &pb.Poll{Upserts: -1}, WakeState: &pb.WakeState{}, Wake: &pb.Wake{}, CatchUp: &pb.CatchUp{},
	})
	if diff := cmp.Diff(transport.Signal{Kind: transport.Heartbeat}, s); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// The reason of a state frame is a server's text, so it is cut like a detail; the envelope is copied, for its buffer is used again.
func TestWakeTextsAreCutAndCopied(t *testing.T) {
	out, err := FromSignal(transport.Signal{Kind: transport.WakeStated, WakeState: &transport.WakeState{Reason: strings.Repeat("ä", 600), HasReason: true}})
	if err != nil || len(out.WakeState.GetReason()) > MaxText || !strings.HasSuffix(out.WakeState.GetReason(), "ä...") {
		t.Errorf("%d bytes, %v", len(out.GetWakeState().GetReason()), err)
	}
	buf := []byte("{}")
	out, err = FromSignal(transport.Signal{Kind: transport.Woken, Wake: &transport.Wake{LogID: 1, Envelope: buf}})
	buf[0] = 'x'
	if err != nil || string(out.Wake.Envelope) != "{}" {
		t.Error(out, err)
	}
}

func TestDetailIsCutAtARune(t *testing.T) {
	out, err := FromSignal(transport.Signal{Kind: transport.Open, Detail: strings.Repeat("ä", 600) + "\xff"})
	if err != nil || len(out.Detail) > MaxDetail || !strings.HasSuffix(out.Detail, "ä...") {
		t.Errorf("%d bytes, %v", len(out.GetDetail()), err)
	}
}

var sse = transport.Descriptor{
	Name: "sse", Version: "1.2.3", Wire: "sse", Freshness: transport.Push, Order: transport.ServerSequence,
	Baseline: transport.BaselineSnapshot, Resume: []transport.Mode{transport.ByCursor, transport.BySequence}, Vouch: transport.VouchFrame,
	Heartbeats: true, Watermarks: true,
	Options: []transport.Option{
		{Name: "maxEventBytes", Doc: "largest event", Default: "16777216", Ceiling: 67108864},
		{Name: "idIs", Values: []string{"cursor", "eventId", "none"}, Default: "cursor"},
	},
	Takes: []transport.Take{transport.TakesTLS, transport.TakesHeaders, transport.TakesProxy},
}

func TestDescriptorCrossesUnchanged(t *testing.T) {
	out, err := FromDescriptor(sse)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ToDescriptor(over(t, out, &pb.Description{}))
	if diff := cmp.Diff(sse, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestDescriptorIsChecked(t *testing.T) {
	for want, spoil := range map[string]func(*pb.Description){
		"name is missing":                   func(d *pb.Description) { d.Name = "" },
		"version is 65 bytes long":          func(d *pb.Description) { d.Version = strings.Repeat("x", 65) },
		"wire is missing":                   func(d *pb.Description) { d.Wire = "" },
		"freshness 0 is unknown":            func(d *pb.Description) { d.Freshness = 0 },
		"order 4 is unknown":                func(d *pb.Description) { d.Order = 4 },
		"baseline -1 is unknown":            func(d *pb.Description) { d.Baseline = -1 },
		"vouch 99 is unknown":               func(d *pb.Description) { d.Vouch = 99 },
		"resume 6 is unknown":               func(d *pb.Description) { d.Resume = []pb.ResumeMode{6} },
		"resume lists 6 modes":              func(d *pb.Description) { d.Resume = make([]pb.ResumeMode, 6) },
		"takes 4 is unknown":                func(d *pb.Description) { d.Takes = []pb.Take{4} },
		"takes lists 4":                     func(d *pb.Description) { d.Takes = make([]pb.Take, 4) },
		"options lists 65":                  func(d *pb.Description) { d.Options = make([]*pb.Option, 65) },
		"options[0].name is missing":        func(d *pb.Description) { d.Options[0].Name = "" },
		"options[1].name is listed twice":   func(d *pb.Description) { d.Options[1].Name = d.Options[0].Name },
		"options[0].ceiling -1 is negative": func(d *pb.Description) { d.Options[0].Ceiling = -1 },
		"options[1].values lists 65":        func(d *pb.Description) { d.Options[1].Values = make([]string, 65) },
		"options[1].values is missing":      func(d *pb.Description) { d.Options[1].Values = []string{""} },
		"options[0].doc is 1025 bytes long": func(d *pb.Description) { d.Options[0].Doc = strings.Repeat("x", 1025) },
		"options[0].default is not UTF-8":   func(d *pb.Description) { d.Options[0].Default = "\xff" },
	} {
		d, err := FromDescriptor(sse)
		if err != nil {
			t.Fatal(err)
		}
		spoil(d)
		if _, err := ToDescriptor(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := ToDescriptor(nil); err == nil {
		t.Error("no description at all was accepted")
	}
	bad := sse
	bad.Vouch = "maybe"
	if _, err := FromDescriptor(bad); err == nil || !strings.Contains(err.Error(), `vouch "maybe" is not one of`) {
		t.Errorf("got %v", err)
	}
}
