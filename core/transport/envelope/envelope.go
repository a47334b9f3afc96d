// Package envelope reads what the contract's servers put into a frame, whatever wire it came on: SSE data and WebSocket messages alike
// (facts 5.4, D-07, D-41, D-44). It is pure.
package envelope

import "github.com/conform-dev/conform/core/event"

// Payload is what the data of a frame turned out to be.
type Payload struct {
	Class Class
	Doc   []byte // Data, and the control classes: the contract's own JSON
	Wrong string // Undecodable: what is wrong with it, in fixed words
}

// Class says whom a payload is for.
type Class uint8

// The classes.
const (
	Undecodable Class = iota // no JSON, or no object with a string type (D-44)
	Data                     // snapshot, upsert, delete, delta: for the gate
	Status                   // for ReadStatus
	Error                    // rebuilt by ReadError (facts 5.4)
	Gap                      // the server lost something and says so
	Heartbeat                // heartbeat, and every type we do not know (D-07)
)

const noType = "no string type"

// Classify unwraps the three envelopes of facts 5.4, in this order: an object with a string `type`; an object whose member
// `event` is one; an object with a string `kind` and no `type`, whose key is rewritten. scratch is used for the rewritten
// copy, which is valid until the next call with the same scratch.
func Classify(data []byte, scratch *[]byte) Payload {
	o, wrong := scan(data)
	if wrong != "" {
		return Payload{Wrong: wrong}
	}
	if o.typ.isText(data) {
		return Payload{Class: classOf(text(o.typ.in(data))), Doc: data}
	}
	if o.nested.there() && o.nested.first(data) == '{' {
		inner := o.nested.in(data)
		if o, _ := scan(inner); o.typ.isText(inner) {
			return Payload{Class: classOf(text(o.typ.in(inner))), Doc: inner}
		}
	}
	if o.kind.isText(data) && !o.typ.there() {
		doc := append(shrink(*scratch), data[:o.kindKey.from]...)
		doc = append(doc, `"type"`...)
		doc = append(doc, data[o.kindKey.to:]...)
		*scratch = doc
		return Payload{Class: classOf(text(o.kind.in(data))), Doc: doc}
	}
	return Payload{Wrong: noType}
}

func classOf(word []byte) Class {
	if event.ParseKind(string(word)) != event.Malformed {
		return Data
	}
	switch string(word) {
	case "status":
		return Status
	case "error":
		return Error
	case "gap":
		return Gap
	}
	return Heartbeat
}

// keepBytes is how large the scratch may stay between frames. A larger one goes back to the collector, so that one big snapshot
// does not cost a quiet stream its size for ever.
const keepBytes = 64 << 10

func shrink(b []byte) []byte {
	if cap(b) > keepBytes {
		return nil
	}
	return b[:0]
}
