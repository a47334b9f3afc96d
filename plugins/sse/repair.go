package sse

import "unicode/utf8"

// valid says whether b is UTF-8 as the decoder must give it out.
func valid(b []byte) bool { return utf8.Valid(b) }

// appendRepaired appends b as the Encoding standard's UTF-8 decode gives it: each maximal part of a sequence that went
// wrong becomes one U+FFFD. Lines are repaired one by one, which is the same as repairing the stream: CR, LF and the
// colon are never part of a sequence, and a sequence that one of them cuts is wrong either way.
func appendRepaired(dst, b []byte) []byte {
	for !utf8.Valid(b) {
		n := 0
		for {
			r, size := utf8.DecodeRune(b[n:])
			if r == utf8.RuneError && size <= 1 {
				break
			}
			n += size
		}
		dst = append(dst, b[:n]...)
		dst = append(dst, "\uFFFD"...)
		b = b[n+badPrefix(b[n:]):]
	}
	return append(dst, b...)
}

// badPrefix is the length of the maximal part at the beginning of b of a sequence that is not valid: the first byte, and
// those after it that could have gone on (Unicode, "maximal subpart of an ill-formed subsequence").
func badPrefix(b []byte) int {
	need, low, high := sequence(b[0])
	n := 1
	for n < len(b) && n <= need && b[n] >= low && b[n] <= high {
		n++
		low, high = 0x80, 0xBF
	}
	return n
}

// sequence tells how many bytes follow a first byte, and within which bounds the second one must lie (Encoding standard,
// UTF-8 decoder).
func sequence(first byte) (need int, low, high byte) {
	switch {
	case first >= 0xC2 && first <= 0xDF:
		return 1, 0x80, 0xBF
	case first == 0xE0:
		return 2, 0xA0, 0xBF
	case first == 0xED:
		return 2, 0x80, 0x9F
	case first >= 0xE1 && first <= 0xEF:
		return 2, 0x80, 0xBF
	case first == 0xF0:
		return 3, 0x90, 0xBF
	case first == 0xF4:
		return 3, 0x80, 0x8F
	case first >= 0xF1 && first <= 0xF3:
		return 3, 0x80, 0xBF
	}
	return 0, 0, 0
}
