package fleet

import (
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// TestArmingReasons is F1, F2, F4, F5 and the literals of fleet facts 2.1: what a state frame says, and that no route is left.
func TestArmingReasons(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*Options)
		fault  ArmFault
	}{
		{"not-armed: arming has not run", func(o *Options) { o.Arming = ArmLater }, "none"},
		{"not-armed: fleet.wakeSelfBase undeclared", func(o *Options) { o.SelfBase = "" }, "none"},
		{"not-armed: fleet.wakeSelfBase undeclared", func(o *Options) { o.SelfBase, o.Service = "", "" }, "none"},
		{"not-armed: no authenticated plane client", func(o *Options) { o.Service = "" }, "none"},
		{"not-armed: no authenticated plane client", func(o *Options) { o.Arming = ArmLater }, ArmNoPlane},
		{"not-armed: fleet.wakeSelfBase is not a valid URL", func(o *Options) { o.SelfBase = "fleet.test" }, "none"},
		{"not-armed: fleet.wakeSelfBase is not a valid URL", func(o *Options) { o.SelfBase = "http://" }, "none"},
		{"not-armed: subscribe returned no subscriptionId", func(o *Options) { o.Arming = ArmLater }, ArmSubscribe},
		{"not-armed: rotate-key returned no signing key", func(o *Options) { o.Arming = ArmLater }, ArmRotate},
		{"not-armed: relay subscription arming failed", func(o *Options) { o.Arming = ArmLater }, ArmThrow},
	} {
		o := options()
		c.change(&o)
		r := newRig(t, o)
		if c.fault != "none" {
			if _, _, err := r.s.Arm(r.clock(), "", c.fault); err != nil {
				t.Fatal(err)
			}
			r.drain()
		}
		got := r.said(r.open("OWN-CCC"))
		want := "200 retry: 5000\n\nevent: state\ndata: {\"armed\":false,\"reason\":\"" + c.reason + "\",\"lastPushAt\":null,\"connectedIdentities\":0,\"armedForViewer\":false}\n\n"
		if got != want || len(r.s.State().Routes) != 0 {
			t.Errorf("%s: %s, routes %v", c.reason, got, r.s.State().Routes)
		}
	}
}

// TestArmingSequence is F3: subscribe, then rotate-key; the target and the address, and the key that is the route's.
func TestArmingSequence(t *testing.T) {
	r := newRig(t, options())
	sub := r.s.plane.find("WAKE_SUB:relay")
	if sub.target != "a2a-webhook" || sub.url != "http://fleet.test/wake" || sub.owner != "@viewer" || len(sub.key) != 64 || r.s.routes[0].key != sub.key {
		t.Errorf("%+v", sub)
	}
	if r.s.plane.find("WAKE_SUB:nobody") != nil {
		t.Error("an unknown id is found")
	}
	other := newRig(t, options())
	if other.s.routes[0].key != sub.key {
		t.Error("the same seed makes another key")
	}
	o := options()
	o.Seed[0] = 1
	if newRig(t, o).s.routes[0].key == sub.key {
		t.Error("another seed makes the same key")
	}
}

// TestStartRace: who connects before the service's proof is keyed by its tuple and stays unarmed; only a reconnect helps.
func TestStartRace(t *testing.T) {
	o := options()
	o.Arming = ArmLater
	r := newRig(t, o)
	early := r.open("OWN-CCC")
	r.clear(early)
	if armed, _, err := r.s.Arm(r.clock(), "", ArmWell); !armed || err != nil {
		t.Fatal(err)
	}
	r.drain()
	late := r.open("OWN-CCC")
	r.want(late, "200 "+strings.Replace(helloArmed, `"connectedIdentities":0`, `"connectedIdentities":1`, 1))
	r.publish("@viewer")
	r.want(early, "200 ") // no second state frame, and no wake
	if !strings.Contains(r.body[late].String(), "event: wake") {
		t.Error("the late one got none")
	}
}

// TestTwoViewers is P18: class 1 alone arms nothing, the same bytes twice arm nothing and ask nobody, an own class-3 bearer arms its
// own route, and a wake for one is silent for the other.
func TestTwoViewers(t *testing.T) {
	const own = "X-Neo-Mc-Authorization"
	r := newRig(t, options())
	alone := r.open("OTHER-CCC")
	if !strings.Contains(r.said(alone), `"armed":true,"reason":"armed","lastPushAt":null,"connectedIdentities":0,"armedForViewer":false}`) {
		t.Error(r.said(alone))
	}
	before := len(r.s.plane.subscriptions)
	if c := r.open("OTHER-CCC", own, "Bearer OTHER-CCC"); !strings.Contains(r.said(c), `"armed":true,`) || !strings.Contains(r.said(c), `"armedForViewer":false}`) || len(r.s.plane.subscriptions) != before {
		t.Error("twice the same bytes:", r.said(c))
	}
	armed := r.open("OTHER-CCC", own, "bearer OTHER-MCP")
	if !strings.Contains(r.said(armed), `"armedForViewer":true,"subscriptionId":"WAKE_SUB:other"}`) {
		t.Error(r.said(armed))
	}
	key := r.s.routes[1].key
	again := r.open("OTHER-CCC", own, "Bearer OTHER-MCP")
	if r.s.routes[1].key != key || !r.live(again) {
		t.Error("A5: the second stream rotated the key")
	}
	mine := r.open("OWN-CCC")
	r.clear(armed)
	r.clear(mine)
	r.publish("@other")
	if !strings.Contains(r.said(armed), "event: wake") || r.body[mine].Len() != 0 {
		t.Errorf("armed %s, other %s", r.said(armed), r.said(mine))
	}
	// A stranger's bearer is not admitted by the plane: that outcome is everybody's.
	if c := r.open("OTHER-CCC", own, "Bearer STRANGER"); !strings.Contains(r.said(c), `"armed":false,"reason":"not-armed: no authenticated plane client"`) {
		t.Error(r.said(c))
	}
	if c := r.open("OWN-CCC"); !strings.Contains(r.said(c), `"armed":false,"reason":"not-armed: no authenticated plane client"`) || !strings.Contains(r.said(c), `"armedForViewer":true`) {
		t.Error(r.said(c))
	}
}

// TestDisarm: the route goes, wakes find nobody, and arming again brings the same subscription with a new key.
func TestDisarm(t *testing.T) {
	r := newRig(t, options())
	a := r.open("OWN-CCC")
	r.clear(a)
	key := r.s.routes[0].key
	r.s.Disarm(r.clock(), "@viewer")
	if p := r.publish("@viewer"); p.Deliveries[0].Status != 404 || p.Deliveries[0].State != "unknown-subscription" {
		t.Errorf("%+v", p)
	}
	r.want(a, "200 ")
	if armed, _, err := r.s.Arm(r.clock(), "@viewer", ArmWell); !armed || err != nil || r.s.routes[0].key == key || r.s.routes[0].id != "WAKE_SUB:relay" {
		t.Errorf("%v %v", armed, err)
	}
	if p := r.publish("@viewer"); p.Deliveries[0].Status != 200 {
		t.Errorf("%+v", p)
	}
	if _, _, err := r.s.Arm(r.clock(), "@nobody", ArmWell); err == nil {
		t.Error("armed for nobody")
	}
}

// TestForeignRotation: a key that somebody else rotated at the plane is not the route's any more.
func TestForeignRotation(t *testing.T) {
	r := newRig(t, options())
	if got := r.tool("MCP-AAA", `{"action":"rotate-key","subscriptionId":"WAKE_SUB:relay"}`); got.Error {
		t.Fatal(got.Text)
	}
	if p := r.publish("@viewer"); p.Deliveries[0].Status != 401 || p.Deliveries[0].State != "invalid-signature" {
		t.Errorf("%+v", p)
	}
}

// TestRestart: streams end, routes, windows and the time of the last push are gone; the log and the subscriptions are not.
func TestRestart(t *testing.T) {
	o := options()
	o.Attempts = 1
	r := newRig(t, o)
	a := r.open("OWN-CCC")
	r.publish("@viewer")
	key := r.s.routes[0].key
	r.s.opt.Arming = ArmLater
	r.must(r.s.Restart(r.clock(), simulator.Cut))
	r.drain()
	if st := r.s.State(); r.closed[a] != "cut" || st.Streams != 0 || len(st.Routes) != 0 || st.LastPushAt != -1 || st.LogID != 1 || st.Reason != notRun || st.Proven != "" {
		t.Errorf("%+v", st)
	}
	r.must(r.s.Restart(r.clock(), simulator.EOF))
	if armed, _, _ := r.s.Arm(r.clock(), "", ArmWell); !armed || r.s.routes[0].key == key {
		t.Error("the key was not minted again")
	}
	r.drain()
	b := r.open("OWN-CCC") // the one attempt of the new process
	if !strings.Contains(r.said(b), `"lastPushAt":null,"connectedIdentities":0,"armedForViewer":true,"subscriptionId":"WAKE_SUB:relay"`) {
		t.Error(r.said(b))
	}
	if got := r.poll("MCP-AAA", "WAKE_SUB:relay", 0); !strings.Contains(got, `"pending":1,`) {
		t.Error(got)
	}
	if err := r.s.Restart(r.clock(), "slowly"); err == nil {
		t.Error("an unknown ending")
	}
}

// TestRevoke: a bearer is checked once; open streams stay, the next attempt is refused, the other bearer still counts.
func TestRevoke(t *testing.T) {
	r := newRig(t, options())
	a := r.open("OWN-CCC")
	r.must(r.s.Revoke(r.clock(), 0, ClassAdmission))
	r.drain()
	if c := r.open("OWN-CCC"); r.head[c].Status != 401 || !r.live(a) {
		t.Error(r.said(c))
	}
	if c := r.open("OWN-2"); !r.live(c) {
		t.Error(r.said(c))
	}
	r.must(r.s.Revoke(r.clock(), 0, ClassPlane))
	if got := r.poll("MCP-AAA", "WAKE_SUB:relay", 0); !strings.HasPrefix(got, "401 ") {
		t.Error(got)
	}
	if armed, reason, _ := r.s.Arm(r.clock(), "", ArmWell); armed || reason != noPlane {
		t.Error(reason)
	}
	r.drain()
	for _, c := range [][2]int{{-1, 1}, {5, 1}, {0, 2}, {0, 3}} {
		if err := r.s.Revoke(r.clock(), c[0], c[1]); err == nil {
			t.Errorf("revoked %v", c)
		}
	}
}

// TestCanary: no record, state or refusal shows a bearer or a signing key.
func TestCanary(t *testing.T) {
	r := newRig(t, options())
	for _, token := range []string{"OWN-CCC", "MCP-AAA", "NONE-CCC", "s3cr3t-unknown"} {
		r.open(token)
		r.open("OWN-CCC", "X-Neo-Mc-Authorization", "Bearer "+token)
		r.poll(token, "WAKE_SUB:relay", 0)
		r.tool(token, `{"action":"list"}`)
	}
	r.publish("@viewer")
	r.must(r.s.Revoke(r.clock(), 0, ClassAdmission))
	r.drain()
	log, err := trace.NewLog(0)
	r.must(err)
	var all strings.Builder
	for _, rec := range r.records {
		log.Append(rec)
	}
	for _, rec := range log.Records() {
		all.WriteString(rec.Reason + rec.Detail + rec.ID + rec.Status + strings.Join(sorted(rec.Args), " ") + "\n")
	}
	for c := range r.body {
		if r.head[c].Status != 200 {
			all.WriteString(r.said(c))
		}
	}
	for _, secret := range []string{"OWN-CCC", "OWN-2", "MCP-AAA", "NONE-CCC", "s3cr3t", r.s.routes[0].key} {
		if strings.Contains(all.String(), secret) {
			t.Errorf("%s is shown", secret)
		}
	}
	if !strings.Contains(all.String(), "identity=@viewer") {
		t.Error("the log is empty")
	}
}
