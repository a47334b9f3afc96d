package simulator

import (
	"slices"

	"github.com/conform-dev/conform/core/event"
)

// owed is an event that a fault puts behind another one. A round is exactly one event, so it is the answer to the next poll from
// that place, whoever polls, and the delta link of that answer leads to the same place again.
type owed struct {
	behind   event.Seq
	seq      event.Seq // what is sent
	snapshot bool      // the whole state at seq, and not the change
	other    bool      // under another delta token
	copies   int
}

// owe promises w; false if the history does not have it, or too much is promised already.
func (o *odata) owe(w owed) bool {
	f := o.sim.feed
	if len(o.owed) >= MaxFaults || w.seq < 0 || w.snapshot && !f.resumable(w.seq) || !w.snapshot && f.entry(w.seq) == nil {
		return false
	}
	o.owed = append(o.owed, w)
	return true
}

// promised makes the next round that is owed to a client at position; nil if there is none.
func (o *odata) promised(a *answer, position event.Seq) *cycle {
	for i := 0; i < len(o.owed); i++ {
		w := o.owed[i]
		if w.behind != position {
			continue
		}
		c := o.again(a, w)
		if o.owed[i].copies--; o.owed[i].copies == 0 || c == nil {
			o.owed = slices.Delete(o.owed, i, i+1)
			i--
		}
		if c != nil {
			return c
		}
	}
	return nil
}

// again makes the round that w promises; nil if it was trimmed since.
func (o *odata) again(a *answer, w owed) (c *cycle) {
	f := o.sim.feed
	switch e := f.entry(w.seq); {
	case w.snapshot && f.resumable(w.seq):
		rows, at, _ := f.rowsAt(w.seq)
		c = o.cycle(a, true, w.seq, at, rowItems(rows))
		c.id = f.snapshotID(w.seq)
	case !w.snapshot && e != nil:
		c = o.cycle(a, true, w.seq, e.at, itemsOf(e))
		c.change = e.change.Kind
		c.id = f.eventID(w.seq)
	default:
		return nil
	}
	c.to = w.behind
	if w.other {
		o.variants++
		c.variant = o.variants
	}
	o.lastID = c.id
	return c
}

// repeater is a fault that sends something again. On this wire it promises it to the client that comes back.
type repeater interface {
	// again promises it behind seq, which is a snapshot or a change.
	again(o *odata, seq event.Seq, snapshot bool) bool
}

// idle lets one waiting fault strike a poll that would bring nothing.
func (o *odata) idle(a *answer, position event.Seq) {
	struck := false
	o.sim.plan.each(func(f *armed) {
		l, ok := f.logic.(repeater)
		if !ok || struck || f.event() || !f.on(a.stream) {
			return
		}
		if struck = l.again(o, position, o.sim.feed.entry(position) == nil); struck {
			o.sim.strike(f, a.stream, event.NoSeq)
		}
	})
}
