package simulator

var rawFault = Spec{
	Name:  "raw",
	Doc:   "writes bytes as they stand here, behind an event or on an idle stream",
	At:    behindMessage,
	Wires: onSocket,
	Params: []Param{
		{Name: "hex", Kind: "hex", Doc: "the bytes; the default is an empty text frame", Default: "8100"},
	},
	build: func(a args) any { return follow(a.hex("hex")) },
}
