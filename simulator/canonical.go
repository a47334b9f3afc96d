package simulator

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Canonical is the one way in which conform writes a JSON value for the rows digest: no white space, members in the order of
// their names' bytes, of two members with one name the last; strings with the escapes \" \\ and \u00XX below 0x20 and
// everything else as it is; numbers as sign, digits without leading or trailing zeros, and e with the power of ten unless
// that is 0 (so 10, 10.0 and 1e1 are all 1e1). The number is never turned into a float. Bytes that are no JSON value
// come back unchanged: they equal only themselves.
func Canonical(doc []byte) []byte {
	if depth(doc) > maxDepth {
		return doc
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return doc
	}
	return appendCanonical(nil, v)
}

func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = appendCanonical(b, v[name])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, x)
		}
		return append(b, ']')
	case json.Number:
		return appendNumber(b, string(v))
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
}

// appendString writes s as a JSON string. It knows no HTML and no surrogates: what is no control character stands as it is.
func appendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// appendNumber writes a JSON number in canonical form. An exponent that is no int32 leaves the text as it is.
func appendNumber(b []byte, text string) []byte {
	rest, negative := strings.CutPrefix(text, "-")
	digits, expText := rest, ""
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		digits, expText = rest[:i], strings.TrimPrefix(rest[i+1:], "+")
	}
	exp := int64(0)
	if expText != "" {
		var err error
		if exp, err = strconv.ParseInt(expText, 10, 32); err != nil {
			return append(b, text...)
		}
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	exp -= int64(len(fraction))
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return append(b, '0')
	}
	short := strings.TrimRight(digits, "0")
	exp += int64(len(digits) - len(short))
	if negative {
		b = append(b, '-')
	}
	b = append(b, short...)
	if exp != 0 {
		b = append(b, 'e')
		b = strconv.AppendInt(b, exp, 10)
	}
	return b
}
