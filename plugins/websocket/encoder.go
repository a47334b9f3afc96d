package websocket

import "encoding/binary"

// appendFrame appends an unfragmented frame as a client sends it: masked with key, its length in the shortest form (RFC 6455 5.2,
// 5.3).
func appendFrame(dst []byte, op Opcode, payload []byte, key [4]byte) []byte {
	dst = append(dst, finBit|byte(op))
	switch n := len(payload); {
	case n < len16:
		dst = append(dst, maskBit|byte(n))
	case n <= 0xFFFF:
		dst = binary.BigEndian.AppendUint16(append(dst, maskBit|len16), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, maskBit|len64), uint64(n))
	}
	dst = append(dst, key[:]...)
	for i, c := range payload {
		dst = append(dst, c^key[i&3])
	}
	return dst
}

// appendClose appends a close frame. CodeNone stands for one without a code; no reason is ever sent: it would be for people who
// cannot see it.
func appendClose(dst []byte, code uint16, key [4]byte) []byte {
	if code == CodeNone {
		return appendFrame(dst, OpClose, nil, key)
	}
	return appendFrame(dst, OpClose, binary.BigEndian.AppendUint16(nil, code), key)
}
