package simulator

import "github.com/conform-dev/conform/core/event"

var locationFault = Spec{
	Name:  "location-on-410",
	Doc:   "answers 410 to a token, with a Location inside the collection where a snapshot begins",
	At:    []string{"connection", "request"},
	Wires: onOData,
	Params: []Param{
		{Name: "to", Kind: "text", Doc: "with a delta token of its own, or the collection as it stands", Default: "fresh", Values: []string{"fresh", "collection"}},
	},
	build: func(a args) any { return location(a.text("to")) },
}

type location string

func (l location) answer(a *answer) bool {
	if !a.asked() {
		return false
	}
	a.dead(410, event.CursorExpired.String())
	to := a.stream.home.path
	if l == "fresh" {
		to += "?$deltatoken=" + freshToken
	}
	a.header["Location"] = []string{to}
	return true
}
