package simulator

import (
	"slices"
	"strconv"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// dispatch is one event on its way out, for faults to change.
type dispatch struct {
	st    *stream
	by    *armed // the fault that is asked
	seq   event.Seq
	entry *entry // nil for a snapshot
	cycle *cycle // on the OData wire
	shape shape
	as    framing       // how it is framed, on a wire that has frames
	data  []byte        // replaces the event's JSON; nil leaves it
	drop  bool          // it is not sent
	after []frame       // what follows it
	end   *cut          // the connection ends behind it
	then  func(*stream) // is done last
	mute  *silence
}

// compose makes the next frame; false if there is none, or no room for it.
func (st *stream) compose() bool {
	if !st.room() {
		return false
	}
	f := st.sim.feed
	d := dispatch{st: st, seq: st.next}
	switch {
	case st.snapshot:
		d.seq = f.head
		d.shape.id = f.snapshotID(d.seq)
	case st.next > f.head:
		return false
	case st.next < f.oldestKept():
		st.lost()
		return true
	default:
		d.entry = f.entry(st.next)
		d.shape.id = f.eventID(st.next)
	}
	st.next = d.seq + 1
	if d.entry != nil && st.skip > 0 {
		st.skip--
		return true
	}
	st.snapshot = false
	st.ask(&d)
	st.dispatch(&d)
	return true
}

// ask lets the faults that wait for an event change d.
func (st *stream) ask(d *dispatch) {
	st.sim.plan.each(func(a *armed) {
		at := &a.fault.At
		if d.drop || !a.on(st) || at.Byte != 0 || at.Sequence != 0 && at.Sequence != d.seq || at.Event != 0 && at.Event != st.composed+1 {
			return
		}
		if _, idle := a.logic.(idler); idle && !a.event() {
			return // it waits for an idle stream instead
		}
		d.by = a
		struck := false
		if l, ok := a.logic.(sender); ok {
			struck = l.send(d)
		} else if l, ok := a.logic.(rounder); ok && d.cycle != nil {
			struck = l.round(d.cycle)
		}
		if struck {
			st.sim.strike(a, st, d.seq)
		}
	})
}

// dispatch queues d and what the faults put behind it.
func (st *stream) dispatch(d *dispatch) {
	if !d.drop {
		f := st.frame(d.entry, d.seq, d.shape, d.data)
		f.as = d.as
		st.push(f)
		st.composed++
		st.lastID, st.lastSnap = d.shape.id, d.entry == nil
	}
	for _, f := range d.after {
		st.push(f)
	}
	if d.entry == nil && st.mode == "snapshot" {
		st.end(EOF, "snapshot only")
	}
	if d.end != nil {
		st.end(d.end.kind, "cut")
	}
	if d.then != nil {
		d.then(st)
	}
	if d.mute != nil {
		st.release() // what stands before the silence still goes out
		d.mute.start(st)
	}
}

// lost tells the client that the history no longer holds what comes next: it was paused, or took its bytes too slowly.
func (st *stream) lost() {
	st.block(errorBlock(event.TransportGap.String(), false))
	st.end(EOF, "history lost")
}

// frame makes one event. data, if not nil, stands in for its JSON.
func (st *stream) frame(e *entry, seq event.Seq, s shape, data []byte) frame {
	f := st.sim.feed
	kind := event.Snapshot
	if e != nil && !s.merge {
		kind = e.change.Kind
	}
	position := st.cursor(seq)
	if s.named != "" {
		position = s.named
	}
	s.seq, s.position = seq, position
	switch {
	case s.bare:
		position = ""
	case s.other:
		position = other(position)
	}
	b := Block{Event: kind.String()}
	switch st.coder.cursorIn() {
	case "id":
		b.ID = position
	case "both":
		b.ID, s.cursor = position, position
	default:
		s.cursor = position
		if st.sim.opt.IDIs == "eventId" {
			b.ID = s.id
		}
	}
	if s.conflict == "cursor" {
		s.cursor = position
	}
	switch {
	case data != nil:
		b.Data = data
	case e != nil && !s.merge:
		b.Data = f.appendEvent(nil, e, s)
	default:
		rows, at, _ := f.rowsAt(seq)
		b.Data = f.appendSnapshot(nil, seq, rows, at, s)
	}
	return frame{block: b, event: &trace.Record{Kind: trace.ServerSent, Epoch: st.n, Type: kind.String(), Seq: seq, ID: s.id,
		Cursor: trace.Digest("cursor", position)}}
}

// cursor is the position that the stream's wire gives out for seq.
func (st *stream) cursor(seq event.Seq) string {
	return cursor(st.home.wire, st.sim.feed.version, seq)
}

// errorBlock is the error frame of facts 5.4.
func errorBlock(code string, terminal bool) Block {
	b := strconv.AppendBool([]byte(`{"type":"error","terminal":`), terminal)
	b = appendString(append(b, `,"code":`...), code)
	return Block{Event: "error", Data: append(b, '}')}
}

// idle lets one waiting fault strike a stream that has caught up; false if none did.
func (st *stream) idle() bool {
	if !st.live || st.over || st.ending != "" || st.mute || len(st.queue) > 0 || st.snapshot || st.next <= st.sim.feed.head && !st.sim.paused {
		return false
	}
	struck := false
	st.sim.plan.each(func(a *armed) {
		l, ok := a.logic.(idler)
		if !ok || struck || a.event() || a.fault.At.Byte != 0 || !a.on(st) ||
			st.sim.now.Mono < st.opened+a.fault.At.After || slices.Contains(st.idled, a) {
			return
		}
		if struck = l.idle(st); struck {
			st.idled = append(st.idled, a)
			st.sim.strike(a, st, event.NoSeq)
		}
	})
	return struck
}

// appendConnected writes the first frame of D-41.
func (a *answer) appendConnected(b []byte, epoch string) []byte {
	b = appendString(append(b, `{"type":"status","status":"connected","streamEpoch":`...), epoch)
	b = strconv.AppendInt(append(b, `,"headSequence":`...), int64(a.head), 10)
	if a.resumed != "" {
		b = append(append(b, `,"resumed":`...), a.resumed...)
	}
	if a.rejected != "" {
		b = appendString(append(b, `,"resumeRejected":`...), a.rejected)
	}
	if a.closingSoon {
		b = append(b, `,"closingSoon":true`...)
	}
	return append(b, '}')
}
