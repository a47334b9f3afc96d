package odata

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Key is the identity of a row: the text of its key predicate by OData's literal rules (D-38). A string is quoted, a number is not, so that
// ('7') and (7) are two rows; a key of several properties is `A=1,B='x'` with the names sorted. Two keys are the same row if their
// Texts are equal.
type Key struct {
	Text string
	id   string // what the contract's id says: the string, the number, or Text of a composite key
	bare bool   // the id is a number
}

// AppendID appends the contract's id, as JSON: the number for a key that is one, otherwise a string.
func (k Key) AppendID(dst []byte) []byte {
	if k.bare {
		return append(dst, k.id...)
	}
	return appendText(dst, k.id)
}

// literal is the value of one key property.
type literal struct {
	text   string // without quotes
	quoted bool   // a string, or anything else that JSON writes as one
	number bool
}

func (l literal) canonical() string {
	if l.quoted {
		return "'" + strings.ReplaceAll(l.text, "'", "''") + "'"
	}
	return l.text
}

// newKey makes the key of values, which stand for names in their order. names are sorted.
func newKey(names []string, values []literal) Key {
	if len(values) == 1 {
		return Key{Text: values[0].canonical(), id: values[0].text, bare: values[0].number}
	}
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(names[i] + "=" + v.canonical())
	}
	return Key{Text: b.String(), id: b.String()}
}

// jsonLiteral reads the value of a key property in an entry; false if it cannot be a key.
func jsonLiteral(raw []byte) (literal, bool) {
	switch {
	case len(raw) == 0:
		return literal{}, false
	case raw[0] == '"':
		s, ok := text(raw)
		return literal{text: s, quoted: true}, ok
	case string(raw) == "true" || string(raw) == "false":
		return literal{text: string(raw)}, true
	case numberLength(raw) == len(raw):
		s, ok := canonicalNumber(raw)
		return literal{text: s, number: true}, ok
	}
	return literal{}, false
}

// KeyOfID reads the key out of an entity id, such as Vehicles('V1') or https://h/s/Orders(A=1,B='x'), for a row whose key properties are
// names, sorted. ok is false if the id holds no key predicate at its end, or one of other properties.
func KeyOfID(id string, names []string) (k Key, ok bool) {
	if len(id) > MaxKeyBytes {
		return Key{}, false
	}
	if cut := strings.IndexAny(id, "?#"); cut >= 0 {
		id = id[:cut]
	}
	plain, err := url.PathUnescape(id)
	if err != nil || !utf8.ValidString(plain) || !strings.HasSuffix(plain, ")") {
		return Key{}, false
	}
	// A key may hold parentheses itself, and a path may have several predicates: it is the first one that ends where the id does.
	for i := range plain {
		if plain[i] != '(' || i > 0 && plain[i-1] == '(' {
			continue
		}
		if k, ok = predicate(plain[i+1:len(plain)-1], names); ok {
			return k, true
		}
	}
	return Key{}, false
}

// predicate reads what stands between the parentheses.
func predicate(in string, names []string) (Key, bool) {
	values := make([]literal, len(names))
	seen := 0
	for first := true; ; first = false {
		name := ""
		if eq := strings.IndexAny(in, "=',"); eq > 0 && in[eq] == '=' && !strings.ContainsAny(in[:eq], "()/ ") {
			name, in = in[:eq], in[eq+1:]
		}
		value, rest, ok := readLiteral(in)
		if !ok || name == "" && (len(names) != 1 || !first) {
			return Key{}, false
		}
		at := 0
		if name != "" {
			at = slices.Index(names, name)
		}
		if at < 0 || seen&(1<<at) != 0 {
			return Key{}, false
		}
		values[at] = value
		seen |= 1 << at
		if rest == "" {
			break
		}
		if rest[0] != ',' {
			return Key{}, false
		}
		in = rest[1:]
	}
	return newKey(names, values), seen == 1<<len(names)-1
}

// readLiteral reads one literal at the start of in. A type in front of a quoted one (duration'PT1S', an enumeration) is not part of what JSON
// says of that value, nor of the key.
func readLiteral(in string) (l literal, rest string, ok bool) {
	end := strings.IndexAny(in, "',()/ ")
	if end < 0 {
		end = len(in)
	}
	if end < len(in) && in[end] == '\'' {
		return readQuoted(in[end+1:])
	}
	word := in[:end]
	switch {
	case word == "" || word == "null":
		return literal{}, "", false
	case word == "true" || word == "false":
		return literal{text: word}, in[end:], true
	case numberLength([]byte(word)) == len(word):
		s, ok := canonicalNumber([]byte(word))
		return literal{text: s, number: true}, in[end:], ok
	}
	return literal{text: word, quoted: true}, in[end:], true // a guid, a date: strings in JSON
}

// readQuoted reads a string behind its opening quote; two quotes inside are one.
func readQuoted(in string) (l literal, rest string, ok bool) {
	var b strings.Builder
	for {
		before, after, closed := strings.Cut(in, "'")
		if !closed {
			return literal{}, "", false
		}
		b.WriteString(before)
		if !strings.HasPrefix(after, "'") {
			return literal{text: b.String(), quoted: true}, after, true
		}
		b.WriteByte('\'')
		in = after[1:]
	}
}
