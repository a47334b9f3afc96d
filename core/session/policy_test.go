package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// TestPolicyLimits: a setting above its ceiling is refused with its name, its value and the ceiling; at the ceiling it is
// taken (D-13).
func TestPolicyLimits(t *testing.T) {
	none := func(int) int { return 0 }
	for name, set := range map[string]struct {
		ceiling any
		at      func(*session.Policy)
		above   func(*session.Policy)
		below   func(*session.Policy)
	}{
		"Base": {session.CeilingBase, func(p *session.Policy) { p.Base, p.Cap = session.CeilingBase, session.CeilingCap },
			func(p *session.Policy) { p.Base = session.CeilingBase + 1 }, func(p *session.Policy) { p.Base = 1 }},
		"Cap": {session.CeilingCap, func(p *session.Policy) { p.Cap = session.CeilingCap },
			func(p *session.Policy) { p.Cap = session.CeilingCap + 1 }, func(p *session.Policy) { p.Cap = -1 }},
		"ConnectTimeout": {session.CeilingConnectTimeout, func(p *session.Policy) { p.ConnectTimeout = session.CeilingConnectTimeout },
			func(p *session.Policy) { p.ConnectTimeout = session.CeilingConnectTimeout + 1 }, func(p *session.Policy) { p.ConnectTimeout = -1 }},
		"Horizon": {session.CeilingHorizon, func(p *session.Policy) { p.Horizon = session.CeilingHorizon },
			func(p *session.Policy) { p.Horizon = session.CeilingHorizon + 1 }, func(p *session.Policy) { p.Horizon = -1 }},
		"Idle": {session.CeilingIdle, func(p *session.Policy) { p.Idle = session.CeilingIdle },
			func(p *session.Policy) { p.Idle = session.CeilingIdle + 1 }, func(p *session.Policy) { p.Idle = -1 }},
		"ResetAfter": {session.CeilingResetAfter, func(p *session.Policy) { p.ResetAfter = session.CeilingResetAfter },
			func(p *session.Policy) { p.ResetAfter = session.CeilingResetAfter + 1 }, func(p *session.Policy) { p.ResetAfter = -1 }},
		"MaxFloor": {session.CeilingMaxFloor, func(p *session.Policy) { p.MaxFloor = session.CeilingMaxFloor },
			func(p *session.Policy) { p.MaxFloor = session.CeilingMaxFloor + 1 }, func(p *session.Policy) { p.MaxFloor = -1 }},
		"Attempts": {"1000000", func(p *session.Policy) { p.Attempts = session.CeilingAttempts },
			func(p *session.Policy) { p.Attempts = session.CeilingAttempts + 1 }, func(p *session.Policy) { p.Attempts = -1 }},
		"Resnapshots": {"1000", func(p *session.Policy) { p.Resnapshots = session.CeilingResnapshots },
			func(p *session.Policy) { p.Resnapshots = session.CeilingResnapshots + 1 }, func(p *session.Policy) { p.Resnapshots = -1 }},
		"PendingBytes": {"1073741824", func(p *session.Policy) { p.PendingBytes = session.CeilingPendingBytes },
			func(p *session.Policy) { p.PendingBytes = session.CeilingPendingBytes + 1 }, func(p *session.Policy) { p.PendingBytes = -1 }},
	} {
		t.Run(name, func(t *testing.T) {
			try := func(set func(*session.Policy)) error {
				g, err := gate.New(gate.Config{}, gate.Start{})
				if err != nil {
					t.Fatal(err)
				}
				p := session.Policy{Jitter: none}
				set(&p)
				_, err = session.New(g, p)
				return err
			}
			if err := try(set.at); err != nil {
				t.Errorf("at the ceiling: %v", err)
			}
			ceiling, ok := set.ceiling.(string)
			if !ok {
				ceiling = set.ceiling.(time.Duration).String()
			}
			if err := try(set.above); err == nil || !strings.Contains(err.Error(), name+" is ") || !strings.Contains(err.Error(), "ceiling of "+ceiling) {
				t.Errorf("above the ceiling: %v", err)
			}
			if err := try(set.below); err == nil || !strings.Contains(err.Error(), name+" is ") {
				t.Errorf("below the range: %v", err)
			}
		})
	}
}

// TestPolicyNeeds: what cannot work is refused at construction.
func TestPolicyNeeds(t *testing.T) {
	none := func(int) int { return 0 }
	for want, p := range map[string]session.Policy{
		"Jitter is missing":                       {},
		"Vouch 7 is unknown":                      {Jitter: none, Vouch: 7},
		"Base is 1m0s, above Cap, which is 30s":   {Jitter: none, Base: time.Minute},
		"Base is 500µs, but must be at least 1ms": {Jitter: none, Base: 500 * time.Microsecond},
	} {
		g, err := gate.New(gate.Config{}, gate.Start{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.New(g, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestPayloadBytesAreCounted: the byte bound counts what is in the gate, through thousands of events, and lets go of all
// of it.
func TestPayloadBytesAreCounted(t *testing.T) {
	g, err := gate.New(gate.Config{}, gate.Start{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(g, session.Policy{Jitter: func(int) int { return 0 }, PendingBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	now := session.Now{}
	s.Open(now)
	s.Take()
	s.Up(1, now)
	for i := range 5000 {
		ev := event.Event{Kind: event.Delta, Pos: event.Position{Seq: event.Seq(i)}, Payload: make([]byte, 40)}
		if i == 0 {
			ev.Kind = event.Snapshot
		}
		for n := 0; s.Room() == 0; n++ {
			if n > 1 {
				t.Fatalf("event %d: no room though the consumer has caught up", i)
			}
			s.Applied(now, nil)
			s.Take()
		}
		s.Data(1, now, &ev)
		s.Take()
		if st := s.State(); st.Pending > 3 {
			t.Fatalf("event %d: %d events of 40 bytes are pending, the bound is 100 bytes", i, st.Pending)
		}
	}
	if st := s.State(); st.Phase != gate.Live || st.Gaps != 0 {
		t.Fatalf("state %+v", st)
	}
}
