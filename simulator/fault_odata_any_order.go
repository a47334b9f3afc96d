package simulator

var anyOrderFault = Spec{
	Name: "any-order",
	Doc: "writes members in another legal order: the links and entries of a page before the rest, and what says that a row is gone behind " +
		"its other members",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "of", Kind: "text", Doc: "what", Default: "both", Values: []string{"both", "page", "entries"}},
	},
	build: func(a args) any {
		of := a.text("of")
		return pages(func(c *cycle) bool {
			if of == "entries" && c.first(isGone) < 0 {
				return false
			}
			c.reversed = orders{page: of != "entries", entries: of != "page"}
			return true
		})
	},
}
