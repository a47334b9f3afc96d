package simulator

var wrongExtensionFault = Spec{
	Name:  "wrong-extension",
	Doc:   "answers the upgrade with an extension that nobody asked for; frames are as before",
	At:    []string{"connection", "request"},
	Wires: onSocket,
	Params: []Param{
		{Name: "value", Kind: "text", Doc: "the extension", Default: "x-unknown"},
	},
	build: func(a args) any { return reheader{"Sec-Websocket-Extensions", a.text("value")} },
}
