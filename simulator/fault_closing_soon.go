package simulator

import "time"

var closingSoonFault = Spec{
	Name:  "closing-soon",
	Doc:   "announces a planned hand-over: the stream goes on, and the client is to open another one before it ends",
	At:    behindMessage,
	Wires: onSocket,
	Params: []Param{
		{Name: "as", Kind: "text", Doc: "a status frame, or a member of the connected frame", Default: "status", Values: []string{"status", "connected"}},
		{Name: "closeMs", Kind: "integer", Doc: "so long after it the close frame; 0 leaves the end to the client", Default: "0", Min: 0, Max: int64(MaxStall / time.Millisecond)},
		{Name: "code", Kind: "integer", Doc: "its code", Default: "1012", Min: 1000, Max: 4999},
	},
	build: func(a args) any {
		return &closingSoon{a.text("as") == "connected", a.ms("closeMs"), int(a.int("code"))}
	},
}

type closingSoon struct {
	connected bool
	after     time.Duration
	code      int
}

func (c *closingSoon) answer(a *answer) bool {
	if !c.connected || !a.connected {
		return false
	}
	a.closingSoon = true
	c.plan(a.stream)
	return true
}

func (c *closingSoon) send(d *dispatch) bool {
	if c.connected {
		return false
	}
	d.after = append(d.after, frame{block: closingSoonBlock()})
	c.plan(d.st)
	return true
}

func (c *closingSoon) idle(st *stream) bool {
	if c.connected {
		return false
	}
	st.block(closingSoonBlock())
	c.plan(st)
	return true
}

func (c *closingSoon) plan(st *stream) {
	if c.after > 0 {
		st.socket.closeAt, st.socket.closing = st.sim.now.Mono+c.after, c.code
	}
}

func closingSoonBlock() Block {
	return Block{Event: "status", Data: []byte(`{"type":"status","status":"reconnecting","reason":"closing-soon","closingSoon":true}`)}
}
