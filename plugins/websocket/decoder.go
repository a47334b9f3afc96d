package websocket

import (
	"encoding/binary"
	"unicode/utf8"
)

// Decoder takes the bytes of a server apart into frames and messages (RFC 6455 5 and 8.1, RFC 7692). It is fed reads cut anywhere
// and gives the same frames for every way of cutting. What it holds is bounded by its limit: the message under way and, of a
// compressed one, what was inflated.
type Decoder struct {
	limit   int64
	inflate *inflater // nil: no compression was agreed

	chunk []byte // the read
	at    int    // index in chunk of what Next has not looked at yet
	base  int64  // offset in the stream of chunk[0]
	state decoderState

	head    [maxHead]byte // a frame head cut by the end of a read
	headLen int
	frames  uint64 // frames begun
	whole   uint64 // frames complete
	frameAt int64  // of the frame under way
	op      Opcode
	fin     bool
	rsv1    bool
	length  int64
	need    int64 // payload bytes of it that have not come

	open       bool // a fragmented message is under way
	text       bool
	compressed bool
	messageAt  int64
	message    []byte // what has come of it, unless it lies in the read
	utf8       utf8Check

	control    [maxControl]byte // payload of a control frame cut by the end of a read
	controlLen int
}

type decoderState uint8

const (
	inHead decoderState = iota
	inPayload
	closed // a close frame was handed out
	dead   // a violation was
)

// Deflate says whether permessage-deflate was agreed, and whether the server goes on with the window of its last message (RFC 7692
// 7.1.1.1).
type Deflate struct {
	On       bool
	Takeover bool
}

// NewDecoder makes a decoder for messages of at most limit bytes, 1 to CeilingMaxMessageBytes; 0 means DefaultMaxMessageBytes. Any
// other number is a programming mistake and panics: settings are checked before (Options).
func NewDecoder(limit int, deflate Deflate) *Decoder {
	if limit < 0 || limit > CeilingMaxMessageBytes {
		panic("websocket: decoder limit out of range")
	}
	if limit == 0 {
		limit = DefaultMaxMessageBytes
	}
	d := &Decoder{limit: int64(limit)}
	if deflate.On {
		d.inflate = &inflater{takeover: deflate.Takeover}
	}
	return d
}

// Feed hands over one read. The frames in it are then taken with Next; chunk must stay unchanged until Next says false, and is
// not kept after that. What Next has not looked at of an earlier read is lost, so take everything first.
func (d *Decoder) Feed(chunk []byte) {
	d.base = d.Offset()
	d.chunk, d.at = chunk, 0
}

// Offset is the number of bytes taken so far.
func (d *Decoder) Offset() int64 { return d.base + int64(d.at) }

// Frames counts the complete frames so far: each is a sign of life (D-36).
func (d *Decoder) Frames() uint64 { return d.whole }

// Max is the limit in force, in bytes.
func (d *Decoder) Max() int { return int(d.limit) }

// Unfinished is the number of bytes of a message or frame whose end has not come. At the end of a stream they are lost.
func (d *Decoder) Unfinished() int64 {
	switch {
	case d.state == closed || d.state == dead:
		return 0
	case d.open || d.state == inPayload && !d.op.control():
		return d.Offset() - d.messageAt
	case d.state == inPayload || d.headLen > 0:
		return d.Offset() - d.frameAt
	}
	return 0
}

// Next finds the next frame in what was fed; false means that another read is needed, or that nothing follows.
func (d *Decoder) Next() (f Frame, found bool) {
	switch d.state {
	case closed:
		if d.at == len(d.chunk) {
			return f, false
		}
		d.frames++
		d.frameAt = d.Offset()
		d.fail(DataAfterClose, d.frameAt, &f)
		return f, true
	case dead:
		return f, false
	case inHead:
		if d.at == len(d.chunk) {
			return f, false
		}
		ready, bad := d.takeHead()
		if bad != "" {
			d.fail(bad, d.frameAt, &f)
			return f, true
		}
		if !ready {
			return f, false
		}
	}
	rest := d.chunk[d.at:]
	if int64(len(rest)) > d.need {
		rest = rest[:d.need]
	}
	at := d.Offset()
	d.at += len(rest)
	d.need -= int64(len(rest))
	if d.op.control() {
		d.takeControl(rest, &f)
	} else {
		d.takeData(rest, at, &f)
	}
	if f.Kind == 0 {
		return f, false
	}
	return f, true
}

// complete fills in f for the frame that has come whole.
func (d *Decoder) complete(kind Kind, payload []byte, f *Frame) {
	f.Kind, f.Opcode, f.Fin, f.RSV1, f.Payload = kind, d.op, d.fin, d.rsv1, payload
	f.Number, f.At, f.MessageAt, f.Length = d.frames, d.frameAt, d.messageAt, d.length
	d.whole++
	d.state = inHead
}

// fail ends the stream: f says why, and what was gathered is let go.
func (d *Decoder) fail(v Violation, at int64, f *Frame) {
	*f = Frame{Kind: Invalid, Violation: v, Opcode: d.op, Fin: d.fin, RSV1: d.rsv1, Number: d.frames, At: at, MessageAt: d.messageAt, Length: d.length}
	*d = Decoder{limit: d.limit, state: dead, base: d.Offset(), frames: d.frames, whole: d.whole}
}

// takeData takes a part of a data frame's payload, whose first byte is at offset at.
func (d *Decoder) takeData(part []byte, at int64, f *Frame) {
	whole := d.need == 0
	if whole && d.fin && len(d.message) == 0 { // the message lies in this read: nothing is copied
		if d.text && !d.compressed && !utf8.Valid(part) {
			d.fail(InvalidUTF8, at+int64(firstInvalid(part)), f)
			return
		}
		d.endMessage(part, f)
		return
	}
	if d.text && !d.compressed {
		if bad, ok := d.utf8.feed(part, at); !ok {
			d.fail(InvalidUTF8, bad, f)
			return
		}
	}
	d.message = append(d.message, part...)
	switch {
	case !whole:
	case !d.fin:
		d.open = true
		d.complete(Fragment, nil, f)
	default:
		if bad, ok := d.utf8.end(); !ok && d.text && !d.compressed {
			d.fail(InvalidUTF8, bad, f)
			return
		}
		d.endMessage(d.message, f)
	}
}

// endMessage hands out a message whose last frame has come.
func (d *Decoder) endMessage(payload []byte, f *Frame) {
	if d.compressed {
		var bad Violation
		if payload, bad = d.inflate.message(payload, d.limit); bad == "" && d.text && !utf8.Valid(payload) {
			bad = InvalidUTF8
		}
		if bad != "" {
			d.fail(bad, d.frameAt, f)
			return
		}
	}
	kind := BinaryMessage
	if d.text {
		kind = TextMessage
	}
	d.open = false
	d.complete(kind, payload, f)
}

// takeControl takes a part of a control frame's payload.
func (d *Decoder) takeControl(part []byte, f *Frame) {
	if d.need > 0 || d.controlLen > 0 {
		d.controlLen += copy(d.control[d.controlLen:], part)
		if d.need > 0 {
			return
		}
		part = d.control[:d.controlLen]
		d.controlLen = 0
	}
	switch d.op {
	case OpPing:
		d.complete(PingFrame, part, f)
	case OpPong:
		d.complete(PongFrame, part, f)
	default:
		d.takeClose(part, f)
	}
}

func (d *Decoder) takeClose(payload []byte, f *Frame) {
	code := uint16(CodeNone)
	if len(payload) > 0 { // at least two bytes: the head was checked
		code, payload = binary.BigEndian.Uint16(payload), payload[2:]
		switch {
		case !mayClose(code):
			d.fail(InvalidCloseCode, d.frameAt, f)
			return
		case !utf8.Valid(payload):
			d.fail(InvalidUTF8InReason, d.frameAt, f)
			return
		}
	}
	d.complete(CloseFrame, payload, f)
	f.Code = code
	d.state = closed
	d.message, d.open = nil, false
}
