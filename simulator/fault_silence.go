package simulator

import "time"

var silenceFault = Spec{
	Name: "silence",
	Doc:  "sends nothing more, heartbeats included, and leaves the connection open; without a trigger nothing after the head",
	At:   []string{"connection", "request", "sequence", "event", "ms"},
	Params: []Param{{Name: "forMs", Kind: "integer", Doc: "then everything held back comes in one burst; 0 is for ever",
		Default: "0", Min: 0, Max: int64(MaxStall / time.Millisecond)}},
	build: func(a args) any { return &silence{a.ms("forMs"), a.at.After > 0} },
}

type silence struct {
	length time.Duration
	later  bool // waits for its time
}

func (s *silence) start(st *stream) {
	st.mute = true
	if s.length > 0 {
		st.muteUntil = st.sim.now.Mono + s.length
	}
}

func (s *silence) answer(a *answer) bool {
	if s.later || a.status != 200 {
		return false
	}
	s.start(a.stream)
	return true
}

func (s *silence) send(d *dispatch) bool {
	d.mute = s
	return true
}

func (s *silence) idle(st *stream) bool {
	s.start(st)
	return true
}
