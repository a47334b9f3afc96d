package simulator

import (
	"encoding/binary"
	"strconv"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// websocket is the server of the WebSocket wire (docs/wire.md, RFC 6455): the feed's JSON documents as text messages.
type websocket struct{ table }

// request answers the request for an upgrade: the honest answer first, then what the schedule makes of it.
func (w *websocket) request(c Conn, n uint32, r Request) {
	req, no := w.readRequest(r, "")
	var shake handshake
	if no == nil {
		shake, no = w.sim.opt.shake(r.Header)
	}
	code := &socketCoder{}
	w.sim.asked(&req)
	a := w.honest(&req, n, code)
	if no == nil {
		a.header["Upgrade"], a.header["Connection"] = []string{"websocket"}, []string{"Upgrade"}
		a.header["Sec-Websocket-Accept"] = []string{shake.accept}
		if shake.subprotocol != "" {
			a.header["Sec-Websocket-Protocol"] = []string{shake.subprotocol}
		}
		if shake.extension != "" {
			a.header["Sec-Websocket-Extensions"] = []string{shake.extension}
			code.deflate = &deflater{keep: shake.keep}
		}
	}
	a.stream.socket = &socket{client: clientReader{deflate: code.deflate != nil}, answers: -1}
	struck := w.admit(a, no)
	upgraded := a.status == 200 && a.body == nil
	if upgraded {
		a.status = 101
	}
	w.enter(c, a, struck)
	switch {
	case a.status == 0:
		a.stream.socket = nil
		return
	case upgraded:
		w.upgrade(a)
	default:
		a.stream.socket = nil
		if no == nil { // a fault, or a credential that does not count
			for _, name := range upgradeHeaders {
				delete(a.header, name)
			}
		}
		a.stream.page(a)
	}
	w.sim.out = append(w.sim.out, Output{Conn: c, Head: &Head{a.status, a.header}})
}

var upgradeHeaders = []string{"Upgrade", "Connection", "Sec-Websocket-Accept", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions"}

// upgrade begins the stream, or has it wait for the client's subscribe message.
func (w *websocket) upgrade(a *answer) {
	st := a.stream
	if w.sim.opt.Subscribe == "first" {
		st.live = false
		st.socket.begin = a
		return
	}
	st.begin(a)
}

// received reads what the client sent behind the upgrade.
func (w *websocket) received(c Conn, b []byte) {
	st := w.find(c)
	if st == nil || st.socket == nil || st.socket.deaf {
		return
	}
	bad := st.socket.client.feed(b, func(f clientFrame) bool {
		w.frame(st, f)
		return !st.over && !st.socket.deaf
	})
	if bad != nil && !st.over {
		w.heard(st, "violation", bad.what)
		st.socket.deaf = true
		st.goodbye(bad.code, bad.what, "violation")
		if st.ending == "" {
			st.ending = EOF // nothing that such a client says counts, its close frame neither
		}
	}
}

// frame acts on one whole frame or message of the client.
func (w *websocket) frame(st *stream, f clientFrame) {
	k := st.socket
	switch f.opcode {
	case opPing:
		w.heard(st, "ping", "")
		if k.answers != 0 {
			k.pong, k.owesPong = f.payload, true // only the newest one needs an answer (5.5.3)
		}
		if k.answers > 0 {
			k.answers--
		}
	case opPong:
		w.heard(st, "pong", "")
	case opClose:
		code := 1005
		if len(f.payload) > 0 {
			code = int(binary.BigEndian.Uint16(f.payload))
		}
		w.heard(st, "close", strconv.Itoa(code))
		k.deaf = true
		w.answerClose(st, f.payload)
	default:
		w.heard(st, map[byte]string{opText: "text", opBinary: "binary"}[f.opcode], strconv.Itoa(len(f.payload))+" bytes")
		if a := k.begin; a != nil && f.opcode == opText {
			k.begin, st.live = nil, true
			st.begin(a)
		}
	}
}

// answerClose ends a connection that the client closes. What it was not sent yet it never gets: it said that it wants no more.
func (w *websocket) answerClose(st *stream, payload []byte) {
	if st.socket.said {
		st.ending = EOF
		return
	}
	st.queue, st.queued = nil, 0
	if !st.mute && !st.torn { // half a frame stands before it otherwise
		w.sim.out = append(w.sim.out, Output{Conn: st.conn, Bytes: appendControl(nil, opClose, payload[:min(len(payload), 2)])})
	}
	w.close(st, EOF, "client closed", false)
}

// heard records what the client said.
func (w *websocket) heard(st *stream, what, detail string) {
	w.record(trace.Record{Kind: trace.ServerReceived, Epoch: st.n, Seq: event.NoSeq, Status: what, Detail: detail})
}

// socketCoder writes text messages.
type socketCoder struct{ deflate *deflater }

// code writes a block's data as a message, a comment as a ping, and a retry hint not at all.
func (c *socketCoder) code(f *frame) []byte {
	if f.block.Data == nil {
		if f.block.Comment == "" {
			return nil
		}
		return appendControl(nil, opPing, []byte(f.block.Comment))
	}
	payload := f.block.Data
	if f.as.invalid != nil {
		payload = withInvalid(payload, f.as.invalid)
	}
	if c.deflate == nil || f.as.plain {
		return appendMessage(nil, f.as, payload, false)
	}
	return appendMessage(nil, f.as, c.deflate.message(payload), true)
}

func (c *socketCoder) cursorIn() string { return "json" }

func (c *socketCoder) insert(text []byte) frame { return frame{block: Block{Data: text}} }
