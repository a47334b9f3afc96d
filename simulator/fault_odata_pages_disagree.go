package simulator

var pagesDisagreeFault = Spec{
	Name:  "pages-disagree",
	Doc:   "names another position on the pages behind the first one; a page that was the only one is followed by an empty one",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "member", Kind: "text", Doc: "where they disagree", Default: "sequence", Values: []string{"sequence", "streamEpoch", "eventId"}},
	},
	build: func(a args) any {
		member := a.text("member")
		return pages(func(c *cycle) bool {
			c.disagree = member
			c.further()
			return true
		})
	},
}
