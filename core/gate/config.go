package gate

import (
	"fmt"

	"github.com/conform-dev/conform/core/event"
)

// The limits of a gate (D-10, D-13, D-16). A default is what the contract names; a ceiling is what a gate may cost at most.
const (
	DefaultPending = 64 // applying plus queued events
	// CeilingPending keeps the queue, which is allocated at once, under about 14 MB.
	CeilingPending = 65_536

	DefaultIDs = 256 // remembered event ids
	// CeilingIDs is the contract's own; with ids of event.MaxIDBytes the window then holds 16 MiB.
	CeilingIDs = 4_096

	DefaultSaveEvery = 1 // the seed's rule: every accepted position is saved
	// CeilingSaveEvery bounds what a crash makes a consumer see again; beyond a full queue there is nothing to gain.
	CeilingSaveEvery = CeilingPending
)

// Config bounds a gate. Zero values mean the defaults; a value below zero or above its ceiling is an error, never clamped.
type Config struct {
	MaxPending int  // applying plus queued events: 64, at most 65,536
	MaxIDs     int  // remembered event ids: 256, at most 4,096
	Saves      bool // there is a store: Due.Save is used
	SaveEvery  int  // save on every n-th accepted event and whenever the queue runs empty: 1, at most 65,536 (D-16)
}

func (c Config) resolve() (Config, error) {
	for _, s := range []struct {
		name          string
		value         *int
		usual, atMost int
	}{
		{"MaxPending", &c.MaxPending, DefaultPending, CeilingPending},
		{"MaxIDs", &c.MaxIDs, DefaultIDs, CeilingIDs},
		{"SaveEvery", &c.SaveEvery, DefaultSaveEvery, CeilingSaveEvery},
	} {
		switch v := *s.value; {
		case v == 0:
			*s.value = s.usual
		case v < 0:
			return c, fmt.Errorf("gate: %s is %d, but must be at least 1 (0 means the default of %d)", s.name, v, s.usual)
		case v > s.atMost:
			return c, fmt.Errorf("gate: %s is %d, above its ceiling of %d", s.name, v, s.atMost)
		}
	}
	return c, nil
}

// New makes a gate. It returns an error for a setting outside its limits, and for a start that contradicts itself: a held
// position without a usable sequence, a held position together with a refusal, a refusal that is no checkpoint reason, or
// more ids than CeilingIDs (refused by their number, before one is looked at).
// IDs count only beside a held position.
func New(cfg Config, start Start) (*Gate, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	if err := start.check(); err != nil {
		return nil, err
	}
	g := &Gate{cfg: cfg, ring: make([]item, cfg.MaxPending+1), ids: newWindow(cfg.MaxIDs), taken: true}
	switch {
	case start.Held != nil:
		g.held, g.has = *start.Held, true
		g.st.Phase, g.st.Persisted = Resuming, start.Persisted
		for _, id := range start.IDs { // at most CeilingIDs; the window keeps the tail
			if id != "" {
				g.ids.add(id, g.ids.sum(id))
			}
		}
	case start.Refused != event.None:
		g.st.Phase, g.st.Reason, g.st.Detail = ResnapshotRequired, start.Refused, start.Detail
	}
	return g, nil
}

func (s Start) check() error {
	switch {
	case len(s.IDs) > CeilingIDs:
		return fmt.Errorf("gate: %d stored event ids, above the ceiling of %d", len(s.IDs), CeilingIDs)
	case s.Held != nil && s.Refused != event.None:
		return fmt.Errorf("gate: a start cannot both hold a position and be refused (%s)", s.Refused)
	case s.Held != nil && !s.Held.Pos.Seq.Valid():
		return fmt.Errorf("gate: the held sequence %d is not between 0 and %d", s.Held.Pos.Seq, event.MaxSeq)
	case s.Refused != event.None && !refusal(s.Refused):
		return fmt.Errorf("gate: %q is no reason for refusing a stored position", s.Refused)
	}
	for _, id := range s.IDs {
		if len(id) > event.MaxIDBytes {
			return fmt.Errorf("gate: a stored event id of %d bytes, above the limit of %d", len(id), event.MaxIDBytes)
		}
	}
	return nil
}

// refusal says whether r can be why a stored position does not count (D-26): it does not fit this subscription or is
// damaged (class validation), or the way on from it is lost (class network).
func refusal(r event.Reason) bool {
	c := r.Class().Category
	return c == "validation" || c == "network"
}
