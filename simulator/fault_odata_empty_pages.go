package simulator

var emptyPagesFault = Spec{
	Name:  "empty-pages",
	Doc:   "puts pages without entries, but with a next link, around the others; the last one has the delta link",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "before", Kind: "integer", Doc: "in front", Default: "2", Min: 0, Max: MaxEmptyPages},
		{Name: "behind", Kind: "integer", Doc: "at the end", Default: "1", Min: 0, Max: MaxEmptyPages},
	},
	build: func(a args) any {
		before, behind := int(a.int("before")), int(a.int("behind"))
		return pages(func(c *cycle) bool {
			for range before {
				c.insert(0, item{end: true})
			}
			for range behind {
				c.insert(len(c.items), item{end: true})
			}
			return true
		})
	},
}
