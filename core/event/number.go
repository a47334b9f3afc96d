package event

import "bytes"

// number reads a JSON number.
func (s *scanner) number() bool {
	b, i := s.b, s.i
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	i = digits(b, i)
	if i == first || b[first] == '0' && i > first+1 {
		return s.fail("not JSON")
	}
	if i < len(b) && b[i] == '.' {
		from := i + 1
		if i = digits(b, from); i == from {
			return s.fail("not JSON")
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from := i
		if i = digits(b, from); i == from {
			return s.fail("not JSON")
		}
	}
	s.i = i
	return true
}

// ParseSeq is the exact safe integer that a JSON number stands for: 11, 11.0 and 1.1e1 are one (D-06). NoSeq for every other
// number, and for what is no JSON number.
func ParseSeq(text []byte) Seq {
	s := scanner{b: text}
	if !s.number() || s.i != len(text) {
		return NoSeq
	}
	return sequence(text)
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// sequence is the exact integer that the JSON number n stands for, NoSeq if it is negative, fractional or not safe (D-06).
func sequence(n []byte) Seq {
	if len(n) <= 16 {
		var q Seq
		for _, c := range n {
			if c-'0' > 9 {
				return decimalOf(n).seq()
			}
			q = q*10 + Seq(c-'0')
		}
		if q > MaxSeq {
			return NoSeq
		}
		return q
	}
	return decimalOf(n).seq()
}

// decimal is a JSON number in its one exact form: digits without zeros at either end, times ten to the power of exp. Zero
// has no digits.
type decimal struct {
	negative bool
	digits   []byte
	exp      int64
}

// farExponent is where a written exponent stops counting. It lies beyond any shift that the digits of a document can cause,
// so nothing usable is lost; two such numbers with the same digits count as equal.
const farExponent = 1 << 40

func decimalOf(n []byte) decimal {
	var d decimal
	if n[0] == '-' {
		d.negative = true
		n = n[1:]
	}
	if e := bytes.IndexAny(n, "eE"); e >= 0 {
		d.exp = exponent(n[e+1:])
		n = n[:e]
	}
	if dot := bytes.IndexByte(n, '.'); dot >= 0 {
		d.exp -= int64(len(n) - dot - 1)
		n = append(append(make([]byte, 0, len(n)), n[:dot]...), n[dot+1:]...)
	}
	n = bytes.TrimLeft(n, "0")
	d.digits = bytes.TrimRight(n, "0")
	d.exp += int64(len(n) - len(d.digits))
	if len(d.digits) == 0 {
		return decimal{}
	}
	return d
}

func exponent(n []byte) int64 {
	sign := int64(1)
	if n[0] == '-' {
		sign = -1
	}
	var e int64
	for _, c := range bytes.TrimLeft(n, "+-") {
		if e = e*10 + int64(c-'0'); e > farExponent {
			e = farExponent
		}
	}
	return sign * e
}

// seq compares the exponent before it does anything with it: at most 16 digits can be a safe integer.
func (d decimal) seq() Seq {
	if len(d.digits) == 0 {
		return 0
	}
	if d.negative || d.exp < 0 || int64(len(d.digits))+d.exp > 16 {
		return NoSeq
	}
	var q Seq
	for _, c := range d.digits {
		q = q*10 + Seq(c-'0')
	}
	for range d.exp {
		q *= 10
	}
	if q > MaxSeq {
		return NoSeq
	}
	return q
}

// sameNumber says whether two JSON numbers stand for one value, however they are written.
func sameNumber(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := decimalOf(a), decimalOf(b)
	return x.negative == y.negative && x.exp == y.exp && bytes.Equal(x.digits, y.digits)
}
