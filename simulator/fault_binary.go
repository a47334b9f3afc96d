package simulator

var binaryFault = Spec{
	Name:  "binary",
	Doc:   "sends an event as a binary message",
	At:    onMessage,
	Wires: onSocket,
	build: func(args) any { return reframe(func(f *framing) { f.opcode = opBinary }) },
}
