package session

import (
	"cmp"
	"strings"
)

// Axis is one axis of a routes view (fleet facts 6.1).
type Axis struct {
	State  string // alive, down or unknown for the delivery axis
	Reason string // empty: null
	OK     bool
}

// Resolved is what asking for the delivery liveness gave.
type Resolved struct {
	Absent bool   // there is nobody to ask
	Failed bool   // asking failed; Reason is the error's text
	Alive  string // true, false, unknown; any other word is out of contract
	Reason string
}

// Resolve is what a verdict of ours answers.
func (v Verdict) Resolve() Resolved { return Resolved{Alive: v.Alive.String(), Reason: v.Reason} }

// maxAxisReason is how many characters of a reason an axis shows.
const maxAxisReason = 240

// RoutesAxis renders the delivery axis. Where delivery is alive its reason is null, as the view has it; a line of our own shows the
// verdict's reason. redact hides credentials; nil hides nothing. It runs before the reason is cut, so that no half of a secret is
// left at the cut.
func RoutesAxis(r Resolved, redact func(string) string) Axis {
	clean := func(text string) string {
		text = strings.Join(strings.Fields(text), " ")
		if redact != nil {
			text = redact(text)
		}
		if runes := []rune(text); len(runes) > maxAxisReason {
			text = string(runes[:maxAxisReason])
		}
		return text
	}
	reason := clean(r.Reason)
	switch {
	case r.Absent:
		return Axis{State: "unknown", Reason: "delivery liveness read path unavailable"}
	case r.Failed:
		return Axis{State: "unknown", Reason: cmp.Or(reason, "delivery liveness read failed")}
	case r.Alive == "true":
		return Axis{State: "alive", OK: true}
	case r.Alive == "false":
		return Axis{State: "down", Reason: reason}
	case r.Alive == "unknown":
		return Axis{State: "unknown", Reason: cmp.Or(reason, "delivery liveness resolver answered unknown")}
	}
	return Axis{State: "unknown", Reason: cmp.Or(reason, "delivery liveness resolver returned an out-of-contract value")}
}

// TerminalFailure is the axis of terminal delivery failures: never known here, whatever the stream brings, and always with its reason.
func TerminalFailure() Axis {
	return Axis{State: "unknown", Reason: "terminal delivery receipts live with the containerized delivery authority; not exposed yet"}
}

// Routes are the five axes of a routes view.
type Routes struct{ Subscription, Arming, Delivery, Failure, Presence Axis }

// Capability is what the five say together.
type Capability struct {
	Source     string // fleet:wakeRoutes
	State      string // wired or degraded
	Confidence string // observed, partial or none
	Reason     string // empty: null
}

// Capability is wired only if all five axes are, and else says for each that is not why. With TerminalFailure as its failure axis it is
// never wired.
func (r Routes) Capability() Capability {
	out := Capability{Source: "fleet:wakeRoutes", State: "wired", Confidence: "observed"}
	var why []string
	for _, a := range []struct {
		name string
		axis Axis
	}{{"subscription", r.Subscription}, {"arming", r.Arming}, {"delivery", r.Delivery}, {"failure", r.Failure}, {"presence", r.Presence}} {
		if !a.axis.OK {
			why = append(why, a.name+" axis: "+cmp.Or(a.axis.Reason, a.axis.State, "unknown"))
		}
	}
	if len(why) == 0 {
		return out
	}
	out.State, out.Confidence, out.Reason = "degraded", "partial", strings.Join(why, "; ")
	if len(why) == 5 {
		out.Confidence = "none"
	}
	return out
}
