package websocket

// Frame is one complete frame that the decoder found, or the violation that ended the stream. Its payload is valid until the next
// call of Next or Feed.
type Frame struct {
	Kind      Kind
	Opcode    Opcode
	Fin       bool
	RSV1      bool      // the message is compressed (RFC 7692)
	Code      uint16    // CloseFrame: the code, CodeNone if the frame has none
	Violation Violation // Invalid: its name
	Number    uint64    // of the frame, from 1
	At        int64     // offset in the stream: the frame's first byte; of InvalidUTF8 the first byte of what is no character, if uncompressed
	MessageAt int64     // TextMessage, BinaryMessage, MessageTooLarge: offset of the message's first frame
	Length    int64     // payload bytes of this frame on the wire
	Payload   []byte    // the whole message, inflated; of a control frame its payload; of a CloseFrame the reason
}

// Kind is what a frame means.
type Kind uint8

// The kinds. Each frame is exactly one of them.
const (
	Fragment      Kind = iota + 1 // a data frame that does not end its message
	TextMessage                   // the data frame that ends a text message
	BinaryMessage                 // the same for a binary one
	PingFrame
	PongFrame
	CloseFrame // nothing may follow
	Invalid    // a violation: nothing of its frame, or of the message under way, is delivered, and nothing follows
)

var kinds = [...]string{"", "fragment", "text", "binary", "ping", "pong", "close", "violation"}

// String is the word used by `conform inspect ws`.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return ""
	}
	return kinds[k]
}

// Opcode is the opcode of a frame (RFC 6455 5.2).
type Opcode uint8

// The opcodes.
const (
	OpContinuation Opcode = 0x0
	OpText         Opcode = 0x1
	OpBinary       Opcode = 0x2
	OpClose        Opcode = 0x8
	OpPing         Opcode = 0x9
	OpPong         Opcode = 0xA
)

func (o Opcode) known() bool   { return o <= OpBinary || o >= OpClose && o <= OpPong }
func (o Opcode) control() bool { return o >= OpClose }

// The close codes that are told apart (RFC 6455 7.4.1, IANA).
const (
	CodeNormal         = 1000
	CodeGoingAway      = 1001
	CodeProtocolError  = 1002
	CodeUnsupported    = 1003
	CodeNone           = 1005 // stands for a close frame without a code; never on the wire
	CodeAbnormal       = 1006 // stands for a connection that ended without a close frame; never on the wire
	CodeInvalidData    = 1007
	CodePolicy         = 1008
	CodeTooLarge       = 1009
	CodeInternalError  = 1011
	CodeServiceRestart = 1012
	CodeTryAgainLater  = 1013
	CodeBadGateway     = 1014
)

// mayClose says whether a close frame may hold a code (RFC 6455 7.4; 1012 to 1014 are registered with IANA).
func mayClose(code uint16) bool {
	switch {
	case code >= 1000 && code <= 1003, code >= 1007 && code <= 1014, code >= 3000 && code <= 4999:
		return true
	}
	return false
}

const (
	finBit, rsv1Bit, rsvOther, maskBit = 0x80, 0x40, 0x30, 0x80
	maxControl                         = 125 // payload bytes of a control frame
	len16, len64                       = 126, 127
	maxHead                            = 10 // bytes of a server's frame head
)
