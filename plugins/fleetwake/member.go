package fleetwake

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/conform-dev/conform/core/event"
)

// object is a JSON object's members by their exact names; of two with one name the last one counts.
type object map[string]json.RawMessage

// openObject reads doc; why is empty if it is an object.
func openObject(doc []byte) (o object, why string) {
	switch {
	case !json.Valid(doc):
		return nil, "not JSON"
	case string(bytes.TrimSpace(doc)) == "null":
		return nil, "null payload"
	case json.Unmarshal(doc, &o) != nil || o == nil:
		return nil, "not an object"
	}
	return o, ""
}

// has says whether a member is there and not null.
func (o object) has(name string) bool {
	raw, there := o[name]
	return there && string(raw) != "null"
}

// text reads a member that must be a string.
func (o object) text(name string) (s string, ok bool) {
	raw := o[name]
	ok = len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	return s, ok
}

// name reads a member that must be a string, is not empty and has MaxNameBytes at most.
func (o object) name(name string) (s string, ok bool) {
	s, ok = o.text(name)
	return s, ok && s != "" && len(s) <= MaxNameBytes && utf8.ValidString(s)
}

// flag reads a member that must be a boolean.
func (o object) flag(name string) (yes, ok bool) {
	raw := string(o[name])
	return raw == "true", raw == "true" || raw == "false"
}

// number says whether a member is a number of any kind.
func (o object) number(name string) bool {
	raw := o[name]
	return len(raw) > 0 && (raw[0] == '-' || raw[0]-'0' <= 9)
}

// count reads a member as a count or mark: only a non-negative safe integer is one, NoSeq stands for everything else (P-FW-15).
func (o object) count(name string) event.Seq { return event.ParseSeq(o[name]) }

// object reads a member that must be an object.
func (o object) object(name string) (in object, ok bool) {
	in, why := openObject(o[name])
	return in, why == ""
}
