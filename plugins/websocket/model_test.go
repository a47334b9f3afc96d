package websocket

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// model is a second decoder, slow and written apart from the first: it looks at all bytes that have come as often as it likes. It
// knows no compression.
type model struct {
	all   []byte
	limit int
	out   strings.Builder
	i     int // of the frame under way
	n     int // its number

	open, text bool
	parts      []byte // of the message under way
	offsets    []int  // offset in all of each of them
}

// modelTranscript is what the model makes of all, in the words of testdata/frames.txt.
func modelTranscript(all []byte, limit int) string {
	m := &model{all: all, limit: limit}
	for m.i < len(all) {
		m.n++
		if !m.frame() {
			break
		}
	}
	return m.out.String()
}

func (m *model) bad(name string, at, code int) bool {
	fmt.Fprintf(&m.out, "violation %s frame %d at %d close %d\n", name, m.n, at, code)
	return false
}

// frame reads one frame; false means that nothing follows, or that its end has not come.
func (m *model) frame() bool {
	b := m.all[m.i:]
	fin, rsv, op := b[0]>>7 == 1, b[0]>>4&7, int(b[0]&15)
	control := op >= 8
	switch {
	case rsv != 0:
		return m.bad("reserved-bits", m.i, 1002)
	case op >= 3 && op <= 7 || op >= 11:
		return m.bad("unknown-opcode", m.i, 1002)
	case control && !fin:
		return m.bad("fragmented-control", m.i, 1002)
	case op == 0 && !m.open:
		return m.bad("continuation-without-start", m.i, 1002)
	case !control && op != 0 && m.open:
		return m.bad("fragment-interrupted", m.i, 1002)
	case len(b) == 1:
		return false
	}
	length, head := uint64(b[1]&127), 2
	switch {
	case b[1]>>7 == 1:
		return m.bad("masked-frame", m.i, 1002)
	case control && length > 125:
		return m.bad("control-too-long", m.i, 1002)
	case op == 8 && length == 1:
		return m.bad("close-payload-one-byte", m.i, 1002)
	case length == 126:
		if head = 4; len(b) < head {
			return false
		}
		if length = uint64(binary.BigEndian.Uint16(b[2:4])); length < 126 {
			return m.bad("non-minimal-length", m.i, 1002)
		}
	case length == 127:
		if len(b) > 2 && b[2] >= 128 {
			return m.bad("length-high-bit", m.i, 1002)
		}
		if head = 10; len(b) < head {
			return false
		}
		if length = binary.BigEndian.Uint64(b[2:10]); length < 65536 {
			return m.bad("non-minimal-length", m.i, 1002)
		}
	}
	if !control && length+uint64(len(m.parts)) > uint64(m.limit) {
		return m.bad("message-too-large", m.i, 1009)
	}
	payload := b[head:]
	whole := uint64(len(payload)) >= length
	if whole {
		payload = payload[:length]
	}
	from := m.i + head
	if whole {
		m.i = from + int(length)
	}
	if control {
		return whole && m.control(op, payload, from-head)
	}
	if op != 0 {
		m.text = op == 1
	}
	m.parts = append(m.parts, payload...)
	for k := range payload {
		m.offsets = append(m.offsets, from+k)
	}
	return m.data(fin, whole)
}

// data judges the message that a frame belongs to, as far as it has come.
func (m *model) data(fin, whole bool) bool {
	if at, cut := notUTF8(m.parts); m.text && at >= 0 && (!cut || fin && whole) {
		return m.bad("invalid-utf8", m.offsets[at], 1007)
	}
	switch {
	case !whole:
		return false
	case !fin:
		m.open = true
		m.out.WriteString("fragment\n")
		return true
	case m.text:
		fmt.Fprintf(&m.out, "text %q\n", m.parts)
	default:
		fmt.Fprintf(&m.out, "binary %x\n", m.parts)
	}
	m.open, m.parts, m.offsets = false, nil, nil
	return true
}

func (m *model) control(op int, payload []byte, at int) bool {
	switch op {
	case 9, 10:
		fmt.Fprintf(&m.out, "%s %q\n", [...]string{"ping", "pong"}[op-9], payload)
		return true
	}
	code, reason := 1005, payload
	if len(payload) > 0 {
		code, reason = int(payload[0])<<8+int(payload[1]), payload[2:]
		switch {
		case code < 1000, code >= 1004 && code <= 1006, code >= 1015 && code < 3000, code >= 5000:
			return m.bad("invalid-close-code", at, 1002)
		}
		if i, _ := notUTF8(reason); i >= 0 {
			return m.bad("invalid-utf8-in-close-reason", at, 1007)
		}
	}
	fmt.Fprintf(&m.out, "close %d %q\n", code, reason)
	if m.i < len(m.all) {
		m.n++
		return m.bad("data-after-close", m.i, 1002)
	}
	return false
}

// notUTF8 finds the first byte that begins no character, -1 if there is none; cut says that only the end of b is missing of it
// (Unicode 3.9, table 3-7, byte by byte).
func notUTF8(b []byte) (at int, cut bool) {
	for i := 0; i < len(b); {
		more, low, high := 0, byte(0x80), byte(0xBF)
		switch c := b[i]; {
		case c < 0x80:
		case c >= 0xC2 && c <= 0xDF:
			more = 1
		case c >= 0xE0 && c <= 0xEF:
			more = 2
			if c == 0xE0 {
				low = 0xA0
			}
			if c == 0xED {
				high = 0x9F
			}
		case c >= 0xF0 && c <= 0xF4:
			more = 3
			if c == 0xF0 {
				low = 0x90
			}
			if c == 0xF4 {
				high = 0x8F
			}
		default:
			return i, false
		}
		for k := 1; k <= more; k++ {
			if i+k == len(b) {
				return i, true
			}
			if c := b[i+k]; c < low || c > high {
				return i, false
			}
			low, high = 0x80, 0xBF
		}
		i += 1 + more
	}
	return -1, false
}
