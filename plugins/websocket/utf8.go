package websocket

import "unicode/utf8"

// utf8Check checks text that comes in parts, cut anywhere (RFC 6455 8.1). It says no as soon as what has come cannot become
// valid any more, and always for the same byte, however the text was cut.
type utf8Check struct {
	part [utf8.UTFMax]byte // the beginning of a character whose rest has not come
	n    int
	at   int64 // offset of part[0]
}

// feed takes the next part, whose first byte is at offset at. bad is the offset of the first byte of what is no character.
func (u *utf8Check) feed(b []byte, at int64) (bad int64, ok bool) {
	for ; u.n > 0 && len(b) > 0; b, at = b[1:], at+1 {
		u.part[u.n] = b[0]
		u.n++
		if !utf8.FullRune(u.part[:u.n]) {
			continue
		}
		if r, size := utf8.DecodeRune(u.part[:u.n]); r == utf8.RuneError && size == 1 {
			return u.at, false
		}
		u.n = 0
	}
	whole := wholeCharacters(b)
	if !utf8.Valid(b[:whole]) {
		return at + int64(firstInvalid(b)), false
	}
	if whole < len(b) {
		u.n, u.at = copy(u.part[:], b[whole:]), at+int64(whole)
	}
	return 0, true
}

// end says whether the text may end here.
func (u *utf8Check) end() (bad int64, ok bool) { return u.at, u.n == 0 }

// wholeCharacters is the length of b without the beginning of a character that b's end cuts.
func wholeCharacters(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// firstInvalid is the index of the first byte of b that begins no character, len(b) if there is none.
func firstInvalid(b []byte) int {
	i := 0
	for i < len(b) {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}
