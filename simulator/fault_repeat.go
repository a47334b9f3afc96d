package simulator

import (
	"github.com/conform-dev/conform/core/event"
)

// The faults that send an event again, in order or late.

var duplicateFault = Spec{
	Name:   "duplicate",
	Doc:    "sends an event again, byte for byte; on an idle stream the last one",
	At:     []string{"connection", "request", "sequence", "event", "ms"},
	Params: []Param{{Name: "copies", Kind: "integer", Doc: "further copies", Default: "1", Min: 1, Max: 1000}},
	build:  func(a args) any { return &repeat{copies: int(a.int("copies"))} },
}

var lateFault = Spec{
	Name:   "late",
	Doc:    "sends an older event again, behind a newer one; waits until the history has it",
	At:     []string{"connection", "request", "sequence", "event", "ms"},
	Params: []Param{{Name: "back", Kind: "integer", Doc: "how many events older", Default: "1", Min: 1, Max: MaxRetention}},
	build:  func(a args) any { return &repeat{copies: 1, back: event.Seq(a.int("back"))} },
}

type repeat struct {
	copies int
	back   event.Seq
	other  bool // under another cursor
}

func (r *repeat) send(d *dispatch) bool {
	if d.cycle != nil {
		return r.again(d.cycle.server, d.seq, d.entry == nil)
	}
	frames := r.frames(d.st, d.seq, d.entry == nil)
	d.after = append(d.after, frames...)
	return frames != nil
}

func (r *repeat) idle(st *stream) bool {
	frames := r.frames(st, st.next-1, st.lastSnap)
	for _, f := range frames {
		st.push(f)
	}
	return frames != nil
}

// again promises the copies to the next polls from seq (OData).
func (r *repeat) again(o *odata, seq event.Seq, snapshot bool) bool {
	return o.owe(owed{behind: seq, seq: seq - r.back, snapshot: snapshot && r.back == 0, other: r.other, copies: r.copies})
}

// frames are the copies of the event r.back before seq; none if the history does not have it.
func (r *repeat) frames(st *stream, seq event.Seq, snapshot bool) []frame {
	f := st.sim.feed
	e := f.entry(seq - r.back)
	s := shape{id: f.eventID(seq - r.back), other: r.other}
	if snapshot && r.back == 0 {
		e, s.id = nil, f.snapshotID(seq)
	} else if e == nil {
		return nil
	}
	var out []frame
	for range r.copies {
		out = append(out, st.frame(e, seq-r.back, s, nil))
	}
	return out
}

var staleSnapshotFault = Spec{
	Name:   "stale-snapshot",
	Doc:    "sends a replacement snapshot of an older state, or of the same, in the middle of the stream; waits until the history reaches back to it",
	At:     []string{"connection", "request", "sequence", "event", "ms"},
	Params: []Param{{Name: "back", Kind: "integer", Doc: "how many events older; 0 is the same sequence", Default: "0", Min: 0, Max: MaxRetention}},
	build:  func(a args) any { return &stale{event.Seq(a.int("back"))} },
}

type stale struct{ back event.Seq }

func (r *stale) send(d *dispatch) bool {
	if d.cycle != nil {
		return r.again(d.cycle.server, d.seq, true)
	}
	f, ok := r.frame(d.st, d.seq)
	if ok {
		d.after = append(d.after, f)
	}
	return ok
}

// again promises the older state to the next poll from seq (OData): a round of every row, under the older number.
func (r *stale) again(o *odata, seq event.Seq, _ bool) bool {
	return o.owe(owed{behind: seq, seq: seq - r.back, snapshot: true, copies: 1})
}

func (r *stale) idle(st *stream) bool {
	f, ok := r.frame(st, st.next-1)
	if ok {
		st.push(f)
	}
	return ok
}

func (r *stale) frame(st *stream, seq event.Seq) (frame, bool) {
	seq -= r.back
	if seq < 0 || !st.sim.feed.resumable(seq) {
		return frame{}, false
	}
	return st.frame(nil, seq, shape{id: st.sim.feed.snapshotID(seq)}, nil), true
}
