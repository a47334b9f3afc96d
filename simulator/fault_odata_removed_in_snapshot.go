package simulator

var removedInSnapshotFault = Spec{
	Name:  "removed-in-snapshot",
	Doc:   "adds a row that is gone to a snapshot, where nothing can be",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "id", Kind: "text", Doc: "its id", Default: "nobody"},
	},
	build: func(a args) any {
		id := a.text("id")
		return pages(func(c *cycle) bool {
			if c.delta {
				return false
			}
			c.insert(0, item{gone: id, reason: "deleted"})
			return true
		})
	},
}
