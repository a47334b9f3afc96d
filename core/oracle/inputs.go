package oracle

import "fmt"

// Enqueue offers one event and returns its ticket, counting from 1.
func (m *Model) Enqueue(ev Event) uint64 {
	m.tickets++
	ticket := m.tickets
	switch m.state.Phase {
	case "closed":
		m.row("G-X01")
		m.answer(ticket, "cancelled", m.state.Reason)
	case "error":
		m.row("G-E01")
		m.answer(ticket, "error", m.state.Reason)
	default:
		m.admit(&offered{Event: ev, ticket: ticket})
	}
	return ticket
}

// admit decides whether an event may queue at all.
func (m *Model) admit(o *offered) {
	if fault, detail, bad := o.malformed(); bad {
		m.row(m.by("A01", "B01", "C01", "R01", "L01", "N01"))
		if m.state.Phase != "resnapshot-required" { // there the first cause wins (D-08)
			m.stop(fault, detail)
		}
		m.answer(o.ticket, "resnapshot-required", fault)
		return
	}
	if m.state.Phase == "resnapshot-required" || m.recoveryWaits() {
		m.admitRecovery(o)
		return
	}
	if m.State().Pending >= m.cfg.MaxPending {
		m.row(m.by("O01", "", "C03", "O01", "O01", ""))
		m.stop("buffer-overflow", "")
		m.answer(o.ticket, "resnapshot-required", "buffer-overflow")
		return
	}
	if m.recoveryRuns() {
		m.row("G-C02")
	}
	m.queue = append(m.queue, o)
	m.next()
}

// admitRecovery decides at admission, because the held position cannot change before the recovery's turn (D-01).
func (m *Model) admitRecovery(o *offered) {
	waits := m.recoveryWaits()
	cause := m.state.Reason
	if waits {
		cause = m.kept
	}
	if !o.replaces() {
		m.row(m.by("", "B02", "", "", "", "N02"))
		m.answer(o.ticket, "resnapshot-required", cause)
		return
	}
	if !usable(o.Seq) {
		m.row(m.by("", "B04", "", "", "", "N03"))
		m.answer(o.ticket, "resnapshot-required", "sequence-missing")
		return
	}
	if m.held != nil && !m.epoch && o.Seq <= m.held.Seq {
		m.row(m.by("", "B05", "", "", "", "N04"))
		m.answer(o.ticket, "resnapshot-required", "replacement-snapshot-required")
		return
	}
	o.recovery = true
	if waits { // the newer one replaces the older one (D-11)
		m.row("G-B03")
		m.answer(m.queue[0].ticket, "resnapshot-required", cause)
		m.queue[0] = o
		return
	}
	switch {
	case m.held == nil:
		m.row("G-N09")
	case !m.epoch:
		m.row("G-N05")
	case o.Seq == m.held.Seq && m.conflicts(o):
		m.row("G-N07")
	case o.Seq <= m.held.Seq:
		m.row("G-N06")
	default:
		m.row("G-N08")
	}
	m.kept = cause
	m.state.Phase, m.state.Reason, m.state.Detail = "awaiting-snapshot", "", ""
	m.queue = append(m.queue, o)
	m.next()
}

// Applied reports the consumer's result. It returns an error when no consumer call was handed out.
func (m *Model) Applied(ok bool) error {
	w := m.active
	if w == nil || w.kind != "apply" || !w.taken {
		return fmt.Errorf("oracle: a consumer result that nobody owed")
	}
	if m.recoveryWaits() {
		m.row("G-B07")
	}
	m.abort = false
	m.active = nil
	switch {
	case w.void:
		m.row("G-O09")
		m.answer(w.of.ticket, "cancelled", "cancelled")
		m.next()
	case !ok:
		m.row("G-O06")
		m.end("consumer-failed")
		m.answer(w.of.ticket, "error", "consumer-failed")
	default:
		m.accept(w.of)
	}
	return nil
}

// Saved reports the store's result. It returns an error when no save was handed out.
func (m *Model) Saved(ok bool) error {
	w := m.active
	if w == nil || w.kind != "save" || !w.taken {
		return fmt.Errorf("oracle: a store result that nobody owed")
	}
	if m.recoveryWaits() {
		m.row("G-B07")
	}
	m.abort = false
	m.active = nil
	status, reason := "applied", ""
	switch {
	case w.void:
		m.row("G-O10")
		status, reason = "cancelled", "cancelled"
	case !ok:
		m.row("G-O07")
		m.state.Persisted = false
		m.end("checkpoint-save-failed")
		status, reason = "error", "checkpoint-save-failed"
	default:
		m.row("G-O13")
		m.state.Persisted = true
		m.behind = 0
	}
	if w.of != nil {
		m.answer(w.of.ticket, status, reason)
	}
	m.next()
	return nil
}

// RequireResnapshot is what the transport or the session asks for. It returns an error for a reason that they cannot give.
func (m *Model) RequireResnapshot(reason, detail string) error {
	switch reason {
	case "cursor-expired", "resume-unsupported", "transport-gap", "source-version-changed", "authorization-scope-changed":
	default:
		return fmt.Errorf("oracle: requireResnapshot(%q)", reason)
	}
	switch m.state.Phase {
	case "closed":
		m.row("G-X02")
	case "error":
		m.row("G-E02")
	case "resnapshot-required":
		m.row("G-N10")
		m.epoch = true
	default:
		m.row(m.by("A05", "B06", "C05", "O02", "O02", ""))
		if reason == "transport-gap" {
			m.row("G-O03")
		}
		m.epoch = true
		m.stop(reason, detail)
	}
	return nil
}

// Refresh is a newer form of the held position from a source that has nothing new (D-28).
func (m *Model) Refresh(p Position) {
	switch {
	case m.state.Phase == "closed":
		m.row("G-X04")
	case m.state.Phase == "error":
		m.row("G-E05")
	case m.state.Phase != "live":
		m.row("G-O16")
	case m.active != nil: // only then may anything wait behind it
		m.row("G-L16")
	case p.Seq != m.held.Seq:
		m.row("G-L15")
	default:
		m.row("G-L14")
		m.held = m.held.with(p)
		m.state.Persisted = false
		if m.cfg.Saves {
			m.behind++
			m.active = &work{kind: "save"}
		}
	}
}

// Fail ends the model for a reason outside it. It returns an error for a reason that is no failure.
func (m *Model) Fail(reason string) error {
	if reason == "" || reason == "compatible" {
		return fmt.Errorf("oracle: fail(%q)", reason)
	}
	switch m.state.Phase {
	case "closed":
		m.row("G-X03")
	case "error":
		m.row("G-E04")
	default:
		m.row("G-O08")
		m.end(reason)
	}
	return nil
}

// Close ends the model by its owner's wish: closed or cancelled; an error for any other reason.
func (m *Model) Close(reason string) error {
	if reason != "closed" && reason != "cancelled" {
		return fmt.Errorf("oracle: close(%q)", reason)
	}
	switch m.state.Phase {
	case "closed":
		m.row("G-X03")
		return nil
	case "error":
		m.row("G-E03")
	default:
		if reason == "closed" {
			m.row("G-O04")
		} else {
			m.row("G-O05")
		}
	}
	m.drain("cancelled", reason)
	m.state.Phase, m.state.Reason, m.state.Detail = "closed", reason, ""
	return nil
}
