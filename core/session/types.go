// Package session keeps one subscription connected: attempts, back-off, liveness, epochs and resume (D-30 to D-36, D-41 to
// D-44). It owns the gate: nobody else feeds it. It is pure: values in, values out; the only time it knows is the one
// it is given, the only randomness the jitter its policy draws.
package session

import (
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// Now is read once per input by the driver.
type Now struct {
	Mono time.Duration // since the driver started; never steps
	Wall int64         // unix milliseconds; for checkpoints only
}

// Epoch numbers the connections of a session, from 1 (D-36).
type Epoch uint32

// Attempt asks the driver to connect.
type Attempt struct {
	Epoch  Epoch
	Resume event.Position // event.NoPosition: ask for a snapshot
	By     time.Duration  // give up at
	Beside bool           // a planned hand-over: the connection before this one stays open until a Hangup names it (D-36)
	Renew  bool           // ask the credential source again before connecting: the last one was refused (D-33)
}

// Due is what the driver owes: the gate's, then Hangup, then Forget, then Connect, then End. A Connect with Attempt.Beside leaves the
// connection before it open; before any other one all connections are closed.
type Due struct {
	gate.Due
	// Withhold stands beside Save: the server took its position back, so nothing may be written. The driver answers
	// Saved(nil) at once, as after a refusal by the screen (D-26, D-43).
	Withhold bool
	Hangup   Epoch // close this connection; 0 = none
	// HangupBeside is a second connection to close: both of a hand-over end together (D-36). Only beside Hangup.
	HangupBeside Epoch
	Forget       bool     // delete the stored record, before Connect and before the next Save (D-31, D-43); never while a Save runs
	Connect      *Attempt // valid until the next input
	End          *Ending  // the session is over; set once
	Notes        []Note   // what happened since the last Take, in order, for the trace; nil unless Policy.Notes; valid until the next input
}

// Ending says why a session is over (D-33). The gate is then closed with `closed`.
type Ending struct {
	Cause  Cause
	Status int          // Refused: the HTTP status, 0 if none
	Reason event.Reason // Failed: the gate's reason; AttemptsUsedUp: delivery-failed; ServerStop: why the rest of the stream was not delivered
	Detail string
}

// Cause is a session's ending, an enum of its own (D-33).
type Cause uint8

// The endings.
const (
	NotEnded Cause = iota
	ServerStop
	Refused
	BadMediaType
	BadRedirect
	ProtocolError
	AttemptsUsedUp
	PluginCrashed // more crashes than the host restarts
	Failed        // the gate is in phase error
	ByCaller      // Close was called
)

var endings = [...]string{"", "server-stop", "refused", "bad-media-type", "bad-redirect", "protocol-error", "attempts-used-up", "plugin-crashed", "failed", "by-caller"}

// String is the word used in traces and reports.
func (c Cause) String() string { return endings[c] }

// Note is one thing that happened inside the session, for the trace: gate inputs that the session made or let through,
// and its own decisions. Events are named by the ticket that Data returned.
type Note struct {
	Kind   NoteKind
	Epoch  Epoch
	Ticket gate.Ticket
	Reason event.Reason
	Detail string
	Status int
	Cause  Cause         // Ended
	Delay  time.Duration // Waiting: the back-off chosen; Due time is Now + Delay
	Event  *event.Event  // Enqueued: valid until the next input
	Pos    event.Position
	State  gate.State // StateIs
}

// NoteKind is the kind of a note.
type NoteKind uint8

// The notes. Every gate input is noted in the order in which the gate got it.
const (
	Enqueued      NoteKind = iota + 1 // gate input
	AppliedOK                         // gate input: the consumer returned nil
	AppliedError                      // gate input
	SavedOK                           // gate input
	SavedError                        // gate input
	Resnapshotted                     // gate input: RequireResnapshot(Reason, Detail)
	GateFailed                        // gate input: Fail(Reason)
	GateClosed                        // gate input: Close(Reason)
	StateIs                           // the gate's state after the input noted before it, when it changed
	Connecting                        // Epoch, Pos; Detail is beside for the second connection of a hand-over
	Up                                // the connection was accepted
	Vouched                           // the resume is vouched for
	Waiting                           // back-off before the next attempt: Delay; Detail if the server's floor was held
	Dropped                           // something an older epoch said was dropped: Epoch
	HungUp                            // Epoch, Detail says why (idle, handed-over, or "hand-over: " and why the second connection goes; horizon is not one)
	Forgot                            // the stored record is to go
	Observed                          // the observation changed: Detail is fresh, unconfirmed, paused-by-consumer
	Ended                             // Cause, Status, Reason, Detail
	Refreshed                         // gate input: Refresh(Pos); of loops that poll
)
