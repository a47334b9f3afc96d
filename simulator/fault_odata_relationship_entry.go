package simulator

var relationshipEntryFault = Spec{
	Name:  "relationship-entry",
	Doc:   "adds an entry about a relationship between rows behind the others",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "as", Kind: "text", Doc: "a link that is new, or one that is gone", Default: "deletedLink", Values: []string{"link", "deletedLink"}},
	},
	build: func(a args) any {
		as := a.text("as")
		return pages(func(c *cycle) bool {
			if !c.event {
				return false
			}
			o := c.server
			var m members
			m.text("@odata.context", "#"+o.set+"/$"+as)
			m.text("source", o.entityID("1"))
			m.text("relationship", "related")
			m.text("target", o.entityID("2"))
			c.insert(len(c.items), item{raw: m.object(nil, false)})
			return true
		})
	},
}
