package simulator

import "github.com/conform-dev/conform/core/event"

var foreignLinkFault = Spec{
	Name: "foreign-link",
	Doc: "writes a link that leads out of the collection; what is made of the origin that the client called waits until the simulator knows " +
		"it; a page that was the only one gets a next link to an empty one; location strikes a resume, with 410",
	At:    onRound,
	Wires: onOData,
	Params: []Param{
		{Name: "link", Kind: "text", Doc: "which one", Default: "delta", Values: []string{"next", "delta", "location"}},
		{Name: "as", Kind: "text", Doc: "what is foreign about it", Default: "origin", Values: foreignLinks},
		{Name: "host", Kind: "text", Doc: "the other host", Default: "elsewhere.example"},
	},
	build: func(a args) any { return &foreignLink{a.text("link"), a.text("as"), a.text("host")} },
}

type foreignLink struct{ link, as, host string }

// known says whether the origin that the link is made of is known, if it is made of it.
func (f *foreignLink) known(origin string) bool { return origin != "" || !has(foreignOfOrigin, f.as) }

func (f *foreignLink) round(c *cycle) bool {
	if f.link == "location" || f.link == "delta" && !c.track || !f.known(c.origin) {
		return false
	}
	c.foreign = f
	if f.link == "next" {
		c.further()
	}
	return true
}

func (f *foreignLink) answer(a *answer) bool {
	if f.link != "location" || !a.asked() || !f.known(a.odata.origin) {
		return false
	}
	a.dead(410, event.CursorExpired.String())
	o := a.sim.odata()
	a.header["Location"] = []string{o.foreign(f, a.odata.origin) + "?$deltatoken=" + freshToken}
	return true
}
