package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"math/bits"
	"strconv"
)

// The rows digest tells two sets of rows apart, whatever order they were built in. It is made so:
//
//	row  = SHA-256("conform-row:v1\n" key "\n" version "\n" feature)
//	sum  = all rows added up, each read as one big-endian number, modulo 2^256
//	rows = SHA-256("conform-rows:v1\n" count "\n" sum in 64 hex digits), the first 32 hex digits
//
// key is source id, colon, row id. version and count are decimal. feature is the row's payload in canonical form
// (Canonical). Adding and taking away one row costs one hash, so the digest can be kept after every change.

// rowHash is the hash of one row as four words, the most significant first.
type rowHash [4]uint64

// rowSet is a set of rows: their number and their sum. Two values are equal exactly when the digests are.
type rowSet struct {
	sum   rowHash
	count int
}

func hashRow(key string, version int64, feature []byte) rowHash {
	b := append([]byte("conform-row:v1\n"), key...)
	b = append(b, '\n')
	b = strconv.AppendInt(b, version, 10)
	b = append(b, '\n')
	b = append(b, Canonical(feature)...)
	h := sha256.Sum256(b)
	var out rowHash
	for i, c := range h {
		out[i/8] = out[i/8]<<8 | uint64(c)
	}
	return out
}

func (s *rowSet) add(h rowHash) {
	var carry uint64
	for i := 3; i >= 0; i-- {
		s.sum[i], carry = bits.Add64(s.sum[i], h[i], carry)
	}
	s.count++
}

func (s *rowSet) sub(h rowHash) {
	var borrow uint64
	for i := 3; i >= 0; i-- {
		s.sum[i], borrow = bits.Sub64(s.sum[i], h[i], borrow)
	}
	s.count--
}

func (s *rowSet) digest() string {
	b := []byte("conform-rows:v1\n" + strconv.Itoa(s.count) + "\n")
	for _, w := range s.sum {
		for shift := 56; shift >= 0; shift -= 8 {
			b = hex.AppendEncode(b, []byte{byte(w >> shift)})
		}
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16])
}
