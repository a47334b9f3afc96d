package odata

import (
	"bytes"
	"strconv"

	"github.com/conform-dev/conform/core/event"
)

// maxExponent is the largest exponent of a number that a key or a sequence may have; no type of OData goes beyond.
const maxExponent = 400

// canonicalNumber is the one form of a JSON number: as digits where they fit, so that 7, 7.0 and 70e-1 are the same key. ok is false for
// one with an exponent beyond any type of OData.
func canonicalNumber(n []byte) (s string, ok bool) {
	negative := len(n) > 0 && n[0] == '-'
	if negative {
		n = n[1:]
	}
	exp := 0
	if e := bytes.IndexAny(n, "eE"); e >= 0 {
		var err error
		if exp, err = strconv.Atoi(string(n[e+1:])); err != nil || exp > maxExponent || exp < -maxExponent {
			return "", false
		}
		n = n[:e]
	}
	whole, fraction, _ := bytes.Cut(n, []byte("."))
	all := append(append(make([]byte, 0, len(n)), whole...), fraction...)
	point := len(whole) + exp // digits before the decimal point
	lead := len(all) - len(bytes.TrimLeft(all, "0"))
	all, point = all[lead:], point-lead
	all = bytes.TrimRight(all, "0")
	if len(all) == 0 {
		return "0", true
	}
	var out []byte
	if negative {
		out = append(out, '-')
	}
	switch {
	case point <= 0:
		out = append(append(append(out, "0."...), bytes.Repeat([]byte{'0'}, -point)...), all...)
	case point >= len(all):
		out = append(append(out, all...), bytes.Repeat([]byte{'0'}, point-len(all))...)
	default:
		out = append(append(append(out, all[:point]...), '.'), all[point:]...)
	}
	return string(out), true
}

// sequence is the exact integer that raw, a valid JSON value, stands for, NoSeq if it is none that the contract can count on (D-06).
func sequence(raw []byte) event.Seq {
	if numberLength(raw) != len(raw) || len(raw) == 0 {
		return event.NoSeq
	}
	s, ok := canonicalNumber(raw)
	if !ok {
		return event.NoSeq
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || !event.Seq(n).Valid() {
		return event.NoSeq
	}
	return event.Seq(n)
}
