package trace

import (
	"crypto/sha256"
	"encoding/hex"
)

// Rolling is a hash over records in order: each one is mixed with the hash of all before it, so that two runs can be
// compared while they go on, and the first difference found by bisection. The zero value is the hash of nothing.
type Rolling struct{ sum [sha256.Size]byte }

// Add mixes in r.
func (h *Rolling) Add(r Record) error {
	line, err := Line(r)
	if err != nil {
		return err
	}
	h.sum = sha256.Sum256(append(h.sum[:], line...))
	return nil
}

// String is the hash so far, 64 hex digits.
func (h *Rolling) String() string { return hex.EncodeToString(h.sum[:]) }

// Hash is the rolling hash of records.
func Hash(records []Record) (string, error) {
	var h Rolling
	for i := range records {
		if err := h.Add(records[i]); err != nil {
			return "", err
		}
	}
	return h.String(), nil
}
