package session

import (
	"fmt"
	"strings"
	"time"
)

// WakeHorizon is how long a wake stream may be silent and still count as alive: 90,000 ms is fresh, 90,001 is not (D-36). It is fixed.
const WakeHorizon = 90 * time.Second

// Alive is true or not known. That a lane is dead is never known: the stream is a hint, and the poll is the truth.
type Alive bool

// The two answers.
const (
	AliveUnknown Alive = false
	AliveTrue    Alive = true
)

// String is the word: true or unknown.
func (a Alive) String() string {
	if a {
		return "true"
	}
	return "unknown"
}

// MarshalJSON writes true or "unknown".
func (a Alive) MarshalJSON() ([]byte, error) {
	if a {
		return []byte("true"), nil
	}
	return []byte(`"unknown"`), nil
}

// Verdict is one answer with its reason, which is never empty.
type Verdict struct {
	Alive  Alive
	Reason string
}

// poll is what every verdict about a lane that is not connected ends with.
const poll = " — poll remains the truth lane"

// Liveness judges a lane at now by the truth table of fleet facts 6; the first row that fits wins. A lane that is not armed for this
// viewer is alive all the same, and its reason says so (D-54).
func Liveness(o *WakeObservation, now Now) Verdict {
	if !o.Running {
		return Verdict{AliveUnknown, "wake stream consumer not running"}
	}
	if !o.Connected {
		return Verdict{AliveUnknown, "wake stream disconnected (" + o.LastDisconnect + ")" + poll}
	}
	if silent := (now.Mono - o.LastFrameAt).Milliseconds(); silent > WakeHorizon.Milliseconds() {
		return Verdict{AliveUnknown, fmt.Sprintf("wake stream silent for %ds — liveness unconfirmed", (silent+500)/1000)}
	}
	return Verdict{AliveTrue, "composed wake stream connected · " + o.armed() + o.caughtUp()}
}

func (o *WakeObservation) armed() string {
	switch {
	case !o.Stated:
		return "state event pending"
	case o.LastState.ArmedForViewer:
		return "armed for this viewer"
	case !o.LastState.HasReason:
		return "not armed for this viewer (no reason carried)"
	}
	return "not armed for this viewer (" + o.LastState.Reason + ")"
}

// caughtUp is the note about work that was found; none for 0, and none for what is not known.
func (o *WakeObservation) caughtUp() string {
	if n, ok := o.PendingAtCatchUp.Value(); ok && n > 0 {
		return fmt.Sprintf(" · %d pending caught up", n)
	}
	return ""
}

// Undeclared is the verdict where no session was built because there is no credential. problem is what was wrong with a file that was
// declared, empty if nothing was (D-55).
func Undeclared(problem string) Verdict {
	reason := "no fleet-surface credential declared (fleet.planeAdmissionBearer / fleet.planeAdmissionBearerFile)" + poll
	if problem = strings.TrimSpace(problem); problem != "" {
		reason += " · " + problem
	}
	return Verdict{AliveUnknown, reason}
}
