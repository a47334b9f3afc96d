package simulator

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// clientFrame is one frame of a client, unmasked.
type clientFrame struct {
	final      bool
	compressed bool // first reserved bit
	opcode     byte
	payload    []byte
}

// violation is what a client did wrong: the close code that answers it, and what it was, in fixed words.
type violation struct {
	code int
	what string
}

// clientReader takes the bytes of one client apart. It holds at most one frame of MaxClientMessage bytes and one message of
// as many.
type clientReader struct {
	deflate bool // permessage-deflate was agreed
	in      []byte
	open    bool // a fragmented message is
	message clientFrame
	frames  int
}

// feed takes bytes in. It calls got for each whole message and control frame, in order; got answers whether to go on. It stops at
// the first violation.
func (r *clientReader) feed(b []byte, got func(clientFrame) bool) *violation {
	r.in = append(r.in, b...)
	for {
		f, n, bad := r.next()
		if bad != nil || n == 0 {
			return bad
		}
		r.in = r.in[n:]
		if r.frames++; r.frames > MaxClientFrames {
			return &violation{1008, "more than " + strconv.Itoa(MaxClientFrames) + " frames"}
		}
		whole, bad := r.assemble(f)
		if bad != nil {
			return bad
		}
		if whole != nil && !got(*whole) {
			r.in = nil
			return nil
		}
	}
}

// next reads one frame; n is 0 if it is not whole yet. A header that breaks a rule is told before its payload has come.
func (r *clientReader) next() (f clientFrame, n int, bad *violation) {
	b := r.in
	if len(b) < 2 {
		return f, 0, nil
	}
	f = clientFrame{final: b[0]&0x80 != 0, compressed: b[0]&0x40 != 0, opcode: b[0] & 0x0f}
	if bad := r.judge(b[0], b[1], f); bad != nil {
		return f, 0, bad
	}
	length, at := uint64(b[1]&0x7f), 2
	switch length {
	case 126:
		if at = 4; len(b) < at {
			return f, 0, nil
		}
		if length = uint64(binary.BigEndian.Uint16(b[2:])); length < 126 {
			return f, 0, &violation{1002, "length in a longer form than needed"}
		}
	case 127:
		if at = 10; len(b) < at {
			return f, 0, nil
		}
		if length = binary.BigEndian.Uint64(b[2:]); length < 1<<16 || length >= 1<<63 {
			return f, 0, &violation{1002, "length in a longer form than needed"}
		}
	}
	if length > MaxClientMessage {
		return f, 0, &violation{1009, "frame larger than " + strconv.Itoa(MaxClientMessage) + " bytes"}
	}
	end := at + 4 + int(length)
	if len(b) < end {
		return f, 0, nil
	}
	key := b[at : at+4]
	f.payload = make([]byte, length)
	for i := range f.payload {
		f.payload[i] = b[at+4+i] ^ key[i%4]
	}
	return f, end, nil
}

// judge looks at the first two bytes.
func (r *clientReader) judge(first, second byte, f clientFrame) *violation {
	control := f.opcode >= 8
	switch {
	case second&0x80 == 0:
		return &violation{1002, "unmasked frame"}
	case first&0x30 != 0, f.compressed && (!r.deflate || control || f.opcode == opContinuation):
		return &violation{1002, "reserved bit"}
	case f.opcode > opBinary && !control, f.opcode > opPong:
		return &violation{1002, "unknown opcode"}
	case control && !f.final:
		return &violation{1002, "fragmented control frame"}
	case control && second&0x7f > 125:
		return &violation{1002, "control frame larger than 125 bytes"}
	case f.opcode == opContinuation && !r.open:
		return &violation{1002, "continuation of nothing"}
	case (f.opcode == opText || f.opcode == opBinary) && r.open:
		return &violation{1002, "message inside a message"}
	}
	return nil
}

// assemble puts fragments together; nil while a message is not whole.
func (r *clientReader) assemble(f clientFrame) (*clientFrame, *violation) {
	if f.opcode >= 8 {
		if f.opcode == opClose {
			return &f, judgeClose(f.payload)
		}
		return &f, nil
	}
	if f.opcode == opContinuation {
		r.message.payload = append(r.message.payload, f.payload...)
		r.message.final = f.final
	} else {
		r.message = f
	}
	r.open = !f.final
	if len(r.message.payload) > MaxClientMessage {
		return nil, &violation{1009, "message larger than " + strconv.Itoa(MaxClientMessage) + " bytes"}
	}
	if r.open {
		return nil, nil
	}
	m := r.message
	r.message = clientFrame{}
	if m.compressed {
		plain, bad := inflate(m.payload)
		if bad != nil {
			return nil, bad
		}
		m.payload = plain
	}
	if m.opcode == opText && !utf8.Valid(m.payload) {
		return nil, &violation{1007, "text that is no UTF-8"}
	}
	return &m, nil
}

// judgeClose wants a close frame empty, or with a code that may stand on the wire and a reason in UTF-8.
func judgeClose(payload []byte) *violation {
	switch {
	case len(payload) == 0:
		return nil
	case len(payload) == 1:
		return &violation{1002, "close frame of one byte"}
	case !utf8.Valid(payload[2:]):
		return &violation{1007, "close reason that is no UTF-8"}
	}
	switch code := binary.BigEndian.Uint16(payload); {
	case code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006, code >= 3000 && code <= 4999:
		return nil
	}
	return &violation{1002, "close code that may not be sent"}
}
