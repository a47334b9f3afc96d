package simulator

var unknownTombstoneFault = Spec{
	Name:  "unknown-tombstone",
	Doc:   "says that a row is gone that never was",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "id", Kind: "text", Doc: "its id", Default: "nobody"},
		{Name: "alone", Kind: "boolean", Doc: "in place of the true entries", Default: "false"},
	},
	build: func(a args) any {
		id, alone := a.text("id"), a.flag("alone")
		return pages(func(c *cycle) bool {
			if !c.delta || !c.event {
				return false
			}
			if alone {
				c.items = nil
			}
			c.insert(0, item{gone: id, reason: "deleted"})
			return true
		})
	},
}
