package simulator

var badOpcodeFault = Spec{
	Name:  "bad-opcode",
	Doc:   "sends an event under an opcode that has no meaning",
	At:    onMessage,
	Wires: onSocket,
	Params: []Param{
		{Name: "opcode", Kind: "integer", Doc: "3 to 7, or 11 to 15 for a control frame", Default: "3", Min: 3, Max: 15},
	},
	build: func(a args) any {
		opcode := byte(a.int("opcode"))
		return reframe(func(f *framing) { f.opcode = opcode })
	},
}
