package host

import "fmt"

// Event is something that happened to a plugin's process, for the trace.
type Event struct {
	Kind   EventKind
	Plugin string // Command.Name
	PID    int    // Started, Exited
	Status string // Exited: "exit status 2", "signal: killed"
	Asked  bool   // Exited: the host stopped it
	Detail string // Exited: why the host killed it, if it did; Refused: why no process was started
}

// EventKind is the kind of an event.
type EventKind uint8

// The kinds.
const (
	// Started: a process runs, was authenticated and described itself.
	Started EventKind = iota + 1
	// Exited: the process of a Started is gone and nothing of its process group is left.
	Exited
	// Refused: a process could not be started, or was not because too many had crashed.
	Refused
)

var eventKinds = [...]string{"", "started", "exited", "refused"}

// String is the word used in traces.
func (k EventKind) String() string {
	if int(k) >= len(eventKinds) {
		return ""
	}
	return eventKinds[k]
}

// String is one line for logs.
func (e Event) String() string {
	line := fmt.Sprintf("plugin %q %v", e.Plugin, e.Kind)
	if e.PID != 0 {
		line += fmt.Sprintf(" pid %d", e.PID)
	}
	if e.Status != "" {
		line += ": " + e.Status
	}
	if e.Detail != "" {
		line += ": " + e.Detail
	}
	return line
}
