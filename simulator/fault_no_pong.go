package simulator

var noPongFault = Spec{
	Name:   "no-pong",
	Doc:    "answers no pings; events go on, unless silence stops them too",
	At:     []string{"connection", "request"},
	Wires:  onSocket,
	Params: []Param{{Name: "after", Kind: "integer", Doc: "pings that are still answered", Default: "0", Min: 0, Max: MaxClientFrames}},
	build:  func(a args) any { return noPong(a.int("after")) },
}

type noPong int

func (n noPong) answer(a *answer) bool {
	if a.status != 200 {
		return false
	}
	a.stream.socket.answers = int(n)
	return true
}
