package sse

import "github.com/conform-dev/conform/core/event"

// payload is what the data of an event turned out to be.
type payload struct {
	class class
	doc   []byte // dataClass, and the control classes: the contract's own JSON
	wrong string // undecodable: what is wrong with it
}

type class uint8

const (
	undecodable    class = iota // no JSON, or no object with a string type (D-44)
	dataClass                   // snapshot, upsert, delete, delta: for the gate
	statusClass                 // may be the connected frame (D-41)
	errorClass                  // rebuilt by the machine (facts 5.4)
	gapClass                    // the server lost something and says so
	heartbeatClass              // heartbeat, and every type we do not know (D-07)
)

const noType = "no string type"

// classify unwraps the three envelopes of facts 5.4, in this order: an object with a string `type`; an object whose member
// `event` is one; an object with a string `kind` and no `type`, whose key is rewritten. scratch is used for the rewritten
// copy, which is valid until the next call with the same scratch.
func classify(data []byte, scratch *[]byte) payload {
	o, wrong := scan(data)
	if wrong != "" {
		return payload{wrong: wrong}
	}
	if o.typ.isText(data) {
		return payload{class: classOf(text(o.typ.in(data))), doc: data}
	}
	if o.nested.there() && o.nested.first(data) == '{' {
		inner := o.nested.in(data)
		if o, _ := scan(inner); o.typ.isText(inner) {
			return payload{class: classOf(text(o.typ.in(inner))), doc: inner}
		}
	}
	if o.kind.isText(data) && !o.typ.there() {
		doc := append(shrink(*scratch), data[:o.kindKey.from]...)
		doc = append(doc, `"type"`...)
		doc = append(doc, data[o.kindKey.to:]...)
		*scratch = doc
		return payload{class: classOf(text(o.kind.in(data))), doc: doc}
	}
	return payload{wrong: noType}
}

func classOf(word []byte) class {
	if event.ParseKind(string(word)) != event.Malformed {
		return dataClass
	}
	switch string(word) {
	case "status":
		return statusClass
	case "error":
		return errorClass
	case "gap":
		return gapClass
	}
	return heartbeatClass
}
