package simulator

var noSequenceFault = Spec{
	Name:  "no-sequence",
	Doc:   "leaves out the sequence on every page",
	At:    onRound,
	Wires: onOData,
	build: func(args) any {
		return pages(func(c *cycle) bool {
			c.bare = true
			return true
		})
	},
}
