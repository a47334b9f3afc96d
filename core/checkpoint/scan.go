package checkpoint

import (
	"bytes"

	"fmt"
	"unicode/utf8"
)

// Limits of an untrusted document. Both are far above anything a checkpoint needs and keep a hostile one from costing
// memory or stack.
const (
	// MaxDocument is the largest document that is read or written, in bytes: MaxRecentIDs ids of event.MaxIDBytes each, and
	// as much again for escapes and the rest.
	MaxDocument = 32 << 20
	// MaxDepth is how deep arrays and objects may nest. A checkpoint needs 2, a plan a handful.
	MaxDepth = 64
)

var (
	errTooLarge = fmt.Errorf("document is larger than %d bytes", MaxDocument)
	errTooDeep  = fmt.Errorf("document nests deeper than %d", MaxDepth)
	errTooMany  = fmt.Errorf("more than %d entries", MaxRecentIDs)
)

// scanner reads one JSON document (RFC 8259) strictly: no trailing commas, no bytes after the value, UTF-8 only. It keeps
// lone surrogates (see text.go) and hands out numbers as their text, so that no number is rounded on the way.
type scanner struct {
	doc   []byte
	at    int
	depth int
}

func newScanner(doc []byte) (*scanner, error) {
	if len(doc) > MaxDocument {
		return nil, errTooLarge
	}
	return &scanner{doc: doc}, nil
}

func (s *scanner) fail(what string) error { return fmt.Errorf("not JSON at byte %d: %s", s.at, what) }

// peek skips white space and shows the next byte; 0 at the end, which is no JSON token either.
func (s *scanner) peek() byte {
	for s.at < len(s.doc) {
		switch c := s.doc[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// end says whether nothing but white space is left.
func (s *scanner) end() error {
	if s.peek(); s.at < len(s.doc) {
		return s.fail("bytes after the value")
	}
	return nil
}

func (s *scanner) enter() error {
	if s.depth++; s.depth > MaxDepth {
		return errTooDeep
	}
	s.at++
	return nil
}

// object reads an object and calls member with the scanner standing before each value; member has to consume it.
func (s *scanner) object(member func(name string) error) error {
	if s.peek() != '{' {
		return s.fail("an object was expected")
	}
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		c := s.peek()
		if c == '}' && first {
			break
		}
		if c != '"' {
			return s.fail("a member name was expected")
		}
		name, err := s.text()
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.fail("a colon was expected")
		}
		s.at++
		if err := member(name); err != nil {
			return err
		}
		if c = s.peek(); c == '}' {
			break
		}
		if c != ',' {
			return s.fail("a comma or the end of the object was expected")
		}
		s.at++
	}
	s.at++
	s.depth--
	return nil
}

// array reads an array and calls entry with the scanner standing before each value; entry has to consume it.
func (s *scanner) array(entry func(i int) error) error {
	if s.peek() != '[' {
		return s.fail("an array was expected")
	}
	if err := s.enter(); err != nil {
		return err
	}
	for i := 0; ; i++ {
		c := s.peek()
		if c == ']' && i == 0 {
			break
		}
		if err := entry(i); err != nil {
			return err
		}
		if c = s.peek(); c == ']' {
			break
		}
		if c != ',' {
			return s.fail("a comma or the end of the array was expected")
		}
		s.at++
	}
	s.at++
	s.depth--
	return nil
}

// skip passes over one value and keeps nothing of it.
func (s *scanner) skip() error {
	switch c := s.peek(); {
	case c == '{':
		return s.object(func(string) error { return s.skip() })
	case c == '[':
		return s.array(func(int) error { return s.skip() })
	case c == '"':
		return s.skipText()
	case c == '-' || c >= '0' && c <= '9':
		_, err := s.number()
		return err
	default:
		_, err := s.word()
		return err
	}
}

// word reads true, false or null.
func (s *scanner) word() (any, error) {
	s.peek()
	for _, w := range [...]struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if bytes.HasPrefix(s.doc[s.at:], []byte(w.text)) {
			s.at += len(w.text)
			return w.value, nil
		}
	}
	return nil, s.fail("a value was expected")
}

// number reads a number and gives its text.
func (s *scanner) number() (string, error) {
	s.peek()
	from := s.at
	digits := func() bool {
		n := s.at
		for s.at < len(s.doc) && s.doc[s.at] >= '0' && s.doc[s.at] <= '9' {
			s.at++
		}
		return s.at > n
	}
	is := func(set ...byte) bool {
		for _, c := range set {
			if s.at < len(s.doc) && s.doc[s.at] == c {
				s.at++
				return true
			}
		}
		return false
	}
	is('-')
	if !is('0') && !digits() {
		return "", s.fail("a number was expected")
	}
	if is('.') && !digits() {
		return "", s.fail("a digit was expected after the point")
	}
	if is('e', 'E') {
		is('+', '-')
		if !digits() {
			return "", s.fail("a digit was expected in the exponent")
		}
	}
	return string(s.doc[from:s.at]), nil
}

// skipText passes over a string with the same checks as text, without building it.
func (s *scanner) skipText() error {
	_, err := s.readText(nil, false)
	return err
}

// text reads a string.
func (s *scanner) text() (string, error) {
	if s.peek() != '"' {
		return "", s.fail("a string was expected")
	}
	b, err := s.readText(nil, true)
	return string(b), err
}

func (s *scanner) readText(out []byte, keep bool) ([]byte, error) {
	s.at++
	for s.at < len(s.doc) {
		switch c := s.doc[s.at]; {
		case c == '"':
			s.at++
			return out, nil
		case c < 0x20:
			return nil, s.fail("a control character in a string")
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			if keep {
				out = appendRune(out, r)
			}
		case c < utf8.RuneSelf:
			s.at++
			if keep {
				out = append(out, c)
			}
		default:
			r, n := utf8.DecodeRune(s.doc[s.at:])
			if r == utf8.RuneError && n == 1 {
				return nil, s.fail("a string that is not UTF-8")
			}
			if keep {
				out = append(out, s.doc[s.at:s.at+n]...)
			}
			s.at += n
		}
	}
	return nil, s.fail("a string without end")
}

// escape reads one escape sequence, or the two of a surrogate pair.
func (s *scanner) escape() (rune, error) {
	s.at++
	if s.at >= len(s.doc) {
		return 0, s.fail("a string without end")
	}
	c := s.doc[s.at]
	s.at++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		r, ok := s.hex(s.at)
		if !ok {
			return 0, s.fail("four hexadecimal digits were expected")
		}
		s.at += 4
		if r >= surrogateFirst && r < surrogateLow && s.at+1 < len(s.doc) && s.doc[s.at] == '\\' && s.doc[s.at+1] == 'u' {
			if lo, ok := s.hex(s.at + 2); ok && lo >= surrogateLow && lo <= surrogateLast {
				s.at += 6
				return (r-surrogateFirst)<<10 + (lo - surrogateLow) + 0x10000, nil
			}
		}
		return r, nil
	}
	s.at--
	return 0, s.fail("unknown escape")
}

func (s *scanner) hex(at int) (rune, bool) {
	if at+4 > len(s.doc) {
		return 0, false
	}
	var r rune
	for _, c := range s.doc[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
