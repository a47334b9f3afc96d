package odata

import (
	"fmt"
	"net/url"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// paged takes a complete page: the next one is asked for, or the cycle is done.
func (m *Machine) paged(p Page) {
	m.start = false
	if !m.listen(p) {
		return
	}
	if p.NextLink == "" {
		m.done(p)
		return
	}
	if p.DeltaLink != "" {
		m.finding = fmt.Sprintf("delta-link-beside-next-link: page %d", m.pages)
	}
	next, refused := m.plan.within.Follow(m.at, p.Context, p.NextLink)
	switch {
	case refused != nil:
		m.protocol("next-link: " + m.shown(refused))
	case m.pages >= m.plan.set.maxPages:
		m.protocol(fmt.Sprintf("too-many-pages: limit %d", m.plan.set.maxPages))
	default:
		m.say(transport.Signal{Kind: transport.Heartbeat}) // a complete page is a sign of life
		m.follow(next)
	}
}

// listen takes what the page says of its place in the stream; false if the round is torn by it.
func (m *Machine) listen(p Page) bool {
	if m.plan.set.chain {
		return true // the numbers of this order are ours
	}
	t := &m.told
	if p.StreamEpoch != "" && t.epoch != "" && p.StreamEpoch != t.epoch {
		m.recover(event.SourceVersionChanged, fmt.Sprintf("stream-epoch changed on page %d", m.pages), nil)
		return false
	}
	if p.StreamEpoch != "" {
		t.epoch = p.StreamEpoch
	}
	// What the link at the end stands for is the same on all pages: otherwise rows of one state would count as those of another, and what
	// changed in between would be lost without a word.
	if differ(t.note.sequence, p.Sequence) || differ(t.note.eventID, p.EventID) {
		m.recover(event.TransportGap, fmt.Sprintf("pages-disagree: page %d is of another round", m.pages), nil)
		return false
	}
	if head := sequence(p.Head); head.Valid() {
		t.head = head
	}
	for _, part := range []struct{ from, to *[]byte }{
		{&p.Sequence, &t.note.sequence}, {&p.EventID, &t.note.eventID}, {&p.Cursor, &t.note.cursor}, {&p.Type, &t.note.kind},
		{&p.Watermark, &t.note.watermark}, {&p.Timestamp, &t.note.timestamp},
	} {
		if *part.from != nil {
			*part.to = *part.from
		}
	}
	return true
}

// differ says whether two pages both name something, and not the same.
func differ(before, now []byte) bool {
	if before == nil || now == nil || string(before) == string(now) {
		return false
	}
	a, b := sequence(before), sequence(now)
	return !a.Valid() || a != b
}

// done ends a cycle: what it brought is told, and the next one is planned. The last page has a delta link, or nothing can be followed.
func (m *Machine) done(p Page) {
	var link *url.URL
	if p.DeltaLink != "" {
		to, refused := m.plan.within.Follow(m.at, p.Context, p.DeltaLink)
		if refused != nil {
			m.protocol("delta-link: " + m.shown(refused))
			return
		}
		link = to
		m.told.note.token, _ = m.plan.within.Token(to, m.plan.set.deltaToken)
	}
	pos := m.place()
	changed := m.round.snapshot || m.round.puts+m.round.drops > 0 || !m.plan.set.chain && pos.Seq.Valid() && pos.Seq != m.held.Seq
	var doc []byte
	if changed {
		var flaw *Flaw
		if doc, flaw = m.round.finish(m.told.note); flaw != nil {
			flaw.At = m.dec.Offset()
			m.flawed(flaw)
			return
		}
	}
	if m.told.epoch != "" || m.told.head.Valid() {
		m.say(transport.Signal{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: m.told.epoch, Head: m.told.head}})
	}
	if changed {
		m.owe(transport.Output{Document: &transport.Document{JSON: doc}})
	} else if newer(pos, m.held) {
		m.say(transport.Signal{Kind: transport.Refreshed, Position: pos})
	}
	forward := pos.Seq > m.held.Seq
	if changed || pos.Seq.Valid() {
		m.held = pos
	}
	if !m.round.snapshot {
		m.streak = 0
	}
	m.report(pos.Seq, changed, forward, link)
}

// report tells of a cycle that succeeded, and plans the next one.
func (m *Machine) report(seq event.Seq, changed, forward bool, link *url.URL) {
	wait := m.plan.set.interval
	if changed && forward && seq < m.told.head {
		wait = 0 // there is more already; a service that is stuck is not asked again at once
	}
	poll := &transport.PollReport{Interval: m.plan.set.interval, Next: wait, Seq: seq, Changed: changed, Upserts: m.round.puts, Deletes: m.round.drops}
	if link == nil {
		poll.Next = 0
	}
	m.say(transport.Signal{Kind: transport.Polled, Poll: poll, Detail: m.finding})
	if link == nil {
		m.say(transport.Signal{Kind: transport.Refused, Cause: transport.ProtocolError, Detail: "no-delta-link: the service does not say how to follow changes"})
		return
	}
	m.link, m.next = link, true
	m.wait(wait)
}

// place is where the cycle leads. Without a number of the server's, in server-sequence, it is NoSeq, and the gate will say so.
func (m *Machine) place() event.Position {
	n := &m.told.note
	pos := event.Position{Seq: sequence(n.sequence), DeltaToken: n.token}
	if m.plan.set.chain {
		switch {
		case m.round.snapshot:
			pos.Seq = 1
		case m.round.puts+m.round.drops > 0:
			pos.Seq = max(m.held.Seq, 0) + 1
		default:
			pos.Seq = m.held.Seq
		}
		n.seq = pos.Seq
	}
	pos.Cursor, _ = text(n.cursor)
	pos.Watermark, _ = text(n.watermark)
	pos.Timestamp, _ = text(n.timestamp)
	return pos
}

// newer says whether pos names the held place in another way (D-28).
func newer(pos, held event.Position) bool {
	return pos.Seq.Valid() && (pos.DeltaToken != "" && pos.DeltaToken != held.DeltaToken || pos.Cursor != "" && pos.Cursor != held.Cursor ||
		pos.Watermark != "" && pos.Watermark != held.Watermark || pos.Timestamp != "" && pos.Timestamp != held.Timestamp)
}

// flawed judges a page that cannot be used. One that was cut is a connection that was lost; one that is no JSON may have held anything, and
// the link is not tried twice (D-44); the rest would be the same again.
func (m *Machine) flawed(f *Flaw) {
	detail := fmt.Sprintf("%v of page %d", f, m.pages)
	switch {
	case f.Word == FlawCut:
		m.lost(detail)
	case f.Word == FlawNotJSON && !m.round.snapshot:
		m.recover(event.TransportGap, detail, nil)
	default:
		m.protocol(detail)
	}
}

// protocol ends the chain over what the service said.
func (m *Machine) protocol(detail string) {
	m.fail(transport.Signal{Kind: transport.Refused, Cause: transport.ProtocolError, Detail: detail})
}

// fail ends the chain, except in a cycle that began where an expiry said: that one begins again at the configured URL, in the same recovery
// (D-39).
func (m *Machine) fail(s transport.Signal) {
	if !m.elsewhere() {
		m.say(s)
	}
}

// elsewhere leaves a cycle that began at the Location of an expiry; false if this is none.
func (m *Machine) elsewhere() bool {
	if !m.leave() {
		return false
	}
	m.ask()
	return true
}

// leave is elsewhere without the request.
func (m *Machine) leave() bool {
	if !m.location {
		return false
	}
	m.cycle(true)
	m.turn(m.plan.first)
	m.finding = "location-of-expiry-failed"
	return true
}

// lost: no answer, or not all of it. The same link again, and when that does not help either a snapshot (D-39).
func (m *Machine) lost(why string) {
	if m.elsewhere() {
		return
	}
	if m.failures >= MaxSameLink {
		m.recover(event.TransportGap, fmt.Sprintf("no answer after %d tries: %s", MaxSameLink+1, why), nil)
		return
	}
	m.wait(m.chance.backoff(m.failures, 0))
	m.failures++
}

// throttled waits as long as the service wants, and asks for the same link again (P-OD-19) or, at the Location of an expiry, for the configured
// one.
func (m *Machine) throttled(h transport.Head) {
	m.leave() // the wish to be left alone holds for the whole service
	floor, detail := web.RetryAfter(h), fmt.Sprintf("status %d", h.Status)
	if floor > MaxWait {
		detail += fmt.Sprintf(", Retry-After of %v held to %v", floor.Round(time.Second), MaxWait)
		floor = MaxWait
	}
	m.say(transport.Signal{Kind: transport.Retry, Status: h.Status, RetryAfter: floor, Detail: detail})
	m.wait(m.chance.backoff(m.throttles, floor))
	m.throttles++
}

// recover throws the round away and begins anew with a snapshot: at location, or at the configured URL. Only a delta cycle that succeeded
// makes the count of these start over.
func (m *Machine) recover(r event.Reason, detail string, location *url.URL) {
	if m.elsewhere() {
		return
	}
	if m.streak++; m.streak > m.plan.set.maxResnapshots {
		m.say(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost,
			Detail: fmt.Sprintf("resnapshot-limit: %d in a row, the last one for %s (%s)", m.plan.set.maxResnapshots, r, detail)})
		return
	}
	m.say(transport.Signal{Kind: transport.Recovering, Reason: r, Detail: detail})
	m.say(transport.Signal{Kind: transport.Polled, Poll: &transport.PollReport{Interval: m.plan.set.interval, Seq: m.held.Seq}})
	m.held = event.NoPosition
	if location == nil {
		m.begin(m.plan.first, true)
		return
	}
	m.cycle(true)
	m.location = true
	m.follow(location)
}
