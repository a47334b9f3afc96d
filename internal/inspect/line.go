package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The limits of one input line.
const (
	// MaxLine is the longest input line in bytes, without its line end: what one event may have by default on a wire.
	// A line is held whole in memory, three times while it is read.
	MaxLine = 16 << 20
	// MaxDepth is how deep a line may nest. It is above event.MaxDepth, so that the gate's own refusal of an event that is
	// too deep can be looked at.
	MaxDepth = 1024
)

// flaw is what is wrong with a line; at is an offset in it, from 0.
type flaw struct {
	at   int
	what string
}

func flawed(at int, format string, args ...any) *flaw { return &flaw{at, fmt.Sprintf(format, args...)} }

// member is one member of an object: its raw value and where name and value begin in the line.
type member struct {
	name string
	raw  []byte
	at   int
	from int
}

// checkJSON says whether line is one JSON text within MaxDepth. What is inside strings is not looked at: bytes that are not
// UTF-8 are a matter of whose value it is.
func checkJSON(line []byte) *flaw {
	depth := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			i = stringEnd(line, i) - 1
		case '{', '[':
			if depth++; depth > MaxDepth {
				return flawed(i, "nested deeper than %d levels", MaxDepth)
			}
		case '}', ']':
			depth--
		}
	}
	var whole json.RawMessage
	err := json.Unmarshal(line, &whole)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return flawed(max(int(syntax.Offset)-1, 0), "not JSON: %v", err)
	case err != nil:
		return flawed(0, "not JSON: %v", err)
	}
	return nil
}

// split cuts an object that checkJSON has passed into its members. base is where doc begins in the line.
func split(doc []byte, base int) ([]member, *flaw) {
	i := space(doc, 0)
	if doc[i] != '{' {
		return nil, flawed(base+i, "not an object")
	}
	var out []member
	for i = space(doc, i+1); doc[i] != '}'; i = space(doc, i) {
		if doc[i] == ',' {
			i = space(doc, i+1)
		}
		m := member{at: base + i}
		end := stringEnd(doc, i)
		name, f := text(doc[i:end], m.at)
		if f != nil {
			return nil, f
		}
		m.name = name
		from := space(doc, space(doc, end)+1) // behind the colon
		i = valueEnd(doc, from)
		m.raw, m.from = doc[from:i], base+from
		for _, other := range out {
			if other.name == name {
				return nil, flawed(m.at, "member %s is there twice", quote(name))
			}
		}
		if out = append(out, m); len(out) > maxMembers {
			return nil, flawed(m.at, "more than %d members", maxMembers)
		}
	}
	return out, nil
}

// maxMembers is above what any object here may have, and bounds the search for a name that is there twice.
const maxMembers = 16

// only refuses a member whose name is not one of names.
func only(members []member, of string, names ...string) *flaw {
	for _, m := range members {
		known := false
		for _, n := range names {
			known = known || n == m.name
		}
		if !known {
			return flawed(m.at, "unknown member %s of %s; known are %s", quote(m.name), of, strings.Join(names, ", "))
		}
	}
	return nil
}

// get finds a member, nil if it is not there.
func get(members []member, name string) *member {
	for i := range members {
		if members[i].name == name {
			return &members[i]
		}
	}
	return nil
}

// text is the value of a JSON string.
func text(raw []byte, at int) (string, *flaw) {
	var s string
	switch {
	case raw[0] != '"':
		return "", flawed(at, "not a string")
	case !utf8.Valid(raw):
		return "", flawed(at, "not UTF-8")
	case json.Unmarshal(raw, &s) != nil:
		return "", flawed(at, "not a string")
	}
	return s, nil
}

func (m *member) text() (string, *flaw) {
	s, f := text(m.raw, m.from)
	if f != nil {
		f.what = m.name + ": " + f.what
	}
	return s, f
}

// whole is a whole number between low and high, written without fraction or exponent.
func (m *member) whole(low, high int64) (int64, *flaw) {
	n, err := strconv.ParseInt(string(m.raw), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
	case err != nil:
		return 0, flawed(m.from, "%s: not a whole number", m.name)
	case n >= low && n <= high:
		return n, nil
	}
	return 0, flawed(m.from, "%s: %s is not between %d and %d", m.name, short(string(m.raw)), low, high)
}

func (m *member) flag() (bool, *flaw) {
	switch string(m.raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, flawed(m.from, "%s: neither true nor false", m.name)
}

// quote is a word of the line as it may stand in a message: in quotes, and short.
func quote(word string) string { return strconv.Quote(short(word)) }

func short(word string) string {
	const most = 64
	if len(word) > most {
		return word[:most] + "..."
	}
	return word
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd is behind the string that begins at i, len(b) if it does not end.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// valueEnd is behind the JSON value that begins at i.
func valueEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
			continue
		default:
			if depth > 0 || i+1 < len(b) && strings.IndexByte(",]} \t\n\r", b[i+1]) < 0 {
				continue
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}
