package checkpoint

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Strings that come out of a JSON document may hold a lone surrogate, which no Go string can spell in UTF-8. Inside this
// package such a code unit is kept as the three bytes that UTF-8 would give it if it were allowed to (WTF-8), so that
// nothing is lost between reading and writing.

const (
	surrogateFirst = 0xD800
	surrogateLow   = 0xDC00
	surrogateLast  = 0xDFFF
)

// decodeRune reads one code point of a WTF-8 string. A high surrogate that is followed by a low one is one code point.
// ok is false for bytes that are neither.
func decodeRune(s string) (r rune, size int, ok bool) {
	r, size = utf8.DecodeRuneInString(s)
	if r != utf8.RuneError || size > 1 {
		return r, size, true
	}
	hi, ok := decodeSurrogate(s)
	if !ok {
		return utf8.RuneError, size, false
	}
	if hi < surrogateLow {
		if lo, ok := decodeSurrogate(s[3:]); ok && lo >= surrogateLow {
			return (hi-surrogateFirst)<<10 + (lo - surrogateLow) + 0x10000, 6, true
		}
	}
	return hi, 3, true
}

func decodeSurrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2] < 0x80 || s[2] > 0xBF {
		return 0, false
	}
	return rune(s[0]&0x0F)<<12 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}

// appendRune writes r, also when it is a lone surrogate.
func appendRune(b []byte, r rune) []byte {
	if isSurrogate(r) {
		return append(b, 0xED, byte(0x80|r>>6&0x3F), byte(0x80|r&0x3F))
	}
	return utf8.AppendRune(b, r)
}

func isSurrogate(r rune) bool { return r >= surrogateFirst && r <= surrogateLast }

// wellFormed says whether s is UTF-8 apart from lone surrogates.
func wellFormed(s string) bool {
	for len(s) > 0 {
		_, n, ok := decodeRune(s)
		if !ok {
			return false
		}
		s = s[n:]
	}
	return true
}

// toUTF8 gives the bytes that are hashed: each lone surrogate becomes U+FFFD, as in every encoder of the web platform.
func toUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b []byte
	for len(s) > 0 {
		r, n, ok := decodeRune(s)
		if !ok || isSurrogate(r) {
			r = utf8.RuneError
		}
		b = utf8.AppendRune(b, r)
		s = s[n:]
	}
	return string(b)
}

// compareUnits orders two strings by UTF-16 code units (facts 3.4): a character beyond U+FFFF sorts by its first
// surrogate, and so before U+E000 to U+FFFF.
func compareUnits(a, b string) int {
	same := 0 // ASCII orders by its bytes
	for ; same < len(a) && same < len(b) && a[same] < utf8.RuneSelf && b[same] < utf8.RuneSelf; same++ {
		if a[same] != b[same] {
			return int(a[same]) - int(b[same])
		}
	}
	ua, ub := units{rest: a[same:]}, units{rest: b[same:]}
	for {
		x, y := ua.next(), ub.next()
		if x != y {
			return int(x - y)
		}
		if x < 0 {
			return 0
		}
	}
}

// units reads a string as UTF-16 code units.
type units struct {
	rest string
	low  rune // the second half of a pair, due next
}

// next is -1 at the end, which sorts first.
func (u *units) next() rune {
	if low := u.low; low != 0 {
		u.low = 0
		return low
	}
	if u.rest == "" {
		return -1
	}
	r, n, _ := decodeRune(u.rest)
	u.rest = u.rest[n:]
	if r < 0x10000 {
		return r
	}
	u.low = surrogateLow + (r-0x10000)&0x3FF
	return surrogateFirst + (r-0x10000)>>10
}

// trim removes what ECMAScript calls white space and line terminators from both ends, which is not what unicode.IsSpace
// says: U+FEFF belongs to it and U+0085 does not.
func trim(s string) string { return strings.TrimFunc(s, isScriptSpace) }

func isScriptSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', 0xFEFF, 0x2028, 0x2029:
		return true
	}
	return unicode.Is(unicode.Zs, r)
}
