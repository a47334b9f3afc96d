package fleet

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// appendQuoted appends s as a JSON string that escapes what must be escaped and nothing else: the bytes of the reference, not those
// of a library that escapes for pages.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\b':
			b = append(b, '\\', 'b')
		case r == '\f':
			b = append(b, '\\', 'f')
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

func quoted(s string) string { return string(appendQuoted(nil, s)) }

// value is a JSON value: nil, bool, float64, string, []value or *object.
type value any

// object keeps the order of its members. A name that comes twice keeps its first place and its last value.
type object struct {
	names []string
	at    map[string]value
}

func (o *object) text(name string) (string, bool) {
	s, ok := o.at[name].(string)
	return s, ok
}

// parse reads one JSON document. Numbers become what a client makes of them, binary floating point.
func parse(doc []byte) (value, bool) {
	if !json.Valid(doc) { // also bounds the nesting
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return next(d), true
}

// next reads the next value of a valid document.
func next(d *json.Decoder) value {
	token, _ := d.Token()
	switch t := token.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(string(t), 64) // out of range is infinite
		return f
	case json.Delim:
		if t == '[' {
			list := []value{}
			for d.More() {
				list = append(list, next(d))
			}
			_, _ = d.Token()
			return list
		}
		o := &object{at: map[string]value{}}
		for d.More() {
			key, _ := d.Token()
			name, _ := key.(string)
			if _, twice := o.at[name]; !twice {
				o.names = append(o.names, name)
			}
			o.at[name] = next(d)
		}
		_, _ = d.Token()
		return o
	}
	return token // nil, bool, string
}

// appendValue writes v as the reference does: no white space, array indices before other names, no negative zero.
func appendValue(b []byte, v value) []byte {
	switch t := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, t)
	case float64:
		if math.IsInf(t, 0) {
			return append(b, "null"...)
		}
		if t == 0 {
			return append(b, '0')
		}
		text, _ := json.Marshal(t)
		return append(b, text...)
	case string:
		return appendQuoted(b, t)
	case []value:
		b = append(b, '[')
		for i, item := range t {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, item)
		}
		return append(b, ']')
	case *object:
		b = append(b, '{')
		for i, name := range t.ordered() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendQuoted(b, name), ':')
			b = appendValue(b, t.at[name])
		}
		return append(b, '}')
	}
	return b
}

func (o *object) ordered() []string {
	index := func(name string) (uint64, bool) {
		n, err := strconv.ParseUint(name, 10, 32)
		return n, err == nil && n < 1<<32-1 && strconv.FormatUint(n, 10) == name
	}
	var first, rest []string
	for _, name := range o.names {
		if _, is := index(name); is {
			first = append(first, name)
		} else {
			rest = append(rest, name)
		}
	}
	slices.SortFunc(first, func(a, b string) int {
		x, _ := index(a)
		y, _ := index(b)
		return int(int64(x) - int64(y))
	})
	return append(first, rest...)
}
