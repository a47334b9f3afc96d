package simulator

import "github.com/conform-dev/conform/core/event"

var expiredInPagingFault = Spec{
	Name:  "expired-in-paging",
	Doc:   "answers 410 to a next link, in the middle of a snapshot or a round",
	At:    []string{"connection", "request"},
	Wires: onOData,
	build: func(args) any { return expiredInPaging{} },
}

type expiredInPaging struct{}

func (expiredInPaging) answer(a *answer) bool {
	if a.odata.cycle == nil || !a.asked() {
		return false
	}
	a.dead(410, event.CursorExpired.String())
	return true
}
