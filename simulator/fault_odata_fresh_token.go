package simulator

var freshTokenFault = Spec{
	Name:  "fresh-token",
	Doc:   "gives the same place out under another delta token, also where nothing changed; the server knows all of them, or only the last one",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "retires", Kind: "boolean", Doc: "the tokens that named the place before are expired", Default: "false"},
	},
	build: func(a args) any {
		retires := a.flag("retires")
		return pages(func(c *cycle) bool {
			if !c.track {
				return false
			}
			c.server.variants++
			c.variant = c.server.variants
			if retires {
				c.server.newest = newest{c.to, c.variant}
			}
			return true
		})
	},
}
