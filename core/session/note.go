package session

import "github.com/conform-dev/conform/core/gate"

// note writes down what happened, if anybody wants to know.
func (s *Session) note(n Note) {
	if s.p.Notes {
		s.notes = append(s.notes, n)
	}
}

// stated notes the gate's state if it changed, and notices that a recovery epoch of ours is over.
func (s *Session) stated() {
	st := s.g.State()
	if st.Phase != gate.ResnapshotRequired {
		s.opened = false
	}
	if s.p.Notes && st != s.was {
		s.was = st
		s.notes = append(s.notes, Note{Kind: StateIs, State: st})
	}
}
