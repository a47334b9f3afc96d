package simulator

var noLinksFault = Spec{
	Name:  "no-links",
	Doc:   "ends the last page without a delta link: the changes cannot be followed",
	At:    onRound,
	Wires: onOData,
	build: func(args) any {
		return pages(func(c *cycle) bool {
			c.noLinks = true
			return c.track
		})
	},
}
