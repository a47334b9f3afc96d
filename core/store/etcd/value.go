package etcd

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// Limits of one record.
const (
	// MaxDocument is the largest document, in bytes: more than the longest record, eight texts of 64 KiB with every byte
	// escaped.
	MaxDocument = 8 << 20
	// MaxValue is what a document may take in etcd, in bytes. A server refuses requests of 1.5 MiB, and a write also names the
	// keys that it evicts.
	MaxValue = 1 << 20
	// squeezeAbove is the size from which a document is compressed. The longest record is mostly escapes then, and fits.
	squeezeAbove = 64 << 10
)

// A value is a head and the document. The head holds the form's number, a checksum over the rest with the key, who wrote it,
// and the number of the write: a writer that got no answer recognises by it whether its write happened.
const (
	plainForm    = 1
	squeezedForm = 2
	headBytes    = 1 + 4 + writerBytes + 8
	writerBytes  = 16
)

// stamp is one write of one store.
type stamp struct {
	writer [writerBytes]byte
	number uint64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode makes the value of a document under a key. It fails with ErrTooLarge.
func encode(key string, s stamp, doc []byte) ([]byte, error) {
	if len(doc) > MaxDocument {
		return nil, fmt.Errorf("etcd: a record of %d bytes, at most %d are kept: %w", len(doc), MaxDocument, ErrTooLarge)
	}
	v := make([]byte, headBytes, headBytes+min(len(doc), squeezeAbove))
	v[0] = plainForm
	copy(v[5:], s.writer[:])
	binary.BigEndian.PutUint64(v[5+writerBytes:], s.number)
	if len(doc) <= squeezeAbove {
		v = append(v, doc...)
	} else {
		v[0] = squeezedForm
		v = squeeze(v, doc)
	}
	if len(v) > MaxValue {
		return nil, fmt.Errorf("etcd: a record of %d bytes takes %d, at most %d are kept: %w", len(doc), len(v), MaxValue, ErrTooLarge)
	}
	binary.BigEndian.PutUint32(v[1:], sum(key, v))
	return v, nil
}

// sum covers all but itself.
func sum(key string, v []byte) uint32 {
	c := crc32.Checksum([]byte(key), castagnoli)
	return crc32.Update(crc32.Update(c, castagnoli, v[:1]), castagnoli, v[5:])
}

// decode gives what encode was given. The document may be a part of v; it is never nil without an error.
func decode(key string, v []byte) (stamp, []byte, error) {
	if len(v) < headBytes || (v[0] != plainForm && v[0] != squeezedForm) || binary.BigEndian.Uint32(v[1:]) != sum(key, v) {
		return stamp{}, nil, fmt.Errorf("etcd: a record is %w", ErrCorrupt)
	}
	s := stamp{number: binary.BigEndian.Uint64(v[5+writerBytes:])}
	copy(s.writer[:], v[5:])
	doc := v[headBytes:]
	if v[0] == squeezedForm {
		var err error
		if doc, err = unsqueeze(doc); err != nil {
			return stamp{}, nil, err
		}
	}
	return s, doc, nil
}

func squeeze(v, doc []byte) []byte {
	to := bytes.NewBuffer(v)
	w, err := flate.NewWriter(to, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(doc)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil { // into memory, with a level that exists
		panic(err)
	}
	return to.Bytes()
}

// unsqueeze stops at MaxDocument, whatever the bytes unpack to.
func unsqueeze(v []byte) ([]byte, error) {
	doc, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(v)), MaxDocument+1))
	if err != nil || len(doc) > MaxDocument {
		return nil, fmt.Errorf("etcd: a compressed record is %w", ErrCorrupt)
	}
	return doc, nil
}
