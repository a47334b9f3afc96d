package drive

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// Recorder turns what a session did into trace records. Both drivers use it, so that they write the same. It holds no
// position in clear: positions are digests, and event ids the contract's own.
type Recorder struct {
	emit  func(trace.Record)
	shown shown // of a lane
}

// NewRecorder makes a recorder that hands each record to emit.
func NewRecorder(emit func(trace.Record)) *Recorder { return &Recorder{emit: emit} }

func (r *Recorder) record(now session.Now, actor trace.Actor, kind trace.Kind, fill func(*trace.Record)) {
	rec := trace.New(actor, kind)
	rec.T = now.Mono.Milliseconds()
	fill(&rec)
	r.emit(rec)
}

// Loaded records what the store said at the start.
func (r *Recorder) Loaded(now session.Now, a checkpoint.Answer) {
	r.record(now, trace.Store, trace.StoreLoad, func(rec *trace.Record) {
		rec.Status, rec.Reason, rec.Detail = a.Found.String(), a.Reason.String(), a.Detail
		if a.Found == checkpoint.Stored {
			rec.Seq = a.Checkpoint.Resume.Seq
		}
	})
}

// Started records the gate's start: the oracle begins there.
func (r *Recorder) Started(now session.Now, start gate.Start, g *gate.Gate) {
	r.record(now, trace.Gate, trace.GateStart, func(rec *trace.Record) {
		state(rec, g.State())
		c := g.Bounds()
		rec.Args = map[string]string{
			"maxPending": strconv.Itoa(c.MaxPending), "maxIDs": strconv.Itoa(c.MaxIDs),
			"saves": strconv.FormatBool(c.Saves), "saveEvery": strconv.Itoa(c.SaveEvery),
		}
		if start.Held != nil {
			place(rec, &start.Held.Pos)
			if ids := g.RecentIDs(); len(ids) > 0 {
				text, _ := json.Marshal(ids) // a list of strings has a JSON form
				rec.Args["ids"] = string(text)
			}
		}
	})
}

// Signal records what a transport signalled on the connection of e. The driver calls it before Signal of the session.
func (r *Recorder) Signal(now session.Now, e session.Epoch, sig transport.Signal) {
	r.record(now, trace.Session, trace.SessionSignal, func(rec *trace.Record) {
		rec.Epoch, rec.Status, rec.Reason, rec.Detail = uint32(e), sig.Kind.String(), sig.Reason.String(), sig.Detail
		rec.Ms, rec.Cursor = sig.RetryAfter.Milliseconds(), trace.Digest("cursor", sig.Cursor)
		switch sig.Kind {
		case transport.Answered:
			rec.Seq, rec.Reason = sig.Answer.Head, sig.Answer.Rejected
			rec.Detail = [...]string{"resumed unsaid", "resumed no", "resumed yes"}[sig.Answer.Resumed]
		case transport.Refused, transport.Ended:
			rec.Reason = sig.Cause.String()
		case transport.WakeStated, transport.Woken, transport.CaughtUp:
			woken(rec, &sig)
		case transport.Refreshed:
			place(rec, &sig.Position)
		case transport.Polled:
			if p := sig.Poll; p != nil {
				rec.Seq, rec.Ms = p.Seq, p.Next.Milliseconds()
				rec.Args = map[string]string{"changed": strconv.FormatBool(p.Changed), "upserts": strconv.Itoa(p.Upserts), "deletes": strconv.Itoa(p.Deletes)}
			}
		}
	})
}

// Wrote records what the store made of a save, err nil if it was taken.
func (r *Recorder) Wrote(now session.Now, seq event.Seq, err error) {
	r.record(now, trace.Store, trace.StoreSave, func(rec *trace.Record) {
		rec.Seq = seq
		if err != nil {
			rec.Reason = event.CheckpointSaveFailed.String()
		}
	})
}

// Forgot records that the store was told to drop its record.
func (r *Recorder) Forgot(now session.Now, err error) {
	r.record(now, trace.Store, trace.StoreForget, func(rec *trace.Record) {
		if err != nil {
			rec.Reason = event.CheckpointSaveFailed.String()
		}
	})
}

// Due records what happened inside the session since the last Take and then what the gate hands out.
func (r *Recorder) Due(now session.Now, d *session.Due) {
	for i := range d.Notes {
		r.noted(now, &d.Notes[i])
	}
	if d.Abort {
		r.record(now, trace.Gate, trace.GateAbort, func(*trace.Record) {})
	}
	for _, del := range d.Resolved {
		r.record(now, trace.Gate, trace.GateDelivery, func(rec *trace.Record) {
			rec.Ticket, rec.Status, rec.Reason, rec.Seq = uint64(del.Ticket), del.Status.String(), del.Reason.String(), del.Seq
		})
	}
	if d.Apply != nil {
		r.record(now, trace.Gate, trace.GateApply, func(rec *trace.Record) {
			rec.Type, rec.Seq, rec.ID = d.Apply.Kind.String(), d.Apply.Pos.Seq, d.Apply.ID
		})
	}
	if d.Save != nil {
		r.record(now, trace.Gate, trace.GateSave, func(rec *trace.Record) { rec.Seq = d.Save.Pos.Seq })
	}
}

// inputs are the notes of gate inputs that carry nothing but a reason.
var inputs = map[session.NoteKind]trace.Kind{
	session.AppliedOK: trace.GateApplied, session.AppliedError: trace.GateApplied,
	session.SavedOK: trace.GateSaved, session.SavedError: trace.GateSaved,
	session.Resnapshotted: trace.GateRequire, session.GateFailed: trace.GateFail, session.GateClosed: trace.GateClose,
}

func (r *Recorder) noted(now session.Now, n *session.Note) {
	if kind, ok := inputs[n.Kind]; ok {
		r.record(now, trace.Gate, kind, func(rec *trace.Record) {
			rec.Reason, rec.Detail = n.Reason.String(), n.Detail
			switch n.Kind {
			case session.AppliedError:
				rec.Reason = event.ConsumerFailed.String()
			case session.SavedError:
				rec.Reason = event.CheckpointSaveFailed.String()
			}
		})
		return
	}
	switch n.Kind {
	case session.Enqueued:
		r.record(now, trace.Gate, trace.GateEnqueue, func(rec *trace.Record) { enqueued(rec, n) })
	case session.Refreshed:
		r.record(now, trace.Gate, trace.GateRefresh, func(rec *trace.Record) { place(rec, &n.Pos) })
	case session.StateIs:
		r.record(now, trace.Gate, trace.GateState, func(rec *trace.Record) { state(rec, n.State) })
	default:
		r.decided(now, n)
	}
}

// decisions are the session's own notes. Up and Forgot have no record: the open signal and the store's forget say it.
var decisions = map[session.NoteKind]trace.Kind{
	session.Connecting: trace.SessionConnect, session.Vouched: trace.SessionVouched, session.Waiting: trace.SessionWait,
	session.Dropped: trace.SessionDropped, session.HungUp: trace.SessionHangup, session.Observed: trace.SessionObserved,
	session.Ended: trace.SessionEnd,
}

func (r *Recorder) decided(now session.Now, n *session.Note) {
	kind, ok := decisions[n.Kind]
	if !ok {
		return
	}
	r.record(now, trace.Session, kind, func(rec *trace.Record) {
		rec.Epoch, rec.Reason, rec.Detail = uint32(n.Epoch), n.Reason.String(), n.Detail
		rec.Ms = int64(n.Delay / time.Millisecond)
		switch n.Kind {
		case session.Connecting:
			place(rec, &n.Pos)
		case session.Observed:
			rec.Status, rec.Detail = n.Detail, ""
		case session.Ended:
			rec.Status = n.Cause.String()
			if n.Status != 0 {
				rec.Args = map[string]string{"http": strconv.Itoa(n.Status)}
			}
		}
	})
}

func enqueued(rec *trace.Record, n *session.Note) {
	ev := n.Event
	rec.Epoch, rec.Ticket = uint32(n.Epoch), uint64(n.Ticket)
	rec.Type, rec.Merge, rec.ID = ev.Kind.String(), ev.Merge, ev.ID
	rec.Reason, rec.Detail = ev.Fault.String(), ev.Detail
	place(rec, &ev.Pos)
}

func place(rec *trace.Record, p *event.Position) {
	rec.Seq = p.Seq
	rec.Cursor = trace.Digest("cursor", p.Cursor)
	rec.Watermark = trace.Digest("watermark", p.Watermark)
	rec.Timestamp = trace.Digest("timestamp", p.Timestamp)
	rec.DeltaToken = trace.Digest("deltaToken", p.DeltaToken)
}

func state(rec *trace.Record, s gate.State) {
	rec.Phase, rec.Reason, rec.Detail, rec.Persisted = s.Phase.String(), s.Reason.String(), s.Detail, s.Persisted
	rec.Pending, rec.Accepted, rec.Duplicates, rec.Gaps, rec.Overflows = s.Pending, s.Accepted, s.Duplicates, s.Gaps, s.Overflows
}
