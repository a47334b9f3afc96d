package transport

import "github.com/conform-dev/conform/core/event"

// EventSink is a Sink that also takes events that were captured already. Who has captured events, as a plugin host has, asks a
// Sink whether it is one, and so spares it a second parse; a Sink that is none gets documents.
//
// It is for sources that keep the rules of event.Parse: a sink need not check what it gets beyond what its gate does.
type EventSink interface {
	Sink
	// Event takes one captured event, or one that failed capture (Malformed, with Fault), in wire order among documents and
	// signals, and blocks and fails as Document does. ev counts until Event returns; what it points to must not change after
	// that, either: the payload is handed on without a copy (D-14).
	Event(ev *event.Event) error
}
