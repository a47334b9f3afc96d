package simulator

import "bytes"

var bigPingFault = Spec{
	Name:  "big-ping",
	Doc:   "sends a ping that is larger than a control frame may be, or is a fragment",
	At:    behindMessage,
	Wires: onSocket,
	Params: []Param{
		{Name: "bytes", Kind: "integer", Doc: "of its payload; 125 are allowed", Default: "126", Min: 0, Max: 65536},
		{Name: "final", Kind: "boolean", Doc: "false makes it a fragment, which no control frame may be", Default: "true"},
	},
	build: func(a args) any {
		first := byte(opPing)
		if a.flag("final") {
			first |= 0x80
		}
		return follow(appendFrame(nil, first, false, bytes.Repeat([]byte("p"), int(a.int("bytes")))))
	},
}
