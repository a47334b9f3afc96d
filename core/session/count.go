package session

import (
	"strconv"

	"github.com/conform-dev/conform/core/event"
)

// Count is a whole number, or not known. The zero value is not known, so that nothing becomes 0 by being forgotten.
type Count struct {
	n     int64
	known bool
}

// Known is the count n. What no count can be, below 0 or above 2^53-1, is not known.
func Known(n int64) Count {
	if n < 0 || n > int64(event.MaxSeq) {
		return Count{}
	}
	return Count{n: n, known: true}
}

// Value is the number; ok is false if it is not known.
func (c Count) Value() (n int64, ok bool) { return c.n, c.known }

// String is the number, or "null".
func (c Count) String() string {
	if !c.known {
		return "null"
	}
	return strconv.FormatInt(c.n, 10)
}

// MarshalJSON writes the number, or null.
func (c Count) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }
