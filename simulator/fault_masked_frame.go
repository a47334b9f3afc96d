package simulator

var maskedFrameFault = Spec{
	Name:  "masked-frame",
	Doc:   "masks the frames of an event, which a server never may",
	At:    onMessage,
	Wires: onSocket,
	build: func(args) any { return reframe(func(f *framing) { f.masked = true }) },
}
