package simulator

var closeFault = Spec{
	Name:  "close",
	Doc:   "ends the connection with a close frame, or without one; behind an event, or as soon as there is nothing left to send",
	At:    behindMessage,
	Wires: onSocket,
	Params: []Param{
		{Name: "code", Kind: "integer", Doc: "close code; 0 sends none, which a client calls 1005", Default: "1001", Min: 0, Max: 65535},
		{Name: "reason", Kind: "text", Doc: "close reason"},
		{Name: "wasClean", Kind: "boolean", Doc: "false cuts the connection without a close frame, which a client calls 1006", Default: "true"},
	},
	build: func(a args) any { return &closing{int(a.int("code")), a.text("reason"), a.flag("wasClean")} },
}

type closing struct {
	code   int
	reason string
	clean  bool
}

func (c *closing) send(d *dispatch) bool {
	d.then = c.close
	return true
}

func (c *closing) idle(st *stream) bool {
	c.close(st)
	return true
}

func (c *closing) close(st *stream) {
	if !c.clean {
		st.end(Cut, "close")
		return
	}
	st.goodbye(c.code, c.reason, "close")
}
