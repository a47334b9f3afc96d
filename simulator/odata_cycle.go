package simulator

import (
	"slices"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// cycle is one snapshot or one delta round, from its first page to its last. What it holds is the state at its start: the feed may move
// on while a client reads. Faults change it before its first page is written.
type cycle struct {
	number  int64 // names it in next links; 0 while it has one page
	delta   bool  // asked for by a delta token
	track   bool  // its last page has a delta link
	event   bool  // it brings something, and is an event; false for a round without a change
	version int
	seq     event.Seq  // number of what it brings
	to      event.Seq  // what its delta link stands for
	at      int64      // unix milliseconds of its timestamp
	id      string     // event id
	change  event.Kind // with delta: kind of the change that it brings
	items   []item

	// What faults want of it.
	server   *odata
	origin   string // of the request that began it
	bare     bool   // no sequence on its pages
	hide     bool   // not shown yet, as if the head stood before it
	data     []byte // stands in for its only page
	pad      int    // bytes of padding on its last page
	end      *cut
	mute     *silence
	variant  int64  // other form of the delta token
	named    string // stands in for the delta token
	noLinks  bool
	both     bool   // its first page has the delta link beside the next link
	disagree string // pages behind the first name something else here
	reversed orders
	removed  removedForm
	form     string // how links are written
	foreign  *foreignLink
}

// orders says what of a page is written in reverse order.
type orders struct{ page, entries bool }

// item is one thing in a cycle: a row, a row that is gone, bytes of a fault, or the end of a page.
type item struct {
	row    *stored
	gone   string // id
	reason string // deleted, changed
	raw    []byte
	end    bool
}

// skip is the token for a place in c.
func (c *cycle) skip(place int) skipToken {
	return skipToken{c.delta, c.version, c.seq, c.number, place}
}

// sent is the record of the event that c is.
func (c *cycle) sent(st *stream) *trace.Record {
	if !c.event {
		return nil
	}
	kind, told := event.Snapshot, c.server.sim.opt.ODataAnnotations != "none"
	switch {
	case c.delta && told:
		kind = c.one()
	case c.delta:
		kind = event.Delta // the page says nothing else
	}
	r := &trace.Record{Kind: trace.ServerSent, Epoch: st.n, Type: kind.String(), Seq: c.seq}
	if told {
		r.ID = c.id
	}
	if c.track && !c.noLinks {
		r.DeltaToken = trace.Digest("deltaToken", c.token())
	}
	return r
}

// token is what the delta link of c names.
func (c *cycle) token() string {
	if c.named != "" {
		return c.named
	}
	return deltaToken(c.version, c.to, c.variant)
}

// one is the kind of the event that a round is: the change's own, as on every wire, as long as the round is nothing but that change.
func (c *cycle) one() event.Kind {
	if len(c.items) == 1 && (c.change == event.Upsert && isRow(c.items[0]) || c.change == event.Delete && isGone(c.items[0])) {
		return c.change
	}
	return event.Delta
}

// cycles are those that have further pages, least recently used first. Each holds as much as the state has rows, so they are bounded; a
// client that finds its cycle gone is answered 410 and begins again.
type cycles struct {
	list []*cycle
	max  int
	made int64
}

func (s *cycles) find(t skipToken) *cycle {
	for _, c := range s.list {
		if c.skip(t.place) == t && t.place <= len(c.items) {
			return c
		}
	}
	return nil
}

// keep holds c, and forgets the one that was used longest ago if there are too many.
func (s *cycles) keep(c *cycle) {
	if c.number == 0 {
		s.made++
		c.number = s.made
	}
	s.list = slices.DeleteFunc(s.list, func(x *cycle) bool { return x == c })
	if len(s.list) >= s.max {
		s.list = slices.Delete(s.list, 0, 1)
	}
	s.list = append(s.list, c)
}

// prune forgets the cycles and the promises whose place in the history is gone.
func (o *odata) prune() {
	f := o.sim.feed
	o.cycles.list = slices.DeleteFunc(o.cycles.list, func(c *cycle) bool { return c.version != f.version || !f.resumable(c.to) })
	o.owed = slices.DeleteFunc(o.owed, func(w owed) bool { return !f.resumable(w.behind) })
}

// begin makes the cycle that was asked for.
func (o *odata) begin(a *answer) *cycle {
	st := a.stream
	if st.snapshot {
		return o.snapshot(a)
	}
	position := st.next - 1
	if c := o.promised(a, position); c != nil {
		return c
	}
	f, next := o.sim.feed, min(st.next+event.Seq(st.skip), o.sim.feed.head+1)
	st.skip = 0
	for next <= f.head && !o.sim.paused {
		e := f.entry(next)
		c := o.cycle(a, true, next, e.at, itemsOf(e))
		c.change = e.change.Kind
		d := dispatch{st: st, seq: next, entry: e, cycle: c, shape: shape{id: f.eventID(next)}}
		st.ask(&d)
		switch {
		case !d.drop:
			return o.settled(&d)
		case c.hide:
			a.head = min(a.head, position)
			return o.unchanged(a, position)
		}
		next += 1 + event.Seq(st.skip)
		st.skip = 0
	}
	if o.sim.paused {
		next = st.next
		a.head = min(a.head, position)
	}
	return o.unchanged(a, next-1)
}

// snapshot is the state at the head, or at an older place that a fault wants.
func (o *odata) snapshot(a *answer) *cycle {
	f := o.sim.feed
	seq := f.head - a.odata.stale
	rows, at, _ := f.rowsAt(seq)
	c := o.cycle(a, a.req.resume(), seq, at, rowItems(rows))
	d := dispatch{st: a.stream, seq: seq, cycle: c, shape: shape{id: f.snapshotID(seq)}}
	a.stream.ask(&d)
	return o.settled(&d)
}

// unchanged is a round that brings nothing: the delta link stays where it is.
func (o *odata) unchanged(a *answer, position event.Seq) *cycle {
	o.idle(a, position)
	if c := o.promised(a, position); c != nil {
		return c
	}
	c := o.cycle(a, true, position, o.sim.feed.at, nil)
	c.event = false
	o.sim.plan.each(func(f *armed) {
		if l, ok := f.logic.(rounder); ok && !f.event() && f.on(a.stream) && l.round(c) {
			o.sim.strike(f, a.stream, event.NoSeq)
		}
	})
	return c
}

func (o *odata) cycle(a *answer, delta bool, seq event.Seq, at int64, items []item) *cycle {
	return &cycle{server: o, origin: a.odata.origin, delta: delta, track: delta || a.odata.track, event: true, version: o.sim.feed.version,
		seq: seq, to: seq, at: at, items: items}
}

// settled takes over what the faults of single events did.
func (o *odata) settled(d *dispatch) *cycle {
	c := d.cycle
	c.id, c.pad, c.named, c.data, c.end, c.mute = d.shape.id, d.shape.pad, d.shape.named, d.data, d.end, d.mute
	o.lastID = c.id
	return c
}

// itemsOf are the entries of a change, in the order in which they count.
func itemsOf(e *entry) []item {
	var out []item
	for i := range e.change.Upserts {
		out = append(out, item{row: &stored{row: e.change.Upserts[i], version: e.seq, at: e.at}})
	}
	reason := e.change.Reason
	if reason == "" {
		reason = "deleted"
	}
	for _, id := range e.change.Deletes {
		out = append(out, item{gone: id, reason: reason})
	}
	return out
}

func rowItems(rows []*stored) []item {
	out := make([]item, len(rows))
	for i, r := range rows {
		out[i] = item{row: r}
	}
	return out
}
