package simulator

var twiceInRoundFault = Spec{
	Name:  "twice-in-round",
	Doc:   "lists a changed row twice in one round, first with a value that it does not have any more",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "pages", Kind: "boolean", Doc: "on two pages", Default: "false"},
	},
	build: func(a args) any {
		apart := a.flag("pages")
		return pages(func(c *cycle) bool {
			i := c.first(isRow)
			if !c.delta || i < 0 {
				return false
			}
			c.insert(0, item{row: former(c.items[i].row)})
			if apart {
				c.insert(1, item{end: true})
			}
			return true
		})
	},
}

// former is a row with a value that it does not have any more.
func former(r *stored) *stored {
	was := *r
	was.row.Feature = []byte(`{"state":"former"}`)
	return &was
}
