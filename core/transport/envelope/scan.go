package envelope

import (
	"bytes"
	"encoding/binary"
	"encoding/json"

	"github.com/conform-dev/conform/core/event"
)

// span is a piece of a document; the zero span stands for "not there".
type span struct{ from, to int }

func (s span) there() bool            { return s.to > 0 }
func (s span) in(doc []byte) []byte   { return doc[s.from:s.to] }
func (s span) first(doc []byte) byte  { return doc[s.from] }
func (s span) isText(doc []byte) bool { return s.there() && s.first(doc) == '"' }

// outline is what one pass over a payload finds: the members that decide what it is. Of a name that stands there twice the
// last counts, as for every common JSON reader.
type outline struct {
	kindKey           span // the key "kind", with its quotes
	typ, kind, nested span // values of the members type, kind and event
}

// scan checks that doc is one JSON text (RFC 8259, at most event.MaxDepth levels, which is what an event may have) and
// finds its outline. notJSON and notObject say what is wrong.
func scan(doc []byte) (o outline, wrong string) {
	s := scanner{doc: doc}
	s.space()
	if s.peek() != '{' {
		if s.value(0); s.failed || !s.atEnd() {
			return o, notJSON
		}
		return o, notObject
	}
	s.object(0, &o)
	if s.failed || !s.atEnd() {
		return o, notJSON
	}
	return o, ""
}

const (
	notJSON   = "not JSON"
	notObject = "not an object"
)

// text is the value of a JSON string, quotes and all; doc was scanned before.
func text(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return []byte(s)
}

// scanner walks over a JSON text. After a failure it stays failed and its place means nothing.
type scanner struct {
	doc    []byte
	i      int
	failed bool
}

func (s *scanner) peek() byte {
	if s.i < len(s.doc) {
		return s.doc[s.i]
	}
	return 0
}

func (s *scanner) space() {
	for s.i < len(s.doc) {
		switch s.doc[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) atEnd() bool {
	s.space()
	return s.i == len(s.doc)
}

// want takes one byte of punctuation.
func (s *scanner) want(c byte) {
	if s.peek() != c {
		s.failed = true
		return
	}
	s.i++
}

func (s *scanner) value(depth int) {
	switch c := s.peek(); c {
	case '{':
		s.object(depth, nil)
	case '[':
		s.array(depth)
	case '"':
		s.text()
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
}

// object walks over an object; o, if there is one, gets the members that matter.
func (s *scanner) object(depth int, o *outline) {
	if depth >= event.MaxDepth {
		s.failed = true
		return
	}
	s.i++
	s.space()
	if s.peek() == '}' {
		s.i++
		return
	}
	for !s.failed {
		key := span{from: s.i}
		s.text()
		key.to = s.i
		s.space()
		s.want(':')
		s.space()
		val := span{from: s.i}
		if s.failed {
			return
		}
		s.value(depth + 1)
		val.to = s.i
		if o != nil && !s.failed {
			o.note(s.doc, key, val)
		}
		s.space()
		if s.peek() != ',' {
			s.want('}')
			return
		}
		s.i++
		s.space()
	}
}

func (o *outline) note(doc []byte, key, val span) {
	switch string(text(key.in(doc))) {
	case "type":
		o.typ = val
	case "kind":
		o.kindKey, o.kind = key, val
	case "event":
		o.nested = val
	}
}

func (s *scanner) array(depth int) {
	if depth >= event.MaxDepth {
		s.failed = true
		return
	}
	s.i++
	s.space()
	if s.peek() == ']' {
		s.i++
		return
	}
	for !s.failed {
		s.value(depth + 1)
		s.space()
		if s.peek() != ',' {
			s.want(']')
			return
		}
		s.i++
		s.space()
	}
}

func (s *scanner) text() {
	s.want('"')
	for s.i < len(s.doc) && !s.failed {
		for s.i+8 <= len(s.doc) && plain8(binary.LittleEndian.Uint64(s.doc[s.i:])) {
			s.i += 8
		}
		c := s.peek()
		s.i++
		switch {
		case c == '"':
			return
		case c == '\\':
			s.escape()
		case c < ' ':
			s.failed = true
		}
	}
	s.failed = true
}

// plain8 says whether none of eight bytes ends a run of plain text: a quote, a backslash or a control byte.
func plain8(w uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, back := w^ones*'"', w^ones*'\\'
	return ((w-ones*' ')&^w|(quote-ones)&^quote|(back-ones)&^back)&tops == 0
}

func (s *scanner) escape() {
	c := s.peek()
	s.i++
	if c != 'u' {
		s.failed = s.failed || bytes.IndexByte([]byte(`"\/bfnrt`), c) < 0
		return
	}
	for range 4 {
		c := s.peek()
		s.i++
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			s.failed = true
		}
	}
}

func (s *scanner) word(w string) {
	if !bytes.HasPrefix(s.doc[s.i:], []byte(w)) {
		s.failed = true
		return
	}
	s.i += len(w)
}

func (s *scanner) number() {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else {
		s.digits()
	}
	if s.peek() == '.' {
		s.i++
		s.digits()
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		s.digits()
	}
}

// digits takes one digit or more.
func (s *scanner) digits() {
	from := s.i
	for s.i < len(s.doc) && s.doc[s.i] >= '0' && s.doc[s.i] <= '9' {
		s.i++
	}
	s.failed = s.failed || s.i == from
}
