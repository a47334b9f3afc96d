package drive

import (
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// ClaimError says that a transport does not claim what a subscription needs. It is found from the descriptor, before
// anything is opened (D-62).
type ClaimError struct {
	Transport string // its name
	Member    string // of the descriptor
	Value     string // what the transport says there
	Why       string
}

func (e *ClaimError) Error() string {
	return fmt.Sprintf("transport %s: %s is %q: %s", e.Transport, e.Member, e.Value, e.Why)
}

// Policy completes p with what the descriptor claims. stored says that positions are to be kept in a store. It fails with
// a *ClaimError for a transport that a gate cannot follow: one without an order, one that cannot start anywhere, one
// whose words are unknown, and with a store one that can never be resumed. A fleet-wake lane has nothing for a gate: its hints need
// neither order nor baseline, and there is no position to store.
func Policy(d transport.Descriptor, p session.Policy, stored bool) (session.Policy, error) {
	no := func(member, value, why string) (session.Policy, error) {
		return session.Policy{}, &ClaimError{d.Name, member, value, why}
	}
	if d.Wire == transport.FleetWake {
		if d.Order != transport.NoOrder || d.Baseline != transport.NoBaseline {
			return no("order", string(d.Order), "a wake is a hint: a lane has neither order nor baseline")
		}
		if stored {
			return no("resume", "", "the mark of a lane lives in its client alone, and nothing of it is stored")
		}
		return lane(p), nil
	}
	switch d.Order {
	case transport.ServerSequence, transport.RequestChain:
	case transport.NoOrder:
		return no("order", string(d.Order), "without an order nobody can tell whether an event is missing")
	default:
		return no("order", string(d.Order), "unknown")
	}
	switch d.Baseline {
	case transport.BaselineSnapshot:
	case transport.BaselinePosition:
		p.AtPosition = true
	case transport.NoBaseline:
		return no("baseline", string(d.Baseline), "there is nothing to start from and no way back after a gap")
	default:
		return no("baseline", string(d.Baseline), "unknown")
	}
	switch d.Freshness {
	case transport.Push, transport.Poll:
	default:
		return no("freshness", string(d.Freshness), "unknown")
	}
	switch d.Vouch {
	case transport.VouchFrame:
		p.Vouch = session.VouchFrame
	case transport.VouchImplicit:
		p.Vouch = session.VouchImplicit
	case transport.NoVouch:
		p.Vouch = session.VouchNone
	default:
		return no("vouch", string(d.Vouch), "unknown")
	}
	p.Resume = 0
	for _, m := range d.Resume {
		mode, ok := modes[m]
		if !ok {
			return no("resume", string(m), "unknown")
		}
		p.Resume |= mode
	}
	if stored && p.Resume == 0 {
		return no("resume", "", "a stored position could never be resumed from")
	}
	if stored && p.Vouch == session.VouchNone {
		return no("vouch", string(d.Vouch), "nobody vouches for a resume, so a stored position could never be used")
	}
	return p, nil
}

// lane fills what p leaves open with the numbers of fleet wake (D-36, D-57). The horizon is fixed.
func lane(p session.Policy) session.Policy {
	f := session.FleetPolicy()
	for _, d := range []struct{ value, usual *time.Duration }{{&p.Base, &f.Base}, {&p.Cap, &f.Cap}, {&p.Idle, &f.Idle}} {
		if *d.value == 0 {
			*d.value = *d.usual
		}
	}
	p.Horizon, p.Lane = f.Horizon, f.Lane
	return p
}

var modes = map[transport.Mode]session.Modes{
	transport.ByCursor:     session.ByCursor,
	transport.ByWatermark:  session.ByWatermark,
	transport.ByTimestamp:  session.ByTimestamp,
	transport.BySequence:   session.BySequence,
	transport.ByDeltaToken: session.ByDeltaToken,
}
