package checkpoint

import (
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
)

// exactSeq reads a JSON number as a sequence without rounding it: 11, 11.0 and 1.1e1 are one number, -0 is 0, and
// 9007199254740993 is none (D-06). An exponent is compared, never expanded. ok is false for what is no sequence.
func exactSeq(text string) (event.Seq, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, true // zero in any spelling
	}
	if negative {
		return 0, false
	}
	kept := strings.TrimRight(digits, "0")
	shift, ok := smallInt(exponent)
	if !ok {
		return 0, false // far outside every exponent that a digit string within MaxDocument could make up for
	}
	// The value is kept x 10^zeros.
	zeros := shift - len(fraction) + len(digits) - len(kept)
	if zeros < 0 || len(kept)+zeros > 16 {
		return 0, false // a fraction, or more digits than 2^53-1 has
	}
	n, err := strconv.ParseInt(kept+strings.Repeat("0", zeros), 10, 64)
	if err != nil || !event.Seq(n).Valid() {
		return 0, false
	}
	return event.Seq(n), true
}

// smallInt reads an exponent; ok is false when it is beyond what can matter.
func smallInt(text string) (int, bool) {
	if text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(text, "+"))
	const most = 2 * MaxDocument
	return n, err == nil && n <= most && n >= -most
}

// appendNumber writes f in the shortest form of ECMAScript (Number::toString): plain digits from 1e-6 up to 1e21, an
// exponent outside, and -0 as 0. f must be finite.
func appendNumber(b []byte, f float64) []byte {
	if f == 0 {
		return append(b, '0')
	}
	if f < 0 {
		b, f = append(b, '-'), -f
	}
	short := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(short, "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	n, _ := strconv.Atoi(exponent)
	n++ // value = 0.digits x 10^n
	k := len(digits)
	switch {
	case k <= n && n <= 21:
		return append(append(b, digits...), strings.Repeat("0", n-k)...)
	case 0 < n && n <= 21:
		return append(append(append(b, digits[:n]...), '.'), digits[n:]...)
	case -6 < n && n <= 0:
		return append(append(append(b, "0."...), strings.Repeat("0", -n)...), digits...)
	}
	b = append(b, digits[0])
	if k > 1 {
		b = append(append(b, '.'), digits[1:]...)
	}
	b = append(b, 'e')
	if n-1 >= 0 {
		b = append(b, '+')
	}
	return strconv.AppendInt(b, int64(n-1), 10)
}
