package session

import (
	"errors"
	"fmt"
	"time"
)

// MaxJitter is the largest jitter in permille of the delay: 50 % (D-34).
const MaxJitter = 500

// MaxCrashes is how many times in a row, without one accepted connection between them, a transport may fail by itself
// before the session ends with plugin-crashed: as many fresh starts as a plugin host makes.
const MaxCrashes = 3

// PauseShown is how long the gate must have been full before the observation says so. A queue that is full for a
// moment is how back-pressure works under load and worth no report; liveness is suspended at once all the same (D-19).
const PauseShown = time.Second

// The defaults of D-34, D-35 and D-36.
const (
	DefaultBase           = 250 * time.Millisecond
	DefaultCap            = 30 * time.Second
	DefaultConnectTimeout = 15 * time.Second
	DefaultHorizon        = 90 * time.Second
	DefaultIdle           = 120 * time.Second
	DefaultResetAfter     = 15 * time.Second
	DefaultMaxFloor       = 10 * time.Minute
	// DefaultResnapshots is as many as a transport that polls allows itself (D-39).
	DefaultResnapshots = 3
	// DefaultPendingBytes holds 64 events of 128 KiB. With the transport's 1 MiB window on both sides it keeps a
	// subscription whose consumer stands still well under 32 MiB.
	DefaultPendingBytes = 8 << 20
)

// The ceilings (D-13).
const (
	CeilingBase           = 10 * time.Minute // a longer first wait is a schedule, not a back-off
	CeilingCap            = time.Hour        // longer, and a server that came back is not noticed for hours
	CeilingConnectTimeout = 10 * time.Minute // longer than any proxy waits for an answer
	CeilingHorizon        = time.Hour        // the contract's own
	CeilingIdle           = 24 * time.Hour   // a stream silent for a day proves nothing
	CeilingResetAfter     = time.Hour        // above the cap of the back-off it has no further effect
	CeilingMaxFloor       = time.Hour        // a server must not put a client to sleep for longer
	CeilingAttempts       = 1_000_000        // at the cap of 30 s this is almost a year
	CeilingPendingBytes   = 1 << 30          // 64 events of the largest default size
	CeilingResnapshots    = 1000             // a source that needs more snapshots in a row never comes to rest
)

// Modes is a set of ways to name the position from which a stream goes on.
type Modes uint8

// The ways. The empty set means that every reconnect needs a snapshot.
const (
	ByCursor Modes = 1 << iota
	ByWatermark
	ByTimestamp
	BySequence
	ByDeltaToken
)

// Vouch is how the server confirms a resume (D-41).
type Vouch uint8

// The ways to vouch. Without one no position is ever sent.
const (
	VouchNone     Vouch = iota
	VouchFrame          // the `connected` frame says resumed true
	VouchImplicit       // the first sequenced event is at most the held sequence + 1
)

// Policy is how a session behaves. Zero durations and limits mean the defaults; a value below zero or above its ceiling
// is an error of New, never clamped (D-13).
type Policy struct {
	Base           time.Duration // first retry's delay: 250 ms, at most 10 min
	Cap            time.Duration // limit of the exponential part: 30 s, at most 1 h
	ConnectTimeout time.Duration // from the attempt to the accepted connection: 15 s, at most 10 min; a loop that polls has none
	Horizon        time.Duration // silence of more than this makes the observation unconfirmed: 90 s, at most 1 h
	Idle           time.Duration // silence that ends the connection: 120 s, at most 24 h
	ResetAfter     time.Duration // a sign of life this long after open resets the back-off: 15 s, at most 1 h
	MaxFloor       time.Duration // a server's wish to wait is held there: 10 min, at most 1 h
	Attempts       int           // retries since the last reset; 0 means no limit, at most 1,000,000
	Resnapshots    int           // of loops that poll (core/polling): snapshots in a row that the gate needed and the transport did not see coming: 3, at most 1,000
	PendingBytes   int           // payload bytes in the gate before reading stops: 8 MiB, at most 1 GiB; one event may exceed it

	// Jitter draws the jitter of the n-th retry, n from 0, in permille of the delay, uniform in 0 to MaxJitter. Required:
	// randomness is the driver's. What is outside the range is held to it.
	Jitter func(n int) int

	Resume        Modes
	Vouch         Vouch
	AtPosition    bool   // the stream has no snapshots: the answer's head stands for an empty one (D-42, baseline: position)
	Arrival       bool   // offer events at once instead of as room allows (D-19)
	SourceVersion string // of the context; compared with what the server names. Empty: learned from the first answer
	Notes         bool   // fill Due.Notes

	// Lane: the wire brings hints and no events; it has neither order nor baseline. Resume, Vouch and AtPosition then mean nothing: no
	// snapshot is asked for, the gate is not fed, and an attempt goes on from the watermark that the client holds.
	Lane bool
}

// The defaults for fleet wake (D-36, D-57).
const (
	FleetBase = 5 * time.Second
	FleetCap  = time.Minute
	FleetIdle = 300 * time.Second
)

// FleetPolicy is the policy of a fleet-wake session (D-57): base and floor 5 s, cap 60 s, idle 300 s, horizon 90 s. A server's hint
// below the floor has no effect. Jitter is left for the driver to set.
func FleetPolicy() Policy {
	return Policy{Base: FleetBase, Cap: FleetCap, Idle: FleetIdle, Horizon: WakeHorizon, Lane: true}
}

// resolve fills in the defaults and checks the limits.
func (p Policy) resolve() (Policy, error) {
	for _, d := range []struct {
		name           string
		value          *time.Duration
		usual, ceiling time.Duration
	}{
		{"Base", &p.Base, DefaultBase, CeilingBase},
		{"Cap", &p.Cap, DefaultCap, CeilingCap},
		{"ConnectTimeout", &p.ConnectTimeout, DefaultConnectTimeout, CeilingConnectTimeout},
		{"Horizon", &p.Horizon, DefaultHorizon, CeilingHorizon},
		{"Idle", &p.Idle, DefaultIdle, CeilingIdle},
		{"ResetAfter", &p.ResetAfter, DefaultResetAfter, CeilingResetAfter},
		{"MaxFloor", &p.MaxFloor, DefaultMaxFloor, CeilingMaxFloor},
	} {
		switch {
		case *d.value == 0:
			*d.value = d.usual
		case *d.value < time.Millisecond:
			return p, fmt.Errorf("session: %s is %v, but must be at least 1ms", d.name, *d.value)
		case *d.value > d.ceiling:
			return p, fmt.Errorf("session: %s is %v, above its ceiling of %v", d.name, *d.value, d.ceiling)
		}
	}
	for _, n := range []struct {
		name           string
		value          *int
		usual, ceiling int
	}{
		{"Attempts", &p.Attempts, 0, CeilingAttempts},
		{"Resnapshots", &p.Resnapshots, DefaultResnapshots, CeilingResnapshots},
		{"PendingBytes", &p.PendingBytes, DefaultPendingBytes, CeilingPendingBytes},
	} {
		switch {
		case *n.value == 0:
			*n.value = n.usual
		case *n.value < 0:
			return p, fmt.Errorf("session: %s is %d, but must not be negative", n.name, *n.value)
		case *n.value > n.ceiling:
			return p, fmt.Errorf("session: %s is %d, above its ceiling of %d", n.name, *n.value, n.ceiling)
		}
	}
	switch {
	case p.Base > p.Cap:
		return p, fmt.Errorf("session: Base is %v, above Cap, which is %v", p.Base, p.Cap)
	case p.Jitter == nil:
		return p, errors.New("session: Jitter is missing: without it clients that lost one server come back together")
	case p.Vouch > VouchImplicit:
		return p, fmt.Errorf("session: Vouch %d is unknown", p.Vouch)
	}
	return p, nil
}

// delay is the wait before the n-th retry, n from 0 (D-34): the exponential part up to the cap, the floor if that is
// longer, and jitter in permille of the longer one on top. It counts in whole milliseconds.
func (p *Policy) delay(n int, floor time.Duration) time.Duration {
	d := p.Base
	for ; n > 0 && d < p.Cap; n-- {
		d *= 2
	}
	return max(floor, min(d, p.Cap))
}

// jittered is d with the jitter drawn for the n-th retry on top.
func (p *Policy) jittered(n int, d time.Duration) time.Duration {
	permille := time.Duration(min(max(p.Jitter(n), 0), MaxJitter))
	return d + d.Truncate(time.Millisecond)*permille/1000/time.Millisecond*time.Millisecond
}
