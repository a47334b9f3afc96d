package simulator

import "github.com/conform-dev/conform/core/event"

// The faults in the answer to a client that names a position.

var onResume = []string{"connection", "request"}

var cursorExpiredFault = Spec{
	Name: "cursor-expired",
	Doc:  "says that a position is dead although the history has it",
	At:   onResume,
	Params: []Param{{Name: "as", Kind: "text", Doc: "an error frame, status 410, or a connected frame with resumeRejected and a snapshot",
		Default: "frame", Values: []string{"frame", "gone", "rejected"}}},
	build: func(a args) any { return expired(a.text("as")) },
}

type expired string

func (e expired) answer(a *answer) bool {
	if !a.req.resume() || a.status != 200 {
		return false
	}
	a.expire(string(e))
	return true
}

var resumeUnsupportedFault = Spec{
	Name:  "resume-unsupported",
	Doc:   "answers a position with an error frame: this server cannot go on from anywhere",
	At:    onResume,
	build: func(args) any { return resumeUnsupported{} },
}

type resumeUnsupported struct{}

func (resumeUnsupported) answer(a *answer) bool {
	if !a.req.resume() || a.status != 200 {
		return false
	}
	a.fail, a.connected, a.how = event.ResumeUnsupported.String(), false, "unsupported"
	return true
}

var resumedFalseFault = Spec{
	Name:  "resumed-false",
	Wires: notOData,
	Doc:   "refuses a resume in the connected frame",
	At:    onResume,
	Params: []Param{
		{Name: "reason", Kind: "text", Doc: "resumeRejected; empty leaves it out", Default: event.ResumeUnsupported.String()},
		{Name: "then", Kind: "text", Doc: "what follows: a snapshot; the next events as if nothing were refused; nothing until the next publish",
			Default: "snapshot", Values: []string{"snapshot", "deltas", "nothing"}},
	},
	build: func(a args) any { return &resumedFalse{a.text("reason"), a.text("then")} },
}

type resumedFalse struct{ reason, then string }

func (r *resumedFalse) answer(a *answer) bool {
	if a.how != "resumed" {
		return false
	}
	a.connected, a.resumed, a.rejected, a.how = true, "false", r.reason, "rejected"
	switch r.then {
	case "snapshot":
		a.stream.snapshot = true
	case "nothing":
		a.stream.next = a.sim.feed.head + 1
	}
	return true
}

var lyingResumeFault = Spec{
	Name:   "lying-resume",
	Doc:    "vouches for a resume, then leaves out the first events after the position",
	At:     onResume,
	Params: []Param{{Name: "skip", Kind: "integer", Doc: "events left out", Default: "1", Min: 1, Max: MaxRetention}},
	build:  func(a args) any { return lyingResume(a.int("skip")) },
}

type lyingResume int

func (l lyingResume) answer(a *answer) bool {
	if a.how != "resumed" {
		return false
	}
	a.stream.skip = int(l)
	return true
}

var blindResumeFault = Spec{
	Name:  "blind-resume",
	Doc:   "vouches for a position by its number alone, also for one of another stream epoch",
	At:    onResume,
	build: func(args) any { return blindResume{} },
}

type blindResume struct{}

func (blindResume) answer(a *answer) bool {
	if a.how != "rejected" || a.req.position < 0 || a.req.position > a.head {
		return false
	}
	a.resumed, a.rejected, a.how = "true", "", "resumed"
	a.stream.snapshot, a.stream.next = false, a.req.position+1
	return true
}

var headBehindFault = Spec{
	Name:   "head-behind",
	Doc:    "names a head below the position in the connected frame",
	At:     onResume,
	Params: []Param{{Name: "by", Kind: "integer", Doc: "how far below", Default: "1", Min: 1, Max: MaxRetention}},
	build:  func(a args) any { return headBehind(a.int("by")) },
}

type headBehind event.Seq

func (h headBehind) answer(a *answer) bool {
	if a.req.position < event.Seq(h) || !a.connected {
		return false
	}
	a.head = a.req.position - event.Seq(h)
	return true
}

var noAnswerFault = Spec{
	Name:  "no-answer",
	Doc:   "leaves out the connected frame",
	At:    onResume,
	build: func(args) any { return noAnswer{} },
}

type noAnswer struct{}

func (noAnswer) answer(a *answer) bool {
	struck := a.connected
	a.connected = false
	return struck
}

var ignorePositionFault = Spec{
	Name: "ignore-last-event-id",
	Doc:  "overlooks the position that the client named",
	At:   onResume,
	Params: []Param{{Name: "then", Kind: "text", Doc: "a snapshot, or live events from the head on",
		Default: "snapshot", Values: []string{"snapshot", "live"}}},
	build: func(a args) any { return ignorePosition(a.text("then")) },
}

type ignorePosition string

func (i ignorePosition) answer(a *answer) bool {
	if !a.req.resume() || a.status != 200 {
		return false
	}
	a.fail, a.rejected, a.resumed = "", "", "" // a server that never looked has nothing to say about it
	a.how = "ignored"
	a.connected = a.sim.opt.Vouch == "frame"
	a.stream.snapshot = i == "snapshot"
	a.stream.next = a.sim.feed.head + 1
	return true
}
