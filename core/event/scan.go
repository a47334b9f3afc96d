package event

import "unicode/utf8"

// MaxDepth is how deep a document may nest. Reading recurses once per level, so the limit keeps the stack small; geometry
// needs about six levels.
const MaxDepth = 512

// scanner reads JSON by RFC 8259, strictly and once, without building anything.
type scanner struct {
	b    []byte
	i    int
	what string // why it stopped; empty while all is well
}

// form is the JSON form of a value; absent is the zero form.
type form uint8

const (
	absent form = iota
	text
	number
	object
	array
	yes
	no
	null
)

// span is where a value stands in the document: the bytes between its quotes for a string, all of it for anything else.
type span struct {
	form    form
	escaped bool // a string with at least one backslash
	a, b    int
}

func (s *scanner) fail(what string) bool {
	if s.what == "" {
		s.what = what
	}
	return false
}

// next skips white space and is the byte there, 0 at the end.
func (s *scanner) next() byte {
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		s.i++
	}
	return 0
}

// value reads any value; v may be nil.
func (s *scanner) value(depth int, v *span) bool {
	var at span
	switch c := s.next(); c {
	case '"':
		if !s.str(&at) {
			return false
		}
	case '{', '[':
		at.a = s.i
		at.form = object
		if c == '[' {
			at.form = array
		}
		if !s.container(depth, c == '{') {
			return false
		}
		at.b = s.i
	case 't':
		at.form = yes
		if !s.word("true") {
			return false
		}
	case 'f':
		at.form = no
		if !s.word("false") {
			return false
		}
	case 'n':
		at.form = null
		if !s.word("null") {
			return false
		}
	default:
		at.form, at.a = number, s.i
		if !s.number() {
			return false
		}
		at.b = s.i
	}
	if v != nil {
		*v = at
	}
	return true
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return s.fail("not JSON")
	}
	s.i += len(w)
	return true
}

// container reads an object or array whose members nobody asked for.
func (s *scanner) container(depth int, members bool) bool {
	if depth >= MaxDepth {
		return s.fail("nested deeper than 512 levels")
	}
	end := byte(']')
	if members {
		end = '}'
	}
	s.i++
	if s.next() == end {
		s.i++
		return true
	}
	var key span
	for {
		if members && !s.key(&key) {
			return false
		}
		if !s.value(depth+1, nil) {
			return false
		}
		switch s.next() {
		case ',':
			s.i++
		case end:
			s.i++
			return true
		default:
			return s.fail("not JSON")
		}
	}
}

// key reads a member's name and its colon.
func (s *scanner) key(v *span) bool {
	if s.next() != '"' {
		return s.fail("not JSON")
	}
	if !s.str(v) {
		return false
	}
	if s.next() != ':' {
		return s.fail("not JSON")
	}
	s.i++
	return true
}

// plain are the bytes that may stand in a string as they are and need no further look.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// str reads a string; its UTF-8 was checked with the whole document.
func (s *scanner) str(v *span) bool {
	b := s.b
	i := s.i + 1
	*v = span{form: text, a: i}
	for {
		for i < len(b) && plain[b[i]] {
			i++
		}
		if i >= len(b) {
			return s.fail("not JSON")
		}
		switch b[i] {
		case '"':
			v.b = i
			s.i = i + 1
			return true
		case '\\':
			v.escaped = true
			n := escape(b[i:])
			if n == 0 {
				return s.fail("not JSON")
			}
			i += n
		default:
			return s.fail("not JSON") // a bare control character
		}
	}
}

// escape is the length of the escape at the start of b, 0 if it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b); ok {
			return 6
		}
	}
	return 0
}

// hex4 reads \uXXXX at the start of b.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r |= rune(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r |= rune(c|0x20-'a') + 10
		default:
			return 0, false
		}
	}
	return r, true
}

// unescape appends what the string between quotes in b means; ok is false if it holds a lone surrogate, which no Go or
// protobuf string can carry (D-17).
func unescape(to, b []byte) (out []byte, ok bool) {
	ok = true
	for i := 0; i < len(b); {
		if b[i] != '\\' {
			to = append(to, b[i])
			i++
			continue
		}
		switch c := b[i+1]; c {
		case 'b':
			to = append(to, '\b')
		case 'f':
			to = append(to, '\f')
		case 'n':
			to = append(to, '\n')
		case 'r':
			to = append(to, '\r')
		case 't':
			to = append(to, '\t')
		case 'u':
			r, _ := hex4(b[i:])
			i += 6
			if r >= 0xd800 && r < 0xe000 {
				low, pair := hex4(b[i:])
				if r >= 0xdc00 || !pair || low < 0xdc00 || low >= 0xe000 {
					ok = false
					r = utf8.RuneError
				} else {
					i += 6
					r = 0x10000 + (r-0xd800)<<10 + low - 0xdc00
				}
			}
			to = utf8.AppendRune(to, r)
			continue
		default: // quote, backslash, slash
			to = append(to, c)
		}
		i += 2
	}
	return to, ok
}
