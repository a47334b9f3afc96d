package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/conform-dev/conform/core/trace"
)

const (
	// ScheduleVersion is the version of the file format.
	ScheduleVersion = 1
	// MaxScheduleBytes bounds a schedule file.
	MaxScheduleBytes = 4 << 20
	// MaxActions bounds the actions of a schedule: each may publish thousands of changes.
	MaxActions = 10_000
	// MaxMicros is the latest an action may be: a year, far beyond every deadline of a session.
	MaxMicros = int64(365*24*time.Hour) / 1000
)

// Schedule is a whole run as data: the same schedule gives the same records, without its seed (law 2).
type Schedule struct {
	Version int      `json:"version"`
	Seed    uint64   `json:"seed,omitempty"` // where the draws came from; nothing reads it
	Setup   Setup    `json:"setup"`
	Draws   Draws    `json:"draws"`
	Actions []Action `json:"actions"`
	Micros  int64    `json:"micros"` // how long it went on after the last action
	Steps   uint64   `json:"steps"`  // and how many jobs it had run then
}

// ReadSchedule reads a schedule strictly. An error says what is wrong with which member.
func ReadSchedule(r io.Reader) (Schedule, error) {
	var s Schedule
	text, err := io.ReadAll(io.LimitReader(r, MaxScheduleBytes+1))
	if err != nil {
		return s, err
	}
	if len(text) > MaxScheduleBytes {
		return s, fmt.Errorf("schedule: longer than %d bytes", MaxScheduleBytes)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("schedule: %w", err)
	}
	if d.More() {
		return s, fmt.Errorf("schedule: something stands behind it")
	}
	return s, s.check()
}

func (s *Schedule) check() error {
	switch {
	case s.Version != ScheduleVersion:
		return fmt.Errorf("schedule: version %d is not %d", s.Version, ScheduleVersion)
	case len(s.Actions) > MaxActions:
		return fmt.Errorf("schedule: %d actions, limit %d", len(s.Actions), MaxActions)
	}
	var last Action
	for i, a := range append(s.Actions[:len(s.Actions):len(s.Actions)], Action{Steps: s.Steps, Micros: s.Micros}) {
		if a.Steps > MaxSteps || a.Micros < 0 || a.Micros > MaxMicros || a.Steps < last.Steps || a.Micros < last.Micros {
			return fmt.Errorf("schedule: actions[%d] is out of order or out of range", i)
		}
		last = a
	}
	return nil
}

// Write writes s as ReadSchedule reads it.
func (s Schedule) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(s)
}

// Run runs a schedule from its beginning to its end and returns its trace. The error of an action that could not be done is
// wrapped with its place; the trace up to there is returned with it.
func Run(s Schedule) ([]trace.Record, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	w, err := New(s.Setup, s.Draws, nil)
	if err != nil {
		return nil, err
	}
	for i, a := range s.Actions {
		if err := w.replay(a); err != nil {
			return w.Records(), fmt.Errorf("actions[%d]: %w", i, err)
		}
	}
	err = w.reach(s.Steps, s.Micros)
	return w.Records(), err
}

// Schedule is this run as data, up to here.
func (w *World) Schedule(seed uint64) Schedule {
	return Schedule{Version: ScheduleVersion, Seed: seed, Setup: w.setup, Draws: w.draws, Actions: append([]Action{}, w.done...),
		Micros: w.now.Microseconds(), Steps: w.steps}
}
