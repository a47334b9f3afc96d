package simulator

var linkFormFault = Spec{
	Name:  "link-form",
	Doc:   "writes the links in another legal way; what is made of the origin that the client called waits until the simulator knows it",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "as", Kind: "text", Doc: "with scheme and host; the same in capitals; with the scheme's own port; relative to the service; the query alone",
			Default: "absolute", Values: []string{"absolute", "upper", "default-port", "relative", "query"}},
	},
	build: func(a args) any {
		form := a.text("as")
		return pages(func(c *cycle) bool {
			if c.origin == "" && !has([]string{"relative", "query"}, form) {
				return false
			}
			c.form = form
			return true
		})
	},
}
