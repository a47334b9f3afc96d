package simulator

var wrongUpgradeFault = Spec{
	Name:  "wrong-upgrade",
	Doc:   "answers 101 with a header that is none of an upgrade to WebSocket",
	At:    []string{"connection", "request"},
	Wires: onSocket,
	Params: []Param{
		{Name: "header", Kind: "text", Doc: "which one is wrong", Default: "Upgrade", Values: []string{"Upgrade", "Connection"}},
		{Name: "value", Kind: "text", Doc: "its value; empty leaves it out"},
	},
	build: func(a args) any { return reheader{a.text("header"), a.text("value")} },
}
