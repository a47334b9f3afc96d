package simulator

var strayContinuationFault = Spec{
	Name:  "stray-continuation",
	Doc:   "sends a continuation frame where no message is open",
	At:    behindMessage,
	Wires: onSocket,
	build: func(args) any { return follow(appendFrame(nil, 0x80|opContinuation, false, []byte("x"))) },
}
