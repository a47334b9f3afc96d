package session_test

import (
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/session"
)

// TestRoutesAxis is the table of fleet facts 6.1.
func TestRoutesAxis(t *testing.T) {
	for _, c := range []struct {
		name string
		r    session.Resolved
		want session.Axis
	}{
		{"absent", session.Resolved{Absent: true, Alive: "true"}, session.Axis{State: "unknown", Reason: "delivery liveness read path unavailable"}},
		{"throws", session.Resolved{Failed: true, Reason: "boom"}, session.Axis{State: "unknown", Reason: "boom"}},
		{"throws nothing", session.Resolved{Failed: true}, session.Axis{State: "unknown", Reason: "delivery liveness read failed"}},
		{"true", session.Resolved{Alive: "true", Reason: "composed"}, session.Axis{State: "alive", OK: true}},
		{"false", session.Resolved{Alive: "false", Reason: "gone"}, session.Axis{State: "down", Reason: "gone"}},
		{"unknown", session.Resolved{Alive: "unknown", Reason: "silent"}, session.Axis{State: "unknown", Reason: "silent"}},
		{"unknown, no reason", session.Resolved{Alive: "unknown"}, session.Axis{State: "unknown", Reason: "delivery liveness resolver answered unknown"}},
		{"anything else", session.Resolved{Alive: "yes", Reason: "hm"}, session.Axis{State: "unknown", Reason: "hm"}},
		{"anything else, no reason", session.Resolved{}, session.Axis{State: "unknown", Reason: "delivery liveness resolver returned an out-of-contract value"}},
		{"collapsed and trimmed", session.Resolved{Alive: "unknown", Reason: "  a \n\t b  "}, session.Axis{State: "unknown", Reason: "a b"}},
		{"cut", session.Resolved{Alive: "unknown", Reason: strings.Repeat("ä", 241)}, session.Axis{State: "unknown", Reason: strings.Repeat("ä", 240)}},
	} {
		if got := session.RoutesAxis(c.r, nil); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	hide := func(text string) string { return strings.ReplaceAll(text, "canary-4711", "[hidden]") }
	if got := session.RoutesAxis(session.Resolved{Failed: true, Reason: strings.Repeat("x", 235) + "canary-4711"}, hide); strings.Contains(got.Reason, "canary") {
		t.Errorf("half of a secret is left at the cut: %s", got.Reason[230:])
	}
	live := stated(session.WakeState{ArmedForViewer: true}, session.Count{})
	if got := session.RoutesAxis(session.Liveness(&live, session.Now{}).Resolve(), nil); got != (session.Axis{State: "alive", OK: true}) {
		t.Errorf("our own verdict, alive: %+v", got)
	}
	if got := session.RoutesAxis(session.Undeclared("").Resolve(), nil); got.State != "unknown" || !strings.HasPrefix(got.Reason, "no fleet-surface credential") {
		t.Errorf("our own verdict, nothing declared: %+v", got)
	}
}

// TestCapability: ref:R2, R10, R11 and R13, as far as the axes go; and P-FW-14, wakes prove no receipts.
func TestCapability(t *testing.T) {
	ok := session.Axis{State: "ok", OK: true}
	all := session.Routes{Subscription: ok, Arming: ok, Delivery: ok, Failure: ok, Presence: ok}
	for _, c := range []struct {
		name   string
		change func(*session.Routes)
		want   session.Capability
	}{
		{"R2", func(*session.Routes) {}, session.Capability{Source: "fleet:wakeRoutes", State: "wired", Confidence: "observed"}},
		{"R10", func(r *session.Routes) {
			r.Arming = session.Axis{State: "unknown", Reason: "arming read path unavailable"}
		}, session.Capability{Source: "fleet:wakeRoutes", State: "degraded", Confidence: "partial", Reason: "arming axis: arming read path unavailable"}},
		{"R11", func(r *session.Routes) {
			r.Arming = session.Axis{State: "unknown", Reason: "tool failed"}
			r.Delivery = session.RoutesAxis(session.Resolved{Failed: true, Reason: "boom"}, nil)
		}, session.Capability{Source: "fleet:wakeRoutes", State: "degraded", Confidence: "partial", Reason: "arming axis: tool failed; delivery axis: boom"}},
		{"a reason that is null", func(r *session.Routes) { r.Delivery = session.RoutesAxis(session.Resolved{Alive: "false"}, nil) },
			session.Capability{Source: "fleet:wakeRoutes", State: "degraded", Confidence: "partial", Reason: "delivery axis: down"}},
		{"P-FW-14", func(r *session.Routes) { r.Failure = session.TerminalFailure() }, session.Capability{
			Source: "fleet:wakeRoutes", State: "degraded", Confidence: "partial",
			Reason: "failure axis: terminal delivery receipts live with the containerized delivery authority; not exposed yet"}},
		{"nothing known", func(r *session.Routes) { *r = session.Routes{} }, session.Capability{
			Source: "fleet:wakeRoutes", State: "degraded", Confidence: "none",
			Reason: "subscription axis: unknown; arming axis: unknown; delivery axis: unknown; failure axis: unknown; presence axis: unknown"}},
	} {
		r := all
		c.change(&r)
		if got := r.Capability(); got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}
