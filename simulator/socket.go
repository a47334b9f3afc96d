package simulator

import (
	"time"
)

// socket is what a stream knows of the client's side of its WebSocket.
type socket struct {
	client   clientReader
	deaf     bool    // nothing more that the client says counts
	begin    *answer // the stream begins with the client's first message
	answers  int     // pings that are still answered, -1 for all
	pong     []byte
	owesPong bool
	said     bool          // a close frame was sent
	closeBy  time.Duration // the client's answer to it is waited for until then
	closeAt  time.Duration // a close frame is due, 0 for none
	closing  int           // its code
}

// farewells are the close codes of ends that the server means. Any other one is 1001: it goes away, and may be come back to.
var farewells = map[string]struct {
	code   int
	reason string
}{
	"snapshot only":       {1000, ""},
	"authorization-ended": {1008, "authorization-ended"},
	"history lost":        {1011, ""},
	"restart":             {1012, ""},
	"cursor-expired":      {1011, ""},
	"resume-unsupported":  {1011, ""},
}

// farewell sends the close frame that a clean end has on this wire; false where it has none.
func (st *stream) farewell(why string) bool {
	if st.socket == nil || st.mute || why == "cut" {
		return false
	}
	f := farewells[why]
	if f.code == 0 {
		f.code = 1001
	}
	st.goodbye(f.code, f.reason, why)
	return true
}

// goodbye sends a close frame behind everything that was composed, and waits for the client's. A mute stream cannot, and ends.
func (st *stream) goodbye(code int, reason, why string) {
	if st.socket.said || st.ending != "" {
		return
	}
	st.why = why
	st.live = false
	st.socket.begin = nil
	if st.mute {
		st.queue, st.queued, st.ending = nil, 0, EOF
		return
	}
	st.push(frame{bytes: appendControl(nil, opClose, closePayload(code, reason))})
	st.socket.said = true
	st.socket.closeBy = st.sim.now.Mono + st.sim.opt.CloseWait
}

// converse does what is due on the client's account: a pong, a close frame whose time has come, the end of waiting for an answer
// to one.
func (st *stream) converse() {
	k, now := st.socket, st.sim.now.Mono
	if k == nil || st.over {
		return
	}
	if k.owesPong && !st.mute && !k.said && st.ending == "" && st.waiting()+st.queued < st.sim.opt.QueueBytes {
		k.owesPong = false
		st.push(frame{bytes: appendControl(nil, opPong, k.pong)})
	}
	if k.closeAt != 0 && now >= k.closeAt {
		k.closeAt = 0
		st.goodbye(k.closing, "", "closing soon")
	}
	if k.said && st.ending == "" && now >= k.closeBy {
		st.home.close(st, Cut, "close not answered", true)
	}
}

// socketDeadline tells due what the socket waits for.
func (st *stream) socketDeadline(due func(time.Duration)) {
	k := st.socket
	if k == nil {
		return
	}
	if k.closeAt != 0 && st.ending == "" && !k.said {
		due(k.closeAt)
	}
	if k.said && st.ending == "" {
		due(k.closeBy)
	}
}
