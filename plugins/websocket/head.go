package websocket

import "encoding/binary"

// takeHead takes the head of a frame; ready says that it is complete. A head that a read cuts is gathered, and looked at again
// with every byte: a violation is found as early as it can be, and is the same one however the head was cut.
func (d *Decoder) takeHead() (ready bool, bad Violation) {
	b := d.chunk[d.at:]
	if d.headLen == 0 {
		d.frameAt = d.Offset()
		d.frames++
		d.length = 0
		if !d.open && cap(d.message) > keepBytes {
			d.message = nil // was handed out by the last call
			d.inflate.release()
		}
		size, bad := d.readHead(b)
		switch {
		case bad != "":
			return false, bad
		case size > 0:
			d.at += size
			return true, d.begin()
		}
		d.headLen = copy(d.head[:], b)
		d.at = len(d.chunk)
		return false, ""
	}
	for len(b) > 0 {
		d.head[d.headLen] = b[0]
		d.headLen++
		d.at++
		b = b[1:]
		size, bad := d.readHead(d.head[:d.headLen])
		switch {
		case bad != "":
			return false, bad
		case size > 0:
			d.headLen = 0
			return true, d.begin()
		}
	}
	return false, ""
}

// readHead reads a head from the front of b; size is 0 if its end has not come. b is not empty.
func (d *Decoder) readHead(b []byte) (size int, bad Violation) {
	first := b[0]
	d.op, d.fin, d.rsv1 = Opcode(first&0x0F), first&finBit != 0, first&rsv1Bit != 0
	switch {
	case first&rsvOther != 0, d.rsv1 && (d.inflate == nil || d.op != OpText && d.op != OpBinary):
		return 0, ReservedBits
	case !d.op.known():
		return 0, UnknownOpcode
	case d.op.control() && !d.fin:
		return 0, FragmentedControl
	case d.op == OpContinuation && !d.open:
		return 0, ContinuationWithoutStart
	case (d.op == OpText || d.op == OpBinary) && d.open:
		return 0, FragmentInterrupted
	case len(b) < 2:
		return 0, ""
	}
	short := b[1] &^ maskBit
	d.length, size = int64(short), 2
	switch {
	case b[1]&maskBit != 0:
		return 0, MaskedFrame
	case d.op.control() && short > maxControl:
		return 0, ControlTooLong
	case d.op == OpClose && short == 1:
		return 0, ClosePayloadOneByte
	case short == len16:
		if size = 4; len(b) < size {
			return 0, ""
		}
		if d.length = int64(binary.BigEndian.Uint16(b[2:])); d.length < len16 {
			return 0, NonMinimalLength
		}
	case short == len64:
		if len(b) > 2 && b[2]&0x80 != 0 {
			return 0, LengthHighBit
		}
		if size = 10; len(b) < size {
			return 0, ""
		}
		if d.length = int64(binary.BigEndian.Uint64(b[2:])); d.length <= 0xFFFF {
			return 0, NonMinimalLength
		}
	}
	return size, ""
}

// begin starts the payload of the frame whose head has come. A message above the limit is refused here, before any of the frame's
// bytes are held.
func (d *Decoder) begin() (bad Violation) {
	d.need, d.state = d.length, inPayload
	if d.op.control() {
		return ""
	}
	if d.op != OpContinuation {
		d.text, d.compressed = d.op == OpText, d.rsv1
		d.messageAt = d.frameAt
		d.message = shrink(d.message)
		d.utf8.n = 0
	}
	if d.length > d.limit-int64(len(d.message)) {
		return MessageTooLarge
	}
	return ""
}
