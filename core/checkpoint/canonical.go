package checkpoint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Canonical rewrites one JSON document in the contract's one form (facts 3.4): object keys by UTF-16 code unit at every
// level, no white space, numbers and escapes as ECMAScript writes them, a lone surrogate as \udxxx. It fails for a
// document that is not strict JSON, nests deeper than MaxDepth, is larger than MaxDocument, names a member twice, or holds
// a number beyond the range of a double.
func Canonical(doc []byte) ([]byte, error) {
	v, err := parse(doc)
	if err != nil {
		return nil, err
	}
	return appendValue(nil, v)
}

// members is an object before it is written; the order of its entries does not matter.
type members []member

type member struct {
	name  string
	value any // string, float64, int64, bool, nil, members, []any
}

// parse reads a document into the values of appendValue.
func parse(doc []byte) (any, error) {
	s, err := newScanner(doc)
	if err != nil {
		return nil, err
	}
	v, err := s.value()
	if err != nil {
		return nil, err
	}
	return v, s.end()
}

func (s *scanner) value() (any, error) {
	switch c := s.peek(); {
	case c == '{':
		return s.members()
	case c == '[':
		out := []any{}
		err := s.array(func(int) error {
			v, err := s.value()
			out = append(out, v)
			return err
		})
		return out, err
	case c == '"':
		return s.text()
	case c == '-' || c >= '0' && c <= '9':
		return s.double()
	default:
		return s.word()
	}
}

func (s *scanner) members() (members, error) {
	out, seen := members{}, map[string]bool{}
	err := s.object(func(name string) error {
		if seen[name] {
			return s.fail("a member named twice")
		}
		seen[name] = true
		v, err := s.value()
		out = append(out, member{name, v})
		return err
	})
	return out, err
}

func (s *scanner) double() (float64, error) {
	text, err := s.number()
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && math.IsInf(f, 0) {
		return 0, fmt.Errorf("number at byte %d is beyond the range of a double", s.at-len(text))
	}
	return f, nil
}

var errText = errors.New("a string is not UTF-8")

// appendValue writes v canonically. It fails for what has no canonical form: a number that is not finite, a string that
// is not Unicode, a type that JSON does not know.
func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendText(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("a number is not finite")
		}
		return appendNumber(b, v), nil
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendValue(b, e); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case members:
		return appendMembers(b, v)
	}
	return nil, fmt.Errorf("a %T has no canonical form", v)
}

func appendMembers(b []byte, m members) ([]byte, error) {
	order := func(a, b member) int { return compareUnits(a.name, b.name) }
	if !slices.IsSortedFunc(m, order) {
		m = slices.Clone(m)
		slices.SortFunc(m, order)
	}
	b = append(b, '{')
	for i, e := range m {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendText(b, e.name); err != nil {
			return nil, err
		}
		if b, err = appendValue(append(b, ':'), e.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendText quotes s with ECMAScript's escapes: quote, backslash, controls (short where a short form exists) and lone
// surrogates. Nothing else is escaped, neither < > & nor U+2028 and U+2029.
func appendText(b []byte, s string) ([]byte, error) {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for len(s) > 0 {
		if n := plain(s); n > 0 {
			b, s = append(b, s[:n]...), s[n:]
			continue
		}
		r, n, ok := decodeRune(s)
		if !ok {
			return nil, errText
		}
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		case isSurrogate(r):
			b = append(b, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		default:
			b = appendRune(b, r)
		}
		s = s[n:]
	}
	return append(b, '"'), nil
}

// plain is how many bytes at the beginning of s are ASCII and stand for themselves in a string.
func plain(s string) (n int) {
	for n < len(s) && s[n] >= 0x20 && s[n] < 0x80 && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}
