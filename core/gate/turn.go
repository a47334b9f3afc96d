package gate

import "github.com/conform-dev/conform/core/event"

// run decides the events at the head of the queue until one needs the consumer or none is left.
func (g *Gate) run() {
	for g.n > 0 {
		it := g.at(0)
		status, why := g.judge(it)
		if status == Applied {
			g.stage, g.own = applyDue, true
			return
		}
		t := it.ticket
		g.pop()
		if status == Duplicate {
			g.st.Duplicates++
		} else {
			g.refuse(why, "")
		}
		g.resolve(t, status, why)
	}
	if g.unsaved > 0 && g.cfg.Saves && g.st.Phase == Live {
		g.stage, g.own = saveDue, false // the queue ran empty behind the last accepted event (D-16)
	}
}

// judge decides an event at its turn, in the fixed order of facts 2.4. Applied means: hand it to the consumer.
func (g *Gate) judge(it *item) (Status, event.Reason) {
	ev, p := &it.ev, &g.held.Pos
	if it.recovery { // decided at admission (D-01, D-02, D-29)
		g.hash = g.ids.sum(ev.ID)
		return Applied, event.None
	}
	seq := ev.Pos.Seq
	switch {
	case !seq.Valid():
		return Resnapshot, event.SequenceMissing
	case !g.has && !ev.Replaces():
		return Resnapshot, event.SnapshotRequired
	case ev.Kind == event.Snapshot && ev.Merge && g.st.Phase != Live:
		return Resnapshot, event.ReplacementSnapshotRequired
	case g.has && seq == p.Seq && (differ(ev.Pos.Cursor, p.Cursor) || differ(ev.Pos.DeltaToken, p.DeltaToken)):
		return Resnapshot, event.CheckpointConflict
	case g.has && seq <= p.Seq:
		return Duplicate, event.None
	case !ev.Replaces() && seq != p.Seq+1:
		return Resnapshot, event.SequenceGap
	}
	if ev.ID != "" {
		g.hash = g.ids.sum(ev.ID)
		if g.ids.has(ev.ID, g.hash) {
			return Resnapshot, event.EventIDReused
		}
	}
	return Applied, event.None
}

// differ compares two positions of which either may be absent. Absence is not a difference (D-17).
func differ(a, b string) bool { return a != b && a != "" && b != "" }

// Applied reports the consumer's result for the Due.Apply taken last. now is unix milliseconds, read after the consumer
// returned; it becomes SavedAt. It panics when no apply is owed: that driver has lost count.
func (g *Gate) Applied(now int64, err error) {
	if g.stage != applying {
		panic("gate: Applied without an Apply that was taken")
	}
	g.begin()
	switch {
	case g.stale:
		g.finish(Dropped, event.Cancelled)
	case err != nil:
		g.fail(event.ConsumerFailed)
	default:
		g.commit(now)
	}
}

// commit accepts the active event: positions, ids, counters, then the save if one is due (facts 2.5; D-02, D-03, D-16).
func (g *Gate) commit(now int64) {
	ev := &g.at(0).ev
	if ev.Replaces() {
		g.ids.reset()
		g.held.Pos = ev.Pos
		g.epoch = false
	} else {
		g.held.Pos = overlay(g.held.Pos, &ev.Pos)
	}
	g.held.SavedAt, g.has = now, true
	if ev.ID != "" {
		g.ids.add(ev.ID, g.hash)
	}
	g.st.Phase, g.st.Reason, g.st.Detail, g.st.Persisted = Live, event.None, "", false
	g.st.Accepted++
	if g.cfg.Saves {
		g.unsaved++
		if g.unsaved >= g.cfg.SaveEvery || g.n == 1 {
			g.stage = saveDue
			return
		}
	}
	g.finish(Applied, event.None)
}

// Candidate is the position that the gate will hold if the event that the consumer has now is accepted. ok is false if the
// consumer has none, or one that was superseded: then no position comes of it.
func (g *Gate) Candidate() (pos event.Position, ok bool) {
	if g.stage != applying || g.stale {
		return event.NoPosition, false
	}
	ev := &g.at(0).ev
	if ev.Replaces() {
		return ev.Pos, true
	}
	return overlay(g.held.Pos, &ev.Pos), true
}

// overlay is old with what an accepted delta carries on top (D-03).
func overlay(old event.Position, on *event.Position) event.Position {
	old.Seq = on.Seq
	if on.Cursor != "" {
		old.Cursor = on.Cursor
	}
	if on.Watermark != "" {
		old.Watermark = on.Watermark
	}
	if on.Timestamp != "" {
		old.Timestamp = on.Timestamp
	}
	if on.DeltaToken != "" {
		old.DeltaToken = on.DeltaToken
	}
	return old
}

// Saved reports the store's result for the Due.Save taken last. It panics when no save is owed.
func (g *Gate) Saved(err error) {
	if g.stage != saving {
		panic("gate: Saved without a Save that was taken")
	}
	g.begin()
	switch {
	case g.stale:
		g.finish(Dropped, event.Cancelled)
	case err != nil:
		g.st.Persisted = false
		g.fail(event.CheckpointSaveFailed)
	default:
		g.unsaved, g.st.Persisted = 0, true
		g.finish(Applied, event.None)
	}
}

// finish ends what ran, answers its event if it had one, and goes on with the next.
func (g *Gate) finish(status Status, why event.Reason) {
	g.stage, g.stale, g.abort = idle, false, false
	if g.own {
		t := g.at(0).ticket
		g.pop()
		g.resolve(t, status, why)
	}
	g.run()
}
