package simulator

var cutFault = Spec{
	Name: "cut",
	Doc: "ends the connection: behind an event when everything before it is written, at a byte of the body, or without a trigger " +
		"as soon as there is nothing left to write",
	At: []string{"connection", "request", "sequence", "event", "byte", "ms"},
	Params: []Param{{Name: "as", Kind: "text", Doc: "inside the body, as a clean end, or by a reset",
		Default: "cut", Values: []string{"cut", "eof", "reset"}}},
	build: func(a args) any { return &cut{a.at.Byte, CloseKind(a.text("as"))} },
}

type cut struct {
	at   int64 // byte of the body, 0 for the other triggers
	kind CloseKind
}

// answer arms the cut at a byte. It strikes when the byte was sent.
func (c *cut) answer(a *answer) bool {
	if c.at > 0 && a.stream.cut == nil {
		a.stream.cut, a.stream.cutBy = c, a.by
	}
	return false
}

func (c *cut) send(d *dispatch) bool {
	d.end = c
	return true
}

func (c *cut) idle(st *stream) bool {
	st.end(c.kind, "cut")
	return true
}
