package simulator

var bothLinksFault = Spec{
	Name:  "both-links",
	Doc:   "has a delta link beside the next link on the first page; a page that was the only one is followed by an empty one",
	At:    onRound,
	Wires: onOData,
	build: func(args) any {
		return pages(func(c *cycle) bool {
			if !c.track {
				return false
			}
			c.both = true
			c.further()
			return true
		})
	},
}
