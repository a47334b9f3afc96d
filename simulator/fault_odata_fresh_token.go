package simulator

var freshTokenFault = Spec{
	Name:  "fresh-token",
	Doc:   "gives the same place out under another delta token, also where nothing changed; the server knows all of them",
	At:    onRound,
	Wires: onOData,
	build: func(args) any {
		return pages(func(c *cycle) bool {
			if !c.track {
				return false
			}
			c.server.variants++
			c.variant = c.server.variants
			return true
		})
	},
}
