package simulator

import "encoding/hex"

// What the faults in WebSocket frames share (RFC 6455).

// onMessage are the triggers of a fault in the frames of one event; behindMessage of one that puts something behind an event, or on
// an idle stream.
var (
	onSocket      = []string{WebSocket}
	onMessage     = []string{"connection", "request", "sequence", "event"}
	behindMessage = []string{"connection", "request", "sequence", "event", "ms"}
)

// reframe changes how one event is framed.
type reframe func(*framing)

func (r reframe) send(d *dispatch) bool {
	r(&d.as)
	return true
}

// follow is bytes that stand behind an event, or on an idle stream.
type follow []byte

func (b follow) send(d *dispatch) bool {
	d.after = append(d.after, frame{bytes: b})
	return true
}

func (b follow) idle(st *stream) bool {
	st.push(frame{bytes: b})
	return true
}

// reheader sets a header of the answer to an upgrade; an empty value leaves it out.
type reheader struct{ name, value string }

func (h reheader) answer(a *answer) bool {
	if a.status != 200 {
		return false
	}
	if delete(a.header, h.name); h.value != "" {
		a.header[h.name] = []string{h.value}
	}
	return true
}

func (a args) hex(name string) []byte {
	b, _ := hex.DecodeString(a.text(name)) // checked
	return b
}
