package store

import (
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/event"
)

// Limits of a shipped store (facts 4.2).
const (
	// DefaultMaxAge is how old a record may be: servers retire positions after a time, and an honest snapshot beats a
	// silent gap.
	DefaultMaxAge = 15 * time.Minute
	// CeilingMaxAge is the largest MaxAge: no server is known to promise more than a day.
	CeilingMaxAge = 24 * time.Hour
	// DefaultMaxRecords is how many scopes are kept; the least recently written goes first.
	DefaultMaxRecords = 64
	// CeilingMaxRecords is the largest MaxRecords; it bounds a store to a few hundred small documents.
	CeilingMaxRecords = 512
)

// Config sets up a shipped store. The zero Config is valid.
type Config struct {
	MaxAge       time.Duration    // older records are discarded; whole milliseconds, default DefaultMaxAge
	MaxRecords   int              // scopes kept, default DefaultMaxRecords
	Now          func() int64     // unix milliseconds, default the wall clock; may panic (D-24)
	OnDiagnostic func(Diagnostic) // called without a lock held; may panic (D-24)
}

// withDefaults checks the limits. A setting above its ceiling is refused, never clamped (D-13).
func (c Config) withDefaults() (Config, error) {
	if c.MaxAge == 0 {
		c.MaxAge = DefaultMaxAge
	}
	if c.MaxRecords == 0 {
		c.MaxRecords = DefaultMaxRecords
	}
	age, err := setting("maxAgeMs", c.MaxAge.Milliseconds(), CeilingMaxAge.Milliseconds())
	if err != nil {
		return c, err
	}
	if c.MaxAge != time.Duration(age)*time.Millisecond {
		return c, refuse(fmt.Sprintf("maxAgeMs must be whole milliseconds, got %v", c.MaxAge))
	}
	if _, err := setting("maxRecords", int64(c.MaxRecords), CeilingMaxRecords); err != nil {
		return c, err
	}
	if c.Now == nil {
		c.Now = func() int64 { return time.Now().UnixMilli() }
	}
	return c, nil
}

func setting(name string, value, ceiling int64) (int64, error) {
	switch {
	case value < 1:
		return 0, refuse(fmt.Sprintf("%s must be a safe integer greater than zero, got %d", name, value))
	case value > ceiling:
		return 0, refuse(fmt.Sprintf("%s cannot exceed %d, got %d", name, ceiling, value))
	}
	return value, nil
}

func refuse(message string) error {
	return &event.ResumeError{Reason: event.InvalidCheckpoint, Message: message}
}

var _ Store = (*Keeper)(nil)
