package checkpoint

// AuthorityState says in one word what a reader may make of the state in front of them (facts 3.3).
type AuthorityState string

// The four states.
const (
	Replaying AuthorityState = "replaying" // a baseline is still to come: not authoritative
	LiveState AuthorityState = "live"
	Stale     AuthorityState = "stale"    // live, but the last accepted event is older than the application likes
	Terminal  AuthorityState = "terminal" // over; authoritative as of the last checkpoint, if there is one
)

// Clock is what an authority is judged by. A zero Clock knows neither.
type Clock struct {
	Now        int64 // unix milliseconds
	NowKnown   bool
	StaleAfter int64 // milliseconds; older than this is stale
	Bounded    bool  // StaleAfter counts
}

// Authority is the answer of Derive.
type Authority struct {
	State         AuthorityState
	Authoritative bool
	AgeMs         int64 // since the checkpoint was taken, at least 0
	AgeKnown      bool  // AgeMs counts
}

// Derive judges a gate's phase, in the contract's words (gate.Phase.String), and the checkpoint it holds, nil for none. A
// phase that the contract does not know is judged like one that still waits for a baseline.
func Derive(phase string, held *Checkpoint, at Clock) Authority {
	a := Authority{State: Replaying}
	if held != nil && at.NowKnown && ValidTime(held.SavedAt) {
		a.AgeMs, a.AgeKnown = max(0, at.Now-held.SavedAt), true
	}
	switch phase {
	case "live":
		a.State, a.Authoritative = LiveState, true
		if a.AgeKnown && at.Bounded && a.AgeMs > at.StaleAfter {
			a.State = Stale
		}
	case "error", "closed":
		a.State, a.Authoritative = Terminal, held != nil
	}
	return a
}
