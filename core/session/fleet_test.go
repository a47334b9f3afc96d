package session_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// attempts runs a session in virtual time against a server that answers each attempt as answer says, and lists when it was called.
func attempts(t *testing.T, p session.Policy, until time.Duration, answer func(n int, s *session.Session, e session.Epoch, now session.Now) time.Duration) (at []time.Duration) {
	t.Helper()
	g, err := gate.New(gate.Config{}, gate.Start{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(g, p)
	if err != nil {
		t.Fatal(err)
	}
	s.Open(session.Now{})
	for now := time.Duration(0); now <= until; {
		if c := s.Take().Connect; c != nil {
			at = append(at, now)
			now += answer(len(at)-1, s, c.Epoch, session.Now{Mono: now})
			s.Take()
		}
		due, ok := s.Deadline()
		if !ok {
			break
		}
		now = max(now, due)
		s.Wake(session.Now{Mono: now})
	}
	return at
}

// most is the largest number of attempts in any window of that length. A server may count in a window that starts anywhere.
func most(at []time.Duration, window time.Duration) (n int) {
	for i, from := range at {
		end, _ := slices.BinarySearch(at, from+window)
		n = max(n, end-i)
	}
	return n
}

// TestFleetFlapping is P-FW-10: a server that accepts, asks to be called again after 100 ms and closes. In no 60 s are there more than 30
// attempts, however long each connection lives, and three relays of one viewer stay below that together while each is cut at once.
func TestFleetFlapping(t *testing.T) {
	draw := rand.New(rand.NewPCG(10, 30))
	for _, lives := range []time.Duration{0, time.Second, session.DefaultResetAfter} {
		var all []time.Duration
		for relay := range 3 {
			p := session.FleetPolicy()
			if p.Jitter = func(int) int { return 0 }; relay > 0 {
				p.Jitter = func(int) int { return draw.IntN(session.MaxJitter + 1) }
			}
			at := attempts(t, p, 10*time.Minute, func(_ int, s *session.Session, e session.Epoch, now session.Now) time.Duration {
				s.Up(e, now)
				s.Retry(e, now, 100*time.Millisecond)
				now.Mono += lives
				s.Beat(e, now)
				s.Down(e, now, session.Down{Detail: "end-of-stream"})
				return lives
			})
			if n := most(at, time.Minute); n > 30 || len(at) < 5 {
				t.Errorf("connections of %v: %d attempts in all, %d in 60 s", lives, len(at), n)
			}
			all = append(all, at...)
		}
		slices.Sort(all)
		if n := most(all, time.Minute); n > 30 {
			t.Errorf("connections of %v: three relays make %d attempts in 60 s", lives, n)
		}
	}
}

// TestFleetFloor is P-FW-11: a hint is a floor under the back-off, with jitter off and on.
func TestFleetFloor(t *testing.T) {
	for _, jitter := range []int{0, session.MaxJitter} {
		p := session.FleetPolicy()
		p.Base, p.Cap, p.Jitter = time.Second, 30*time.Second, func(int) int { return jitter }
		at := attempts(t, p, 3*time.Minute, func(n int, s *session.Session, e session.Epoch, now session.Now) time.Duration {
			if n > 0 {
				s.Down(e, now, session.Down{Status: 503})
				return 0
			}
			s.Up(e, now)
			s.Retry(e, now, 5*time.Second)
			s.Down(e, now, session.Down{Detail: "end-of-stream"})
			return 0
		})
		for i, want := range []time.Duration{5, 5, 5, 8, 16, 30} {
			want *= time.Second
			if got := at[i+1] - at[i]; got < want || got > want+want*time.Duration(jitter)/1000 {
				t.Errorf("jitter %d: wait %d is %v, the floor is %v", jitter, i, got, want)
			}
		}
	}
}

// TestFleetPolicy: D-57 with jitter off; a hint below the floor changes nothing, one above wins over the cap.
func TestFleetPolicy(t *testing.T) {
	p := session.FleetPolicy()
	if _, err := session.New(nil, p); err == nil {
		t.Error("a policy without jitter was accepted")
	}
	p.Jitter = func(int) int { return 0 }
	at := attempts(t, p, 20*time.Minute, func(n int, s *session.Session, e session.Epoch, now session.Now) time.Duration {
		if n == 6 {
			s.Up(e, now)
			s.Retry(e, now, 2*time.Minute)
		}
		s.Down(e, now, session.Down{Detail: "end-of-stream"})
		return 0
	})
	for i, want := range []time.Duration{5, 10, 20, 40, 60, 60, 120, 120} {
		if got := at[i+1] - at[i]; got != want*time.Second {
			t.Errorf("wait %d is %v, want %v s", i, got, int(want))
		}
	}
}

// TestFleetWrongCredential is P-FW-13: two attempts in ten minutes at most, and a reason.
func TestFleetWrongCredential(t *testing.T) {
	p := session.FleetPolicy()
	p.Jitter = func(int) int { return 0 }
	var o session.WakeObservation
	at := attempts(t, p, 10*time.Minute, func(_ int, s *session.Session, e session.Epoch, now session.Now) time.Duration {
		s.Down(e, now, session.Down{Kind: session.Denied, Status: 401})
		o = s.ObserveWake()
		return 0
	})
	v := session.Liveness(&o, session.Now{Mono: 10 * time.Minute})
	if len(at) != 2 || v.Alive || v.Reason != "wake stream disconnected (stream refused: HTTP 401) — poll remains the truth lane" {
		t.Errorf("%d attempts, %v %s", len(at), v.Alive, v.Reason)
	}
}
