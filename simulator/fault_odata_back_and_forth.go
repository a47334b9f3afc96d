package simulator

var backAndForthFault = Spec{
	Name: "back-and-forth",
	Doc: "lists a changed row as changed, gone and back, and a row that is gone as changed before: the order of the entries decides what is " +
		"true at the end",
	At:    onRound,
	Wires: onOData,
	build: func(args) any {
		return pages(func(c *cycle) bool {
			if !c.delta {
				return false
			}
			row, gone := c.first(isRow), c.first(isGone)
			if gone >= 0 { // rows stand before those that are gone, so the places before it stay
				id := c.items[gone].gone
				c.insert(gone, item{row: former(&stored{row: Row{ID: id}, version: c.seq, at: c.at})})
			}
			if row >= 0 {
				r := c.items[row].row
				c.insert(row, item{row: former(r)}, item{gone: r.row.ID, reason: "changed"})
			}
			return row >= 0 || gone >= 0
		})
	},
}
