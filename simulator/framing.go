package simulator

import "encoding/binary"

// The opcodes of RFC 6455 that a frame of ours may have.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA
)

// framing is how one message is framed on the WebSocket wire; the zero value is one whole text frame. Everything else but
// fragments and between is a violation that a fault asks for.
type framing struct {
	opcode    byte   // 0: text
	reserved  byte   // reserved bits that are set on top, as they stand in the first byte
	masked    bool   // a server never masks
	fragments int    // more than 1: cut into so many
	between   bool   // with fragments: a ping behind the first one
	torn      bool   // the first half of the message goes before it, and never ends
	invalid   []byte // stands in the payload and is no UTF-8
	plain     bool   // never compressed
}

// serverMask is the key of a frame that a fault masks. Any will do: nobody may mask here.
var serverMask = [4]byte{0x6d, 0x61, 0x73, 0x6b}

// appendFrame writes one frame; first is its first byte.
func appendFrame(b []byte, first byte, masked bool, payload []byte) []byte {
	b = append(b, first)
	bit := byte(0)
	if masked {
		bit = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, bit|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), uint64(n))
	}
	if !masked {
		return append(b, payload...)
	}
	b = append(b, serverMask[:]...)
	for i, c := range payload {
		b = append(b, c^serverMask[i%4])
	}
	return b
}

// appendControl writes a whole control frame.
func appendControl(b []byte, opcode byte, payload []byte) []byte {
	return appendFrame(b, 0x80|opcode, false, payload)
}

// closePayload is the payload of a close frame; empty without a code. A reason is cut to what a control frame holds.
func closePayload(code int, reason string) []byte {
	if code == 0 {
		return nil
	}
	b := append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...)
	return b[:min(len(b), 125)]
}

// appendMessage writes a message as f says. compressed says that payload is deflated.
func appendMessage(b []byte, f framing, payload []byte, compressed bool) []byte {
	opcode := f.opcode
	if opcode == 0 {
		opcode = opText
	}
	bits := f.reserved
	if compressed {
		bits |= 0x40
	}
	if f.torn {
		b = appendFrame(b, bits|opcode, f.masked, payload[:len(payload)/2])
	}
	n := max(f.fragments, 1)
	for i := range n {
		first := byte(opContinuation)
		if i == 0 {
			first = bits | opcode
		}
		if i == n-1 {
			first |= 0x80
		}
		b = appendFrame(b, first, f.masked, payload[len(payload)*i/n:len(payload)*(i+1)/n])
		if i == 0 && n > 1 && f.between {
			b = appendControl(b, opPing, []byte("between"))
		}
	}
	return b
}

// withInvalid puts bytes that are no UTF-8 into a JSON object, in a member in front of the others.
func withInvalid(doc, invalid []byte) []byte {
	if len(doc) < 2 || doc[0] != '{' {
		return append(doc[:len(doc):len(doc)], invalid...)
	}
	b := append([]byte(`{"note":"`), invalid...)
	return append(append(b, `",`...), doc[1:]...)
}
