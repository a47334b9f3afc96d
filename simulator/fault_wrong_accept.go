package simulator

var wrongAcceptFault = Spec{
	Name:  "wrong-accept",
	Doc:   "answers the upgrade with a Sec-WebSocket-Accept that belongs to another key",
	At:    []string{"connection", "request"},
	Wires: onSocket,
	Params: []Param{
		{Name: "value", Kind: "text", Doc: "the value; empty leaves it out", Default: "AAAAAAAAAAAAAAAAAAAAAAAAAAA="},
	},
	build: func(a args) any { return reheader{"Sec-Websocket-Accept", a.text("value")} },
}
