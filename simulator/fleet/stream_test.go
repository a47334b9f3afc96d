package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/simulator"
)

const (
	helloArmed   = "retry: 5000\n\nevent: state\ndata: {\"armed\":true,\"reason\":\"armed\",\"lastPushAt\":null,\"connectedIdentities\":0,\"armedForViewer\":true,\"subscriptionId\":\"WAKE_SUB:relay\"}\n\n"
	helloUnarmed = "retry: 5000\n\nevent: state\ndata: {\"armed\":true,\"reason\":\"armed\",\"lastPushAt\":null,\"connectedIdentities\":1,\"armedForViewer\":false}\n\n"
)

// TestHello is fleet facts 2, F7 and P16: the exact bytes and headers of a stream's beginning, armed and not armed for its viewer.
func TestHello(t *testing.T) {
	r := newRig(t, options())
	a := r.open("OWN-CCC")
	r.want(a, "200 "+helloArmed)
	h := map[string]string{}
	for name, values := range r.head[a].Header {
		h[name] = strings.Join(values, "|")
	}
	if got := strings.Join(sorted(h), "; "); got != "Cache-Control=no-cache, no-transform; Connection=keep-alive; Content-Type=text/event-stream; X-Accel-Buffering=no" {
		t.Error(got)
	}
	r.want(r.open("TUPLE-CCC"), "200 "+helloUnarmed)
}

// TestDialect: the same bytes with CRLF, to test clients with.
func TestDialect(t *testing.T) {
	o := options()
	o.Dialect = CRLF
	r := newRig(t, o)
	c := r.open("OWN-CCC")
	r.want(c, "200 "+strings.ReplaceAll(helloArmed, "\n", "\r\n"))
	r.clear(c)
	r.pass(25 * time.Second)
	r.want(c, "200 :hb\r\n\r\n")
}

// TestHeartbeat: one timer from the first registration on serves all streams; a late wake-up writes one comment.
func TestHeartbeat(t *testing.T) {
	r := newRig(t, options())
	if _, ok := r.s.Deadline(); ok {
		t.Error("a timer before the first registration")
	}
	r.now = 3 * time.Second
	a := r.open("OWN-CCC")
	r.now = 27 * time.Second
	b := r.open("OTHER-CCC")
	r.clear(a)
	r.clear(b)
	r.pass(time.Second - time.Millisecond)
	r.s.Wake(r.clock()) // too early
	r.drain()
	r.want(a, "200 ")
	r.pass(time.Millisecond) // 28 s: 25 s after the first stream, 1 s after the second
	r.want(a, "200 :hb\n\n")
	r.want(b, "200 :hb\n\n")
	r.now += 80 * time.Second
	r.s.Wake(r.clock())
	r.drain()
	r.want(a, "200 :hb\n\n:hb\n\n")
	if at, _ := r.s.Deadline(); at != 128*time.Second {
		t.Errorf("next at %v", at)
	}
}

// TestIsolation is F6, F8 and F15.
func TestIsolation(t *testing.T) {
	r := newRig(t, options())
	r.publish("@viewer")
	if got := r.s.State().LastPushAt; got != rigWall {
		t.Errorf("F15: lastPushAt %d without a stream", got)
	}
	a, b := r.open("OWN-CCC"), r.open("OTHER-CCC")
	if !strings.Contains(r.body[b].String(), `"lastPushAt":1786694400000,`) {
		t.Error(r.said(b))
	}
	r.clear(a)
	r.clear(b)
	p := r.publish("@viewer", Event{Source: "MESSAGE:1"}, Event{Source: "MESSAGE:2", Kind: TaskState})
	want := `event: wake` + "\n" + `data: {"subscriptionId":"WAKE_SUB:relay","envelope":{"schemaVersion":"1.0","eventType":"wake/digest",` +
		`"eventId":"wake-digest:995c7dcb4e38c42430cc2d0b225ad6e0691c0a0d7e0aa0c36733a4937f675dcf","logId":3,"agentIdentity":"@viewer",` +
		`"subscriptionId":"WAKE_SUB:relay","payload":{"totalEvents":2,"breakdown":{"sent_to_me":{"count":1,"latest":"MESSAGE:1"},` +
		`"task_state_changed":{"count":1,"latest":"MESSAGE:2"},"permission_granted":{"count":0,"latest":null}},` +
		`"sourceEventIds":["MESSAGE:1","MESSAGE:2"],"windowMs":0},"emittedAt":"2026-08-14T08:00:00.000Z"}}` + "\n\n"
	r.want(a, "200 "+want)
	r.want(b, "200 ")
	if len(p.Deliveries) != 1 || p.Deliveries[0].Status != 200 || p.Deliveries[0].State != "accepted" {
		t.Errorf("%+v", p)
	}
	r.s.Gone(r.clock(), a)
	r.s.Gone(r.clock(), b)
	r.publish("@viewer")
	r.want(a, "200 "+want)
	if st := r.s.State(); st.Streams != 0 || len(st.ByIdentity) != 0 {
		t.Errorf("F8: %+v", st)
	}
}

// TestCaps is F9, F10 and P-FW-09: the newcomer is refused, no live stream is touched, the total is tested first.
func TestCaps(t *testing.T) {
	o := Options{SelfBase: "http://fleet.test"}
	for i := range 9 {
		o.Viewers = append(o.Viewers, Viewer{UserID: "u", Provider: "p", ProviderUserID: fmt.Sprint(i), Admission: []string{fmt.Sprintf("TOKEN-%d", i)}})
	}
	r := newRig(t, o)
	var open []Conn
	for range 8 {
		open = append(open, r.open("TOKEN-0"))
	}
	r.want(r.open("TOKEN-0"), "429 "+wiredBody("fleet: stream cap reached (per viewer)"))
	r.pass(30 * time.Second)
	r.s.Gone(r.clock(), open[0])
	r.drain()
	open[0] = r.open("TOKEN-0")
	for v := 1; v < 8; v++ {
		for range 8 {
			open = append(open, r.open(fmt.Sprintf("TOKEN-%d", v)))
		}
	}
	r.want(r.open("TOKEN-8"), "429 "+wiredBody("fleet: stream cap reached (total)"))
	r.want(r.open("TOKEN-0"), "429 "+wiredBody("fleet: stream cap reached (total)")) // both caps are reached
	for i, c := range open {
		if !r.live(c) {
			t.Errorf("stream %d was touched: %s", i, r.said(c))
		}
	}
	if got := r.s.State().Streams; got != 64 {
		t.Errorf("%d streams", got)
	}
}

// TestBuffer is F11 and F12: who does not read is ended at the first write that finds too much waiting; others are still served.
func TestBuffer(t *testing.T) {
	o := options()
	o.Buffer = 1000
	r := newRig(t, o)
	a, b := r.open("OWN-CCC"), r.open("OWN-CCC")
	r.hold = true
	r.s.Written(r.clock(), b, 1<<20)
	r.publish("@viewer")
	r.publish("@viewer")
	if !r.live(a) || !r.live(b) {
		t.Fatal("ended below the bound")
	}
	r.s.Written(r.clock(), b, 1<<20) // b reads, a does not
	r.clear(b)
	r.publish("@viewer")
	if r.closed[a] != "cut" || !r.live(b) || strings.Count(r.body[b].String(), "event: wake") != 1 || r.s.State().Streams != 1 {
		t.Errorf("F11: a %q, b %s", r.closed[a], r.said(b))
	}
	o.Buffer = 5 // the hint is more than that
	r = newRig(t, o)
	r.hold = true
	c := r.open("OWN-CCC")
	if r.closed[c] != "cut" || r.body[c].String() != "retry: 5000\n\n" || r.s.State().Streams != 0 {
		t.Errorf("F12: %q %q", r.closed[c], r.said(c))
	}
	if _, ok := r.s.Deadline(); ok {
		t.Error("F12: it was registered")
	}
}

// TestBound: however much is published, a stream never owes more than the bound and one frame.
func TestBound(t *testing.T) {
	r := newRig(t, options())
	c := r.open("OWN-CCC")
	r.hold = true
	most := 0
	for range 2000 {
		r.now += time.Second
		r.publish("@viewer", make([]Event, 20)...)
		most = max(most, r.s.State().Queued)
		if !r.live(c) {
			break
		}
	}
	if r.live(c) || most < DefaultBuffer || most > DefaultBuffer+2000 {
		t.Errorf("most %d bytes, ended %q", most, r.closed[c])
	}
}

// TestCleanup is F13: ends of any order and number leave the counts right.
func TestCleanup(t *testing.T) {
	r := newRig(t, options())
	a, b := r.open("OWN-CCC"), r.open("OWN-CCC")
	for range 3 {
		r.s.Gone(r.clock(), a)
		_, err := r.s.Cut(r.clock(), "@viewer", simulator.Reset)
		r.must(err)
		r.s.Written(r.clock(), a, 100)
		r.drain()
	}
	if st := r.s.State(); st.Streams != 0 || r.closed[a] != "" || r.closed[b] != "reset" {
		t.Errorf("%+v, a %q, b %q", st, r.closed[a], r.closed[b])
	}
	if c := r.open("OWN-CCC"); !r.live(c) {
		t.Error(r.said(c))
	}
}

// TestDispose is F14 and A22's other half: everything ends, nothing comes in, and an arming that comes late leaves no route.
func TestDispose(t *testing.T) {
	r := newRig(t, options())
	a, b := r.open("OWN-CCC"), r.open("OTHER-CCC")
	r.s.Dispose(r.clock())
	r.drain()
	if st := r.s.State(); r.closed[a] != "eof" || r.closed[b] != "eof" || st.Streams != 0 || len(st.ByIdentity) != 0 {
		t.Errorf("%+v", st)
	}
	armed, reason, err := r.s.Arm(r.clock(), "", ArmWell)
	r.must(err)
	if armed || reason != "not-armed: fan-out disposed" || len(r.s.State().Routes) != 0 {
		t.Errorf("armed %v, %s", armed, reason)
	}
	r.drain()
	r.want(r.open("OWN-CCC"), "429 "+wiredBody("fleet: stream registry disposed"))
	if _, ok := r.s.Deadline(); ok {
		t.Error("its timer goes on")
	}
	r.must(r.s.Restart(r.clock(), simulator.EOF))
	r.drain()
	if c := r.open("OWN-CCC"); !r.live(c) {
		t.Error("a restart did not help")
	}
}

// TestHandshakeFails is the last row of the matrix, and that a place is not taken by it.
func TestHandshakeFails(t *testing.T) {
	r := newRig(t, options())
	r.must(r.s.Fail(r.clock(), FailHandshake, 1))
	r.want(r.open("OWN-CCC"), "429 "+wiredBody("fleet: stream rejected at handshake"))
	if c := r.open("OWN-CCC"); !r.live(c) || r.s.State().Streams != 1 {
		t.Error(r.said(c))
	}
}

// TestSilence: the stream stays open and gets nothing, and what was missed is not made up for.
func TestSilence(t *testing.T) {
	r := newRig(t, options())
	a, b := r.open("OWN-CCC"), r.open("TUPLE-CCC")
	r.clear(a)
	r.clear(b)
	r.s.Silence(r.clock(), "@viewer", true)
	r.publish("@viewer")
	r.pass(91 * time.Second)
	if !r.live(a) || r.body[a].Len() != 0 || strings.Count(r.body[b].String(), ":hb") != 3 {
		t.Errorf("a %s, b %s", r.said(a), r.said(b))
	}
	if c := r.open("OWN-CCC"); !strings.HasPrefix(r.said(c), "200 retry: 5000\n\nevent: state\n") {
		t.Error("a newcomer got no hello:", r.said(c))
	}
	r.s.Silence(r.clock(), "@viewer", false)
	r.pass(9 * time.Second)
	r.want(a, "200 :hb\n\n")
}

// TestRaw: bytes that an honest server never writes.
func TestRaw(t *testing.T) {
	r := newRig(t, options())
	a := r.open("OWN-CCC")
	r.clear(a)
	r.must(r.s.Raw(r.clock(), "", []byte("event: wake\ndata: null\n\n")))
	r.drain()
	r.want(a, "200 event: wake\ndata: null\n\n")
	if err := r.s.Raw(r.clock(), "", make([]byte, MaxRaw+1)); err == nil {
		t.Error("more than MaxRaw")
	}
}
