package simulator

var tornMessageFault = Spec{
	Name:  "torn-message",
	Doc:   "begins an event as a fragmented message, and sends it whole before that ended",
	At:    onMessage,
	Wires: onSocket,
	build: func(args) any { return reframe(func(f *framing) { f.torn, f.plain = true, true }) },
}
