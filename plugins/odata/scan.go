package odata

import (
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads one complete JSON value by RFC 8259, strictly and once, without building anything.
type scanner struct {
	b []byte
	i int
}

// valid says whether b is exactly one JSON value in UTF-8 that nests at most MaxDepth levels.
func valid(b []byte) bool {
	s := scanner{b: b}
	return utf8.Valid(b) && s.value(0) && s.next() == 0 && s.i == len(b)
}

// next skips white space and is the byte there, 0 at the end.
func (s *scanner) next() byte {
	for s.i < len(s.b) {
		c := s.b[s.i]
		if !blank(c) {
			return c
		}
		s.i++
	}
	return 0
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (s *scanner) value(depth int) bool {
	switch c := s.next(); c {
	case '"':
		return s.str()
	case '{', '[':
		return s.container(depth, c == '{')
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	n := numberLength(s.b[s.i:])
	s.i += n
	return n > 0
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) container(depth int, members bool) bool {
	if depth >= MaxDepth {
		return false
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
	for {
		if members && !s.name() || !s.value(depth+1) {
			return false
		}
		switch s.next() {
		case ',':
			s.i++
		case end:
			s.i++
			return true
		default:
			return false
		}
	}
}

// name reads a member's name and its colon.
func (s *scanner) name() bool {
	if s.next() != '"' || !s.str() || s.next() != ':' {
		return false
	}
	s.i++
	return true
}

// str reads a string.
func (s *scanner) str() bool {
	for i := s.i + 1; i < len(s.b); {
		switch c := s.b[i]; {
		case c == '"':
			s.i = i + 1
			return true
		case c == '\\':
			n := escapeLength(s.b[i:])
			if n == 0 {
				return false
			}
			i += n
		case c < ' ':
			return false
		default:
			i++
		}
	}
	return false
}

// escapeLength is the length of the escape at the start of b, 0 if it is none.
func escapeLength(b []byte) int {
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

// hex4 reads the four digits of a \u escape at the start of b.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		d := hexDigit(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// numberLength is the length of the JSON number at the start of b, 0 if there is none.
func numberLength(b []byte) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	if i = digits(b, i); i == first || b[first] == '0' && i > first+1 {
		return 0
	}
	if i < len(b) && b[i] == '.' {
		from := i + 1
		if i = digits(b, from); i == from {
			return 0
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		from := i + 1
		if from < len(b) && (b[from] == '+' || b[from] == '-') {
			from++
		}
		if i = digits(b, from); i == from {
			return 0
		}
	}
	return i
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// text is the string that raw, a valid JSON value, stands for; false if it is no string or holds a lone surrogate (D-17).
func text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	in := raw[1 : len(raw)-1]
	plain := true
	for _, c := range in {
		plain = plain && c != '\\'
	}
	if plain {
		return string(in), true
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		if in[i] != '\\' {
			out = append(out, in[i])
			i++
			continue
		}
		if in[i+1] != 'u' {
			out = append(out, unescaped(in[i+1]))
			i += 2
			continue
		}
		r, _ := hex4(in[i:])
		i += 6
		if utf16.IsSurrogate(r) {
			low, ok := hex4(in[i:])
			if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
				return "", false
			}
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), true
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// appendText appends s, which is UTF-8, as a JSON string.
func appendText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// member is one member of an object: its name as it is written, between the quotes, and its value, both part of the object.
type member struct{ name, value []byte }

// plain is the name without escapes. A name with a lone surrogate is nobody's.
func (m member) plain() string {
	for _, c := range m.name {
		if c == '\\' {
			s, _ := text(append(append([]byte{'"'}, m.name...), '"'))
			return s
		}
	}
	return string(m.name)
}

// members splits raw, a valid JSON object, and appends to dst.
func members(dst []member, raw []byte) []member {
	s := scanner{b: raw, i: 1}
	for s.next() == '"' {
		from := s.i + 1
		s.str()
		name := raw[from : s.i-1]
		s.next()
		s.i++ // the colon
		s.next()
		from = s.i
		s.value(0)
		dst = append(dst, member{name, raw[from:s.i]})
		if s.next() == ',' {
			s.i++
			s.next()
		}
	}
	return dst
}
