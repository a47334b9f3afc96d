package simulator

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// serverFrame is one frame as a reader that checks nothing sees it.
type serverFrame struct {
	first   byte
	masked  bool
	payload []byte
}

// readFrames takes whole frames off b.
func readFrames(b []byte) (frames []serverFrame, rest []byte) {
	for len(b) >= 2 {
		f := serverFrame{first: b[0], masked: b[1]&0x80 != 0}
		n, at := int(b[1]&0x7f), 2
		switch {
		case n == 126 && len(b) >= 4:
			n, at = int(binary.BigEndian.Uint16(b[2:])), 4
		case n == 127 && len(b) >= 10:
			n, at = int(binary.BigEndian.Uint64(b[2:])), 10
		case n >= 126:
			return frames, b
		}
		var key [4]byte
		if f.masked && len(b) >= at+4 {
			copy(key[:], b[at:])
			at += 4
		}
		if len(b) < at+n {
			return frames, b
		}
		f.payload = append([]byte(nil), b[at:at+n]...)
		for i := range f.payload {
			f.payload[i] ^= key[i%4]
		}
		frames, b = append(frames, f), b[at+n:]
	}
	return frames, b
}

var opcodeNames = map[byte]string{0: "continuation", 1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong"}

func (f serverFrame) opcode() byte { return f.first & 0x0f }

func (f serverFrame) String() string {
	name := opcodeNames[f.opcode()]
	if name == "" {
		name = fmt.Sprintf("opcode-%d", f.opcode())
	}
	if f.first&0x80 == 0 {
		name += " unfinished"
	}
	if bits := f.first >> 4 & 7; bits != 0 {
		name += fmt.Sprintf(" reserved=%03b", bits)
	}
	if f.masked {
		name += " masked"
	}
	if f.opcode() == opClose && len(f.payload) >= 2 {
		return strings.TrimSuffix(fmt.Sprintf("%s %d %s", name, binary.BigEndian.Uint16(f.payload), f.payload[2:]), " ")
	}
	text := strconv.Quote(string(f.payload))
	text = strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
	if len(text) > 400 {
		text = fmt.Sprintf("%s...(%d bytes)", text[:60], len(f.payload))
	}
	return name + " " + text
}

// clientBytes writes a frame as a client does.
func clientBytes(first byte, payload []byte) []byte {
	key := [4]byte{1, 2, 3, 4}
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(b, key[:]...)
	for i, c := range payload {
		b = append(b, c^key[i%4])
	}
	return b
}

// said reads one line of a script: text X, ping X, pong X, close [code [reason]], binary X, raw HEX.
func said(line string) ([]byte, error) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "raw":
		return hex.DecodeString(rest)
	case "close":
		code, reason, _ := strings.Cut(rest, " ")
		n, _ := strconv.Atoi(code)
		return clientBytes(0x88, closePayload(n, reason)), nil
	}
	for op, name := range opcodeNames {
		if name == word {
			return clientBytes(0x80|op, []byte(rest)), nil
		}
	}
	return nil, fmt.Errorf("unknown word %q", word)
}

const rigKey = "dGhlIHNhbXBsZSBub25jZQ==" // of RFC 6455 1.3

// dial opens a WebSocket; header changes what a well-behaved client sends, an empty value leaves it out.
func (r *rig) dial(target string, header map[string]string) Conn {
	r.conns++
	h := Header{"Upgrade": {"websocket"}, "Connection": {"keep-alive, Upgrade"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {rigKey}}
	if r.credential != "" {
		h["Authorization"] = []string{r.credential}
	}
	for name, value := range header {
		if delete(h, name); value != "" {
			h[name] = []string{value}
		}
	}
	if r.sockets == nil {
		r.sockets = map[Conn][]byte{}
	}
	r.sockets[r.conns] = nil
	r.sim.Request(r.clock(), r.conns, Request{Method: "GET", Target: target, Header: h})
	r.drain()
	return r.conns
}

func (r *rig) say(c Conn, b []byte) {
	r.sim.Received(r.clock(), c, b)
	r.drain()
}

// frames writes what connection c got since the last whole frame, frame by frame; false if it is no upgraded one.
func (r *rig) frames(c Conn, b []byte) bool {
	part, ok := r.sockets[c]
	if !ok || r.head[c] == nil || r.head[c].Status != 101 {
		return false
	}
	frames, rest := readFrames(append(part, b...))
	for _, f := range frames {
		fmt.Fprintf(&r.log, "%d frame %s\n", c, f)
	}
	if len(rest) > 0 && len(rest) < 40 {
		fmt.Fprintf(&r.log, "%d part  %x\n", c, rest)
	}
	r.sockets[c] = rest
	return true
}

// messages are the text messages that c got, fragments put together.
func (r *rig) messages(c Conn) []string {
	frames, _ := readFrames(r.body[c].Bytes())
	var out []string
	open := false
	for _, f := range frames {
		switch {
		case f.opcode() >= 8:
		case f.opcode() == opContinuation && open:
			out[len(out)-1] += string(f.payload)
			open = f.first&0x80 == 0
		default:
			out = append(out, string(f.payload))
			open = f.first&0x80 == 0
		}
	}
	return out
}

// asEvents are the messages of c as a reader of SSE would see them. It answers a close frame, as a client does.
func (r *rig) asEvents(c Conn) []sseEvent {
	var out []sseEvent
	if r.body[c] == nil || r.head[c].Status != 101 {
		return nil
	}
	for _, m := range r.messages(c) {
		var d struct{ Cursor string }
		_ = json.Unmarshal([]byte(m), &d) // what is none has no cursor
		out = append(out, sseEvent{id: d.Cursor, data: m})
	}
	frames, _ := readFrames(r.body[c].Bytes())
	if _, over := r.closed[c]; !over && len(frames) > 0 && frames[len(frames)-1].opcode() == opClose {
		r.say(c, clientBytes(0x88, frames[len(frames)-1].payload))
	}
	return out
}
