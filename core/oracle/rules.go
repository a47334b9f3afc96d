package oracle

import "slices"

// next decides waiting events, in order of arrival, until one needs the consumer or none is left.
func (m *Model) next() {
	for m.active == nil && len(m.queue) > 0 {
		first := m.queue[0]
		m.queue = m.queue[1:]
		m.decide(first)
	}
	if m.active == nil && m.state.Phase == "live" && m.cfg.Saves && m.behind > 0 {
		m.row("G-O15")
		m.active = &work{kind: "save"}
	}
}

// decide judges one event at its turn, in the contract's order.
func (m *Model) decide(o *offered) {
	switch {
	case o.recovery:
		m.consume(o)
	case !usable(o.Seq):
		m.row(m.by("A02", "", "", "R02", "L02", ""))
		m.reject(o, "sequence-missing")
	case m.held == nil && !o.replaces():
		m.row("G-A03")
		m.reject(o, "snapshot-required")
	case o.Type == "snapshot" && o.Merge && m.state.Phase != "live":
		m.row("G-R03")
		m.reject(o, "replacement-snapshot-required")
	case m.held != nil && o.Seq == m.held.Seq && m.conflicts(o):
		m.row(m.by("", "", "", "R04", "L06", ""))
		m.reject(o, "checkpoint-conflict")
	case m.held != nil && o.Seq <= m.held.Seq:
		m.duplicate(o)
	case m.held != nil && !o.replaces() && o.Seq != m.held.Seq+1:
		switch {
		case o.Type == "snapshot":
			m.row("G-L05")
		default:
			m.row(m.by("", "", "", "R07", "L10", ""))
		}
		m.reject(o, "sequence-gap")
	case o.ID != "" && slices.Contains(m.ids, o.ID):
		if o.replaces() {
			m.row(m.by("", "", "", "R10", "L13", ""))
		} else {
			m.row(m.by("", "", "", "R09", "L12", ""))
		}
		m.reject(o, "event-id-reused")
	default:
		m.consume(o)
	}
}

func (m *Model) duplicate(o *offered) {
	switch {
	case o.Type == "snapshot" && o.Merge:
		m.row("G-L03")
	case o.Type == "snapshot":
		m.row(m.by("", "", "", "R11", "L08", ""))
	default:
		m.row(m.by("", "", "", "R05", "L07", ""))
	}
	m.state.Duplicates++
	m.answer(o.ticket, "duplicate", "")
}

// reject stops delivery because of an event; what waits behind it is answered first.
func (m *Model) reject(o *offered, reason string) {
	m.stop(reason, "")
	m.answer(o.ticket, "resnapshot-required", reason)
}

func (m *Model) consume(o *offered) { m.active = &work{kind: "apply", of: o} }

// accept is what a consumer's success changes.
func (m *Model) accept(o *offered) {
	switch {
	case o.recovery:
		m.row("G-C04")
	case m.held == nil:
		m.row("G-A04")
	case o.replaces():
		m.row(m.by("", "", "", "R08", "L11", ""))
	case o.Type == "snapshot":
		m.row("G-L04")
	default:
		m.row(m.by("", "", "", "R06", "L09", ""))
	}
	if o.replaces() { // only its own positions and its own id survive (D-02, D-03)
		m.ids = nil
		m.epoch = false
		m.held = &Position{}
	}
	m.held = m.held.with(o.Position)
	m.remember(o.ID)
	m.state.Phase, m.state.Reason, m.state.Detail = "live", "", ""
	m.state.Persisted = false
	m.state.Accepted++
	if m.cfg.Saves {
		m.behind++
		if m.behind >= m.cfg.SaveEvery || len(m.queue) == 0 {
			m.active = &work{kind: "save", of: o}
			return
		}
		m.row("G-O14")
	}
	m.answer(o.ticket, "applied", "")
	m.next()
}

// with is p under the number of over, with what over names in place of what p has.
func (p *Position) with(over Position) *Position {
	out := *p
	out.Seq = over.Seq
	for _, part := range []struct {
		held    *string
		carried string
	}{
		{&out.Cursor, over.Cursor},
		{&out.Watermark, over.Watermark},
		{&out.Timestamp, over.Timestamp},
		{&out.DeltaToken, over.DeltaToken},
	} {
		if part.carried != "" {
			*part.held = part.carried
		}
	}
	return &out
}

// remember keeps the last MaxIDs ids.
func (m *Model) remember(id string) {
	if id == "" {
		return
	}
	m.ids = append(m.ids, id)
	if len(m.ids) > m.cfg.MaxIDs {
		m.ids = m.ids[1:]
	}
}

// stop ends delivery until a replacement snapshot arrives.
func (m *Model) stop(reason, detail string) {
	m.drain("resnapshot-required", reason)
	m.state.Phase, m.state.Reason, m.state.Detail = "resnapshot-required", reason, detail
	if reason == "sequence-gap" || reason == "transport-gap" {
		m.state.Gaps++
	}
	if reason == "buffer-overflow" {
		m.state.Overflows++
	}
}

// end is the phase error: nothing more is accepted.
func (m *Model) end(reason string) {
	m.drain("error", reason)
	m.state.Phase, m.state.Reason, m.state.Detail = "error", reason, ""
}

// drain answers everything that waits. A consumer or store that runs is superseded and told so; one that was not started
// yet is withdrawn.
func (m *Model) drain(status, reason string) {
	if w := m.active; w != nil {
		switch {
		case w.taken && !w.void:
			w.void = true
			m.abort = true
		case w.taken:
		case w.kind == "apply":
			m.row("G-O11")
			m.answer(w.of.ticket, status, reason)
			m.active = nil
		default:
			m.row("G-O12")
			if w.of != nil { // its consumer call is done, its save never started
				m.answer(w.of.ticket, "cancelled", "cancelled")
			}
			m.active = nil
		}
	}
	for _, o := range m.queue {
		m.answer(o.ticket, status, reason)
	}
	m.queue = nil
}

func (m *Model) answer(ticket uint64, status, reason string) {
	seq := int64(NoSeq)
	if m.held != nil {
		seq = m.held.Seq
	}
	m.resolved = append(m.resolved, Delivery{Ticket: ticket, Status: status, Reason: reason, Seq: seq})
}

// conflicts says whether an event at the held sequence names another place in the stream (D-05).
func (m *Model) conflicts(o *offered) bool {
	cursor := o.Cursor != "" && m.held.Cursor != "" && o.Cursor != m.held.Cursor
	token := o.DeltaToken != "" && m.held.DeltaToken != "" && o.DeltaToken != m.held.DeltaToken
	return cursor || token
}

// recoveryWaits says whether an admitted recovery waits for a superseded call to return.
func (m *Model) recoveryWaits() bool {
	return len(m.queue) == 1 && m.queue[0].recovery && m.active != nil
}

// recoveryRuns says whether a recovery is being applied.
func (m *Model) recoveryRuns() bool {
	return m.active != nil && m.active.of != nil && m.active.of.recovery && m.active.kind == "apply" && !m.active.void
}

func (o *offered) replaces() bool { return o.Type == "snapshot" && !o.Merge }

// malformed says whether an event may not enter, and the reason for it. Ids are limited to 4096 bytes.
func (o *offered) malformed() (reason, detail string, bad bool) {
	switch o.Type {
	case "snapshot", "upsert", "delete", "delta":
		return "invalid-event", "eventId: longer than 4096 bytes", len(o.ID) > 4096
	}
	if o.Fault == "checkpoint-conflict" {
		return o.Fault, o.Detail, true
	}
	return "invalid-event", o.Detail, true
}

// by picks the row of the place where the model stands: nothing held; a recovery waits; a recovery runs; resuming; live;
// resnapshot-required.
func (m *Model) by(nothing, waits, runs, resuming, live, refused string) string {
	row := ""
	switch {
	case m.state.Phase == "resnapshot-required":
		row = refused
	case m.state.Phase == "live":
		row = live
	case m.state.Phase == "resuming":
		row = resuming
	case m.recoveryWaits():
		row = waits
	case m.recoveryRuns():
		row = runs
	default:
		row = nothing
	}
	return "G-" + row
}
