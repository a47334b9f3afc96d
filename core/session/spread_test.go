package session_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// TestManyClientsSpread is P-CON-11: 50 clients are refused at once with Retry-After: 5, three rounds long. Nobody comes back
// earlier, and each round they come spread over at least eight quarter seconds.
func TestManyClientsSpread(t *testing.T) {
	const clients, rounds, floor = 50, 3, 5 * time.Second
	draw := rand.New(rand.NewPCG(11, 50))
	sessions := make([]*session.Session, clients)
	for i := range sessions {
		g, err := gate.New(gate.Config{}, gate.Start{})
		if err != nil {
			t.Fatal(err)
		}
		if sessions[i], err = session.New(g, session.Policy{Jitter: func(int) int { return draw.IntN(session.MaxJitter + 1) }}); err != nil {
			t.Fatal(err)
		}
		sessions[i].Open(session.Now{})
	}
	for round := range rounds {
		buckets := map[time.Duration]bool{}
		for i, s := range sessions {
			c := s.Take().Connect
			if c == nil {
				t.Fatalf("round %d: client %d does not connect", round, i)
			}
			now := session.Now{Mono: c.By - session.DefaultConnectTimeout}
			s.Down(c.Epoch, now, session.Down{Status: 429, RetryAfter: floor})
			s.Take()
			at, _ := s.Deadline()
			wait := at - now.Mono
			if wait < floor || wait > floor+floor/2 {
				t.Errorf("round %d: client %d waits %v", round, i, wait)
			}
			buckets[wait/(250*time.Millisecond)] = true
			s.Wake(session.Now{Mono: at})
		}
		if len(buckets) < 8 {
			t.Errorf("round %d: only %d quarter seconds", round, len(buckets))
		}
	}
}
