package event

import "unicode/utf8"

// member numbers the members of a document that capture reads (facts 1.1). The five positions come first, so that they
// number the members of the nested checkpoint too.
type member uint8

const (
	cursor member = iota
	watermark
	timestamp
	sequenceNo
	deltaToken
	typ
	eventID
	operationInstance
	correlation
	audit
	proposal
	checkpoint
	receivedAt
	features
	replace
	feature
	id
	upserts
	deletes
	members // how many there are

	positions = deltaToken + 1
	unknown   = members
)

var names = [members]string{
	"cursor", "watermark", "timestamp", "sequence", "deltaToken", "type", "eventId", "operationInstanceId", "correlationId",
	"auditId", "proposalId", "checkpoint", "receivedAt", "features", "replace", "feature", "id", "upserts", "deletes",
}

func lookup(name []byte) member {
	switch string(name) {
	case "cursor":
		return cursor
	case "watermark":
		return watermark
	case "timestamp":
		return timestamp
	case "sequence":
		return sequenceNo
	case "deltaToken":
		return deltaToken
	case "type":
		return typ
	case "eventId":
		return eventID
	case "operationInstanceId":
		return operationInstance
	case "correlationId":
		return correlation
	case "auditId":
		return audit
	case "proposalId":
		return proposal
	case "checkpoint":
		return checkpoint
	case "receivedAt":
		return receivedAt
	case "features":
		return features
	case "replace":
		return replace
	case "feature":
		return feature
	case "id":
		return id
	case "upserts":
		return upserts
	case "deletes":
		return deletes
	}
	return unknown
}

// capture is one document as it was read: where its members stand.
type capture struct {
	scanner
	top    [members]span
	nested [positions]span
}

// Parse captures one untrusted document into e (D-18): one pass, strict JSON (RFC 8259, UTF-8, at most MaxDepth levels), and
// exact numbers. Of members that appear twice the last one counts, as in JSON.parse. The strings of e are its own; Payload
// is doc itself.
//
// A document that fails becomes Malformed, with the reason and the detail of the first check of facts 2.2 that it fails. A
// sequence that is missing, negative, fractional or not safe fails nothing: e then has NoSeq, and the gate judges it at
// the event's turn (D-06). Hole tells a document that names no type from an event that is wrong (D-44).
func Parse(doc []byte, e *Event) {
	c := capture{scanner: scanner{b: doc}}
	*e = Event{Pos: NoPosition, Payload: doc}
	if !c.read() {
		e.malform(InvalidEvent, "document: "+c.what)
		e.Hole = true
		return
	}
	if reason, detail := c.check(e); reason != None {
		e.malform(reason, detail)
		e.Hole = c.top[typ].form != text
	}
}

// TypeOf is the type that a document names, for transports that handle some types themselves (D-07); ok is false if doc is
// no JSON object with a string `type`.
func TypeOf(doc []byte) (name string, ok bool) {
	c := capture{scanner: scanner{b: doc}}
	if !c.read() || c.top[typ].form != text {
		return "", false
	}
	b, _ := c.text(nil, &c.top[typ])
	return string(b), true
}

func (e *Event) malform(reason Reason, detail string) {
	*e = Event{Fault: reason, Detail: detail, Pos: NoPosition, Payload: e.Payload}
}

// read takes the whole document in.
func (c *capture) read() bool {
	if !utf8.Valid(c.b) {
		return c.fail("not UTF-8")
	}
	if c.next() != '{' {
		if c.value(0, nil) && c.end() {
			return c.fail("not an object")
		}
		return c.fail("not JSON")
	}
	return c.object(0) && c.end()
}

func (c *capture) end() bool {
	if c.next(); c.i < len(c.b) {
		return c.fail("not JSON")
	}
	return true
}

// object reads the document (depth 0) or its checkpoint (depth 1) and keeps the members that count there.
func (c *capture) object(depth int) bool {
	c.i++
	if c.next() == '}' {
		c.i++
		return true
	}
	var key span
	for {
		if !c.key(&key) {
			return false
		}
		name := c.b[key.a:key.b]
		if key.escaped {
			name, _ = unescape(nil, name)
		}
		if !c.keep(depth, lookup(name)) {
			return false
		}
		switch c.next() {
		case ',':
			c.i++
		case '}':
			c.i++
			return true
		default:
			return c.fail("not JSON")
		}
	}
}

// keep reads the value of member m.
func (c *capture) keep(depth int, m member) bool {
	switch {
	case depth == 0 && m == checkpoint:
		c.nested = [positions]span{}
		if c.next() != '{' {
			return c.value(1, &c.top[checkpoint])
		}
		c.top[checkpoint] = span{form: object}
		return c.object(1)
	case depth == 0 && m < members:
		return c.value(1, &c.top[m])
	case m < positions:
		return c.value(2, &c.nested[m])
	}
	return c.value(depth+1, nil)
}

// text appends what a string stands for; ok is false for a lone surrogate.
func (c *capture) text(to []byte, v *span) (out []byte, ok bool) {
	if v.escaped {
		return unescape(to, c.b[v.a:v.b])
	}
	return append(to, c.b[v.a:v.b]...), true
}
