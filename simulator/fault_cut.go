package simulator

var cutFault = Spec{
	Name: "cut",
	Doc: "ends the connection: behind an event when everything before it is written, at a byte of the body, or without a trigger " +
		"as soon as there is nothing left to write",
	At: []string{"connection", "request", "sequence", "event", "byte", "ms"},
	Params: []Param{
		{Name: "as", Kind: "text", Doc: "inside the body, as a clean end, or by a reset", Default: "cut", Values: []string{"cut", "eof", "reset"}},
		{Name: "keep", Kind: "integer", Doc: "with sequence or event: bytes of the event that still go out; left out, all of it",
			Default: "-1", Min: 0, Max: MaxOversize},
	},
	build: func(a args) any { return &cut{a.at.Byte, CloseKind(a.text("as")), a.int("keep")} },
}

type cut struct {
	at   int64 // byte of the body, 0 for the other triggers
	kind CloseKind
	keep int64 // bytes of the event, -1 for all
}

// answer arms the cut at a byte. It strikes when the byte was sent.
func (c *cut) answer(a *answer) bool {
	if c.at > 0 && a.stream.cut == nil {
		a.stream.cut, a.stream.cutBy = c, a.by
	}
	if a.odata != nil && c.at == 0 && c.keep < 0 && a.status == 200 && a.rejected == "" {
		a.stream.cutAs = c.kind
		return true
	}
	return false
}

// send ends the connection behind the event, or arms the cut at a byte of it.
func (c *cut) send(d *dispatch) bool {
	if c.keep < 0 {
		d.end = c
		return true
	}
	if d.st.cut == nil {
		d.st.cut, d.st.cutBy = &cut{at: max(d.st.body+d.st.queued+c.keep, 1), kind: c.kind}, d.by
	}
	return false
}

func (c *cut) idle(st *stream) bool {
	st.end(c.kind, "cut")
	return true
}
