// Package transport says what a wire is to conform: a pure machine that knows the grammar and the status rules of one
// protocol, and the small interface a plugin serves over it. The network is a driver's business.
package transport

import (
	"context"
	"time"

	"github.com/conform-dev/conform/core/event"
)

// Attempt asks for one connection. It is the whole of what a transport is told.
type Attempt struct {
	Epoch      uint32         // names the connection; what an older epoch says is dropped (D-36)
	Endpoint   string         // absolute URL
	Query      Query          // what is subscribed to (facts 5.3)
	Resume     event.Position // event.NoPosition asks for a snapshot
	Credential Credential     // one header at most; its value is never logged
	Options    map[string]string

	// Draw is chance for the machine, made by whoever drives it (law 2): mask keys, a handshake's nonce, jitter. It is no part of
	// what is asked and does not cross to a plugin.
	Draw [32]byte

	// What only some endpoints need; a transport gets it only if its descriptor says that it takes it.
	Headers []ExtraHeader
	TLS     TLS
	Proxy   Secret // URL of the proxy to go through, with its password if it has one; empty goes direct
}

// Credential is one request header. The zero value sends none.
type Credential struct {
	Header string
	Value  Secret
}

// Document is one data event as the wire gave it: the contract's own JSON, not captured yet, beside what the framing said
// about it (D-43). JSON is valid until the next call on its source; who keeps it copies it.
type Document struct {
	JSON   []byte
	Cursor string // position named by the framing, for example the SSE id; empty if none
	ID     string // event id named by the framing; empty if none
}

// Capture parses d into e (D-18) and lays the framing's own position and id over it: they stand in where the JSON has
// none; a cursor that is there and differs makes e malformed, checkpoint-conflict (D-43). e shares d.JSON.
func (d Document) Capture(e *event.Event) {
	event.Parse(d.JSON, e)
	e.Frame(d.Cursor, d.ID)
}

// Head is the start of a server's answer.
type Head struct {
	Status int
	Header Header
	Wall   int64 // unix milliseconds when it arrived: Retry-After may be a date
}

// Header is a response or request header with canonical names, as in net/http.
type Header map[string][]string

// Get is the first value of a canonical name, empty if there is none.
func (h Header) Get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Request is what the driver sends. A machine asks for a second one only to follow a redirect it has judged (D-33).
type Request struct {
	Method string
	URL    string
	Header Header
}

// Output is one thing a machine has for its driver. Exactly one member is set.
type Output struct {
	Request  *Request
	Document *Document
	Signal   *Signal
	Send     []byte // bytes for the server on the connection that an upgrade (101) opened; valid until the next call
}

// Machine is a transport's pure client for one connection, or, where it polls, for one chain of requests: it may owe the next
// Request when the answer to the last one has ended. It starts no goroutine, reads no clock, does no I/O and is not
// safe for concurrent use. After every input the driver calls Take until ok is false.
type Machine interface {
	// Start begins the connection; the first Output is the Request.
	Start(a Attempt)
	// Head hands over status and header of the answer to the last Request.
	Head(h Head)
	// Bytes hands over one read of the body, cut anywhere. b must stay unchanged until Take says false.
	Bytes(b []byte)
	// End says that the body or the connection ended; nil for a clean end of the body.
	End(err error)
	// Take hands out what is due, in wire order. After a final signal there is nothing more.
	Take() (out Output, ok bool)
}

// Clocked is a Machine that acts as time passes: it pings, waits or polls.
type Clocked interface {
	Machine
	// Wake tells the time since some start of the driver's. The driver calls it before Start and before every other input, and
	// once Deadline has passed; early calls are harmless.
	Wake(now time.Duration)
	// Deadline is when Wake is wanted next; ok is false if nothing waits for time to pass.
	Deadline() (at time.Duration, ok bool)
}

// Leaver is a Machine that takes its leave: told that the caller lets go of the connection, it may owe a last Send, which the
// driver writes if that needs no waiting. Nothing else comes after it.
type Leaver interface {
	Machine
	Leave()
}

// Transport is what a plugin serves and what a subscription runs, in this process or behind a plugin host.
type Transport interface {
	// Describe says what the transport can do. It does not connect.
	Describe(ctx context.Context) (Descriptor, error)
	// Open makes one connection and reports on it until it is over or ctx ends. What the server or the network did is
	// told to the sink by a final signal and the error is nil; an error means that the transport itself failed.
	Open(ctx context.Context, a Attempt, to Sink) error
}

// Sink takes what a transport reports, in wire order. Both methods block while the other side has no room, and fail when
// it is gone: the transport then returns that error.
type Sink interface {
	Document(d Document) error
	Signal(s Signal) error
}

// Delay is a server's wish to be left alone, from `retry:` or Retry-After: a floor, never a ceiling (D-34).
type Delay = time.Duration

// MaxDelayMs is the longest delay in milliseconds that is told apart: more does not fit a Delay. The session holds long floors to
// ten minutes anyway (D-34).
const MaxDelayMs = 9_000_000_000_000
