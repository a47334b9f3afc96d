package simulator

var lostAfterRestartFault = Spec{
	Name: "lost-after-restart",
	Doc: "answers a token that the server cannot know any more, after a restart or a trim, with status 200, no changes and a token of where it " +
		"stands now: what was missed is lost without a word",
	At:    []string{"connection", "request"},
	Wires: onOData,
	build: func(args) any { return lostAfterRestart{} },
}

type lostAfterRestart struct{}

func (lostAfterRestart) answer(a *answer) bool {
	if !a.req.known || a.how != "expired" && a.how != "rejected" {
		return false
	}
	a.status, a.body, a.header, a.rejected, a.how = 200, nil, Header{}, "", "lost"
	a.stream.next = a.sim.feed.head + 1
	return true
}
