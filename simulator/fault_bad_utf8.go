package simulator

var badUTF8Fault = Spec{
	Name:  "bad-utf8",
	Doc:   "puts bytes that are no UTF-8 into an event, in a member of their own",
	At:    onMessage,
	Wires: onSocket,
	Params: []Param{
		{Name: "hex", Kind: "hex", Doc: "the bytes; the default holds a lone surrogate", Default: "cebaeda080"},
	},
	build: func(a args) any {
		bytes := a.hex("hex")
		return reframe(func(f *framing) { f.invalid = bytes })
	},
}
