package gate_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/oracle"
)

// twin feeds a gate and the reference model the same inputs and compares everything that either of them shows.
type twin struct {
	g *gate.Gate
	m *oracle.Model

	due     gate.Due // what the last Take handed out
	owed    string   // "apply" or "save" while the driver owes that result
	aborted bool     // what is owed was superseded
	now     int64

	inputs, events, applied int
	rows                    []string // rows of the table reached since somebody emptied it
	resolved                map[gate.Ticket]bool
}

var errTwin = errors.New("consumer or store failed")

func newTwin(cfg gate.Config, start gate.Start) (*twin, error) {
	g, err := gate.New(cfg, start)
	if err != nil {
		return nil, err
	}
	s := oracle.Start{IDs: start.IDs, Persisted: start.Persisted, Refused: start.Refused.String(), Detail: start.Detail}
	if start.Held != nil {
		p := position(start.Held.Pos)
		s.Held = &p
	}
	m, err := oracle.New(oracle.Config{MaxPending: cfg.MaxPending, MaxIDs: cfg.MaxIDs, Saves: cfg.Saves, SaveEvery: cfg.SaveEvery}, s)
	if err != nil {
		return nil, err
	}
	w := &twin{g: g, m: m, resolved: map[gate.Ticket]bool{}}
	return w, w.compare()
}

func position(p event.Position) oracle.Position {
	return oracle.Position{Seq: int64(p.Seq), Cursor: p.Cursor, Watermark: p.Watermark, Timestamp: p.Timestamp, DeltaToken: p.DeltaToken}
}

func eventOf(ev *event.Event) oracle.Event {
	return oracle.Event{Type: ev.Kind.String(), Merge: ev.Merge, Fault: ev.Fault.String(), Detail: ev.Detail, ID: ev.ID, Position: position(ev.Pos)}
}

func (w *twin) enqueue(ev event.Event) (gate.Ticket, error) {
	w.events++
	t := w.g.Enqueue(&ev)
	theirs := w.m.Enqueue(eventOf(&ev))
	ev = event.Event{Kind: event.Snapshot, ID: "changed by its owner", Pos: event.Position{Seq: 7, Cursor: "evil"}} // P-GATE-18
	if uint64(t) != theirs {
		return t, fmt.Errorf("ticket %d, oracle %d", t, theirs)
	}
	return t, w.compare()
}

// result reports the result that is owed.
func (w *twin) result(ok bool) error {
	var err error
	if !ok {
		err = errTwin
	}
	owed := w.owed
	w.owed, w.aborted = "", false
	var theirs error
	if w.now++; owed == "apply" {
		w.g.Applied(w.now, err)
		theirs = w.m.Applied(ok)
	} else {
		w.g.Saved(err)
		theirs = w.m.Saved(ok)
	}
	if theirs != nil {
		return theirs
	}
	return w.compare()
}

func (w *twin) require(r event.Reason, detail string) error {
	w.g.RequireResnapshot(r, detail)
	if err := w.m.RequireResnapshot(r.String(), detail); err != nil {
		return err
	}
	return w.compare()
}

// refresh offers a newer form of the held position; both must agree on whether it counts.
func (w *twin) refresh(pos event.Position) error {
	before, ok := w.g.Held()
	w.now++
	taken := w.g.Refresh(w.now, pos)
	w.m.Refresh(position(pos))
	after, _ := w.g.Held()
	if !taken {
		w.now--
		if after != before {
			return fmt.Errorf("an ignored refresh changed %+v to %+v", before, after)
		}
	}
	if taken && (!ok || after.SavedAt != w.now) {
		return fmt.Errorf("refreshed at %d, held %+v %v", w.now, after, ok)
	}
	return w.compare()
}

func (w *twin) fail(r event.Reason) error {
	w.g.Fail(r)
	if err := w.m.Fail(r.String()); err != nil {
		return err
	}
	return w.compare()
}

func (w *twin) close(r event.Reason) error {
	w.g.Close(r)
	if err := w.m.Close(r.String()); err != nil {
		return err
	}
	return w.compare()
}

// take takes from both and compares what is due.
func (w *twin) take() error {
	w.due = w.g.Take()
	theirs := w.m.Take()
	if w.due.Abort != theirs.Abort {
		return fmt.Errorf("abort %v, oracle %v", w.due.Abort, theirs.Abort)
	}
	if w.due.Abort && w.owed == "" {
		return fmt.Errorf("abort while nothing runs")
	}
	w.aborted = w.aborted || w.due.Abort
	if err := w.deliveries(theirs.Resolved); err != nil {
		return err
	}
	if (w.due.Apply != nil || w.due.Save != nil) && w.owed != "" || w.due.Apply != nil && w.due.Save != nil {
		return fmt.Errorf("two things are due at once")
	}
	switch {
	case w.due.Apply != nil:
		w.owed = "apply"
		if theirs.Apply == nil || eventOf(w.due.Apply) != *theirs.Apply {
			return fmt.Errorf("consumer is handed %+v, oracle %+v", *w.due.Apply, theirs.Apply)
		}
	case w.due.Save != nil:
		w.owed = "save"
		if theirs.Save == nil || position(w.due.Save.Pos) != *theirs.Save || w.due.Save.SavedAt != w.now {
			return fmt.Errorf("store is handed %+v, oracle %+v at %d", *w.due.Save, theirs.Save, w.now)
		}
	case theirs.Apply != nil || theirs.Save != nil:
		return fmt.Errorf("nothing is due, oracle %+v", theirs)
	}
	return nil
}

func (w *twin) deliveries(theirs []oracle.Delivery) error {
	if len(w.due.Resolved) != len(theirs) {
		return fmt.Errorf("deliveries %v, oracle %v", w.due.Resolved, theirs)
	}
	for i, d := range w.due.Resolved {
		mine := oracle.Delivery{Ticket: uint64(d.Ticket), Status: d.Status.String(), Reason: d.Reason.String(), Seq: int64(d.Seq)}
		if mine != theirs[i] {
			return fmt.Errorf("delivery %+v, oracle %+v", mine, theirs[i])
		}
		if w.resolved[d.Ticket] {
			return fmt.Errorf("ticket %d was answered twice", d.Ticket)
		}
		w.resolved[d.Ticket] = true
		if d.Status == gate.Applied {
			w.applied++
		}
	}
	return nil
}

// compare compares what both show after an input, and checks the bounds that hold always.
func (w *twin) compare() error {
	w.inputs++
	w.rows = append(w.rows, w.m.Rows()...)
	s := w.g.State()
	mine := oracle.State{Phase: s.Phase.String(), Reason: s.Reason.String(), Detail: s.Detail, Persisted: s.Persisted, Pending: s.Pending,
		Accepted: s.Accepted, Duplicates: s.Duplicates, Gaps: s.Gaps, Overflows: s.Overflows}
	if theirs := w.m.State(); mine != theirs {
		return fmt.Errorf("state %+v\noracle %+v", mine, theirs)
	}
	held, ok := w.g.Held()
	theirs, theirsOK := w.m.Held()
	if ok != theirsOK || ok && position(held.Pos) != theirs {
		return fmt.Errorf("held %+v %v, oracle %+v %v", held, ok, theirs, theirsOK)
	}
	if w.inputs%8 == 0 {
		if mine, theirs := w.g.RecentIDs(), w.m.IDs(); !slices.Equal(mine, theirs) {
			return fmt.Errorf("ids %q, oracle %q", mine, theirs)
		}
	}
	if bound := w.g.Bounds().MaxPending; s.Pending > bound+1 || s.Pending > bound && s.Phase != gate.AwaitingSnapshot {
		return fmt.Errorf("%d pending in %v, the bound is %d", s.Pending, s.Phase, bound)
	}
	return nil
}

// settle returns every result that is owed, until nothing is.
func (w *twin) settle(ok bool) error {
	for {
		if err := w.take(); err != nil {
			return err
		}
		if w.owed == "" {
			return nil
		}
		if err := w.result(ok); err != nil {
			return err
		}
	}
}
