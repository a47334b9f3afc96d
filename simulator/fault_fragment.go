package simulator

var fragmentFault = Spec{
	Name:  "fragment",
	Doc:   "cuts an event into fragments that know nothing of characters; no violation",
	At:    onMessage,
	Wires: onSocket,
	Params: []Param{
		{Name: "count", Kind: "integer", Doc: "fragments", Default: "2", Min: 2, Max: 10000},
		{Name: "ping", Kind: "boolean", Doc: "a ping behind the first one", Default: "true"},
	},
	build: func(a args) any {
		n, ping := int(a.int("count")), a.flag("ping")
		return reframe(func(f *framing) { f.fragments, f.between = n, ping })
	},
}
