package simulator

var removedFormFault = Spec{
	Name:  "removed-form",
	Doc:   "writes the entries that are gone in another way",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "as", Kind: "text", Doc: "a $deletedEntity entry, or an annotation; empty is what the version of the protocol wants", Values: []string{"context", "annotation"}},
		{Name: "by", Kind: "text", Doc: "what names the row, with an annotation", Default: "both", Values: []string{"id", "key", "both"}},
		{Name: "reason", Kind: "text", Doc: "the reason: changed is a row that left the filter, none leaves it out; empty is the true one",
			Values: []string{"deleted", "changed", "none"}},
	},
	build: func(a args) any {
		form := removedForm{a.text("as"), a.text("by"), a.text("reason")}
		return pages(func(c *cycle) bool {
			c.removed = form
			return c.first(isGone) >= 0
		})
	},
}
