package fleet

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// route is a subscription that this process was armed for: where a signed wake goes.
type route struct {
	id, identity string
	key          string // its signing key, a secret
}

// What the state frame says about arming (fleet facts 2.1).
const (
	armedWell      = "armed"
	notRun         = "not-armed: arming has not run"
	noSelfBase     = "not-armed: fleet.wakeSelfBase undeclared"
	noPlane        = "not-armed: no authenticated plane client"
	badSelfBase    = "not-armed: fleet.wakeSelfBase is not a valid URL"
	noSubscription = "not-armed: subscribe returned no subscriptionId"
	noKey          = "not-armed: rotate-key returned no signing key"
	armingFailed   = "not-armed: relay subscription arming failed"
	fanoutGone     = "not-armed: fan-out disposed"
)

// ArmFault is what the plane does wrong while it is asked to arm.
type ArmFault string

// The faults.
const (
	ArmWell      ArmFault = ""
	ArmSubscribe ArmFault = "subscribe" // answers no subscription id
	ArmRotate    ArmFault = "rotate"    // answers no signing key
	ArmThrow     ArmFault = "throw"     // the tool throws
	ArmNoPlane   ArmFault = "no-plane"  // there is no authenticated client
)

// checkService wants a plane bearer for a service that can be armed.
func (s *Server) checkService() error {
	if s.opt.Service == "" {
		return nil
	}
	v := s.service()
	if v == nil {
		return fmt.Errorf("service: %q is the canonical login of no viewer", s.opt.Service)
	}
	if len(v.Plane) == 0 {
		return fmt.Errorf("refusing to boot a dead feature: the service %s is declared and holds no plane bearer", s.opt.Service)
	}
	return nil
}

// service is the viewer whose plane bearer the server holds.
func (s *Server) service() *viewer {
	var found *viewer
	for _, v := range s.viewers {
		if v.login == s.opt.Service && v.login != "" && (found == nil || len(v.Plane) > 0) {
			found = v
		}
	}
	return found
}

// armService arms the service's own subscription. The first success proves its login.
func (s *Server) armService(fault ArmFault) bool {
	v := s.service()
	if v != nil && !s.live(v) {
		v = nil // its bearer was revoked
	}
	if !s.arm(v, fault) {
		return false
	}
	s.proven = v.login
	return true
}

// live says whether the plane still takes a bearer of v.
func (s *Server) live(v *viewer) bool {
	for _, h := range s.known {
		if h.class == ClassPlane && h.of == v {
			return true
		}
	}
	return false
}

// armViewer arms for the viewer whose class-3 bearer a request carries beside its class-1 bearer; the answer is the identity that
// the plane proved, empty for none. The same bytes twice arm nothing and ask nobody. A route that is there is not armed again: a
// rotation would break its key.
func (s *Server) armViewer(h simulator.Header) string {
	kind, token, _ := strings.Cut(first(h, "X-Neo-Mc-Authorization"), " ")
	own, _ := bearer(h)
	if !strings.EqualFold(kind, "bearer") || token == "" || token == own {
		return ""
	}
	v := s.known.find(ClassPlane, token)
	if v == nil || v.login == "" {
		s.arm(nil, ArmWell)
		return ""
	}
	if !s.routed(v.login) {
		s.arm(v, ArmWell)
	}
	return v.login
}

func (s *Server) routed(identity string) bool {
	return slices.ContainsFunc(s.routes, func(r route) bool { return r.identity == identity })
}

// arm subscribes v's identity at the plane and takes a fresh key. Its outcome is what every state frame says from now on. v is nil
// for a client that the plane did not admit.
func (s *Server) arm(v *viewer, fault ArmFault) bool {
	id, key, why := s.askPlane(v, fault)
	s.armed, s.reason = why == armedWell, why
	args := map[string]string{}
	if v != nil {
		args["identity"] = v.login
	}
	s.record(trace.Record{Kind: trace.ServerArmed, Seq: event.NoSeq, Reason: why, Args: args})
	if !s.armed {
		return false
	}
	r := route{id, v.login, key}
	if at := slices.IndexFunc(s.routes, func(x route) bool { return x.id == id }); at >= 0 {
		s.routes[at] = r // keeps its place
	} else {
		s.routes = append(s.routes, r)
	}
	return true
}

func (s *Server) askPlane(v *viewer, fault ArmFault) (id, key, why string) {
	base, err := url.Parse(s.opt.SelfBase)
	switch {
	case s.disposed:
		return "", "", fanoutGone
	case s.opt.SelfBase == "":
		return "", "", noSelfBase
	case v == nil || fault == ArmNoPlane:
		return "", "", noPlane
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return "", "", badSelfBase
	case fault == ArmThrow:
		return "", "", armingFailed
	case fault == ArmSubscribe:
		return "", "", noSubscription
	}
	sub, refused := s.plane.subscribe(v.login, v.Subscription, webhook, strings.TrimRight(s.opt.SelfBase, "/")+WakePath)
	if refused != "" {
		return "", "", armingFailed
	}
	if fault == ArmRotate {
		return "", "", noKey
	}
	return sub.id, s.plane.rotate(sub), armedWell
}
