package simulator

var reservedBitFault = Spec{
	Name:  "reserved-bit",
	Doc:   "sets a reserved bit in an event's first frame without an extension that gives it a meaning",
	At:    onMessage,
	Wires: onSocket,
	Params: []Param{
		{Name: "bit", Kind: "integer", Doc: "which one; 1 is the bit that compression uses, and is never agreed on here", Default: "1", Min: 1, Max: 3},
	},
	build: func(a args) any {
		bit := byte(0x80) >> a.int("bit")
		return reframe(func(f *framing) { f.reserved, f.plain = bit, true })
	},
}
