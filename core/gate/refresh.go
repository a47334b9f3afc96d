package gate

import "github.com/conform-dev/conform/core/event"

// Refresh gives the held position a newer form: a source that has nothing new named another cursor, token, watermark or timestamp
// for the very place that is held (D-28). It counts only in phase live, with nothing pending, no save running, and at exactly the held
// sequence; otherwise it is ignored and Refresh answers false. A member that pos does not have stays. There is no consumer call and no
// counter, and the ids stay: nothing was delivered. With a store it owes a Save. now is unix milliseconds and becomes SavedAt.
func (g *Gate) Refresh(now int64, pos event.Position) bool {
	g.begin()
	// With the stage idle nothing is pending: run lets no event wait.
	if g.st.Phase != Live || g.stage != idle || !pos.Seq.Valid() || pos.Seq != g.held.Pos.Seq {
		return false
	}
	g.held.Pos = overlay(g.held.Pos, &pos)
	g.held.SavedAt = now
	g.st.Persisted = false
	if g.cfg.Saves {
		g.unsaved++
		g.stage, g.own = saveDue, false
	}
	return true
}
