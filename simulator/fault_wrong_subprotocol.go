package simulator

var wrongSubprotocolFault = Spec{
	Name:  "wrong-subprotocol",
	Doc:   "answers the upgrade with a subprotocol that nobody asked for, or with none",
	At:    []string{"connection", "request"},
	Wires: onSocket,
	Params: []Param{
		{Name: "value", Kind: "text", Doc: "the subprotocol; empty leaves it out", Default: "other.v1"},
	},
	build: func(a args) any { return reheader{"Sec-Websocket-Protocol", a.text("value")} },
}
