package judge

import (
	"errors"
	"fmt"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/trace"
)

// story plays a scenario on the real gate, with a server and a consumer that are lists, and writes the trace that a stage
// would write. Tests then change one thing in it.
type story struct {
	t       *testing.T
	log     *trace.Log
	gate    *gate.Gate
	shown   gate.State
	now     int64
	expects bool
}

var errConsumer = errors.New("consumer")

func newStory(t *testing.T) *story {
	t.Helper()
	log, err := trace.NewLog(0)
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t, log: log}
	s.put(trace.New(trace.Stage, trace.StageSetup), func(r *trace.Record) {
		r.Args = map[string]string{"canary": "s3cr3t-token", "capabilities": "resume"}
	})
	return s
}

func (s *story) put(r trace.Record, fill func(*trace.Record)) {
	r.T = s.now
	if fill != nil {
		fill(&r)
	}
	s.log.Append(r)
}

// client starts a gate that holds nothing, or held.
func (s *story) client(held event.Seq, cfg gate.Config) *story {
	start := gate.Start{}
	if held != event.NoSeq {
		start.Held, start.Persisted = &gate.Held{Pos: event.Position{Seq: held}}, true
	}
	g, err := gate.New(cfg, start)
	if err != nil {
		s.t.Fatal(err)
	}
	s.gate, s.shown = g, g.State()
	s.put(trace.New(trace.Gate, trace.GateStart), func(r *trace.Record) {
		state(r, s.shown)
		r.Seq = held
		r.Args = map[string]string{"saves": fmt.Sprint(cfg.Saves)}
		if cfg.MaxPending > 0 {
			r.Args["maxPending"] = fmt.Sprint(cfg.MaxPending)
		}
	})
	return s
}

func state(r *trace.Record, st gate.State) {
	r.Phase, r.Reason, r.Detail, r.Persisted = st.Phase.String(), st.Reason.String(), st.Detail, st.Persisted
	r.Pending, r.Accepted, r.Duplicates, r.Gaps, r.Overflows = st.Pending, st.Accepted, st.Duplicates, st.Gaps, st.Overflows
}

func rowsAt(seq event.Seq) string { return fmt.Sprintf("rows-%d", seq) }

func id(seq event.Seq) string { return fmt.Sprintf("e%d", seq) }

func (s *story) publish(seqs ...event.Seq) *story {
	for _, seq := range seqs {
		s.put(trace.New(trace.Server, trace.ServerPublish), func(r *trace.Record) {
			r.Seq, r.Args = seq, map[string]string{"rows": rowsAt(seq)}
		})
	}
	return s
}

func (s *story) request(n uint32, from event.Seq, status string) *story {
	s.put(trace.New(trace.Server, trace.ServerRequest), func(r *trace.Record) { r.Epoch, r.Seq, r.Status = n, from, status })
	return s
}

func (s *story) fault(name string) *story {
	s.put(trace.New(trace.Server, trace.ServerFault), func(r *trace.Record) { r.Detail = name })
	return s
}

// send sends one event over the wire and offers it to the gate; the consumer is run at once, unless it is held back.
func (s *story) send(kind event.Kind, seq event.Seq) *story {
	return s.offer(event.Event{Kind: kind, Pos: event.Position{Seq: seq, Cursor: id(seq)}, ID: id(seq)})
}

func (s *story) offer(ev event.Event) *story {
	s.put(trace.New(trace.Server, trace.ServerSent), func(r *trace.Record) {
		r.Type, r.Seq, r.ID = ev.Kind.String(), ev.Pos.Seq, ev.ID
	})
	ticket := s.gate.Enqueue(&ev)
	s.put(trace.New(trace.Gate, trace.GateEnqueue), func(r *trace.Record) {
		r.Ticket, r.Type, r.Merge, r.Seq, r.ID = uint64(ticket), ev.Kind.String(), ev.Merge, ev.Pos.Seq, ev.ID
		r.Cursor = trace.Digest("cursor", ev.Pos.Cursor)
		r.Reason, r.Detail = ev.Fault.String(), ev.Detail
	})
	return s.settle(nil)
}

func (s *story) require(reason event.Reason) *story {
	s.gate.RequireResnapshot(reason, "told")
	s.put(trace.New(trace.Gate, trace.GateRequire), func(r *trace.Record) { r.Reason, r.Detail = reason.String(), "told" })
	return s.settle(nil)
}

func (s *story) end() *story {
	s.gate.Close(event.Closed)
	s.put(trace.New(trace.Gate, trace.GateClose), func(r *trace.Record) { r.Reason = "closed" })
	return s.settle(nil)
}

func (s *story) stateIs() {
	if st := s.gate.State(); st != s.shown {
		s.shown = st
		s.put(trace.New(trace.Gate, trace.GateState), func(r *trace.Record) { state(r, st) })
	}
}

// settle runs the synchronous driver until nothing is due. fail is the next consumer's result.
func (s *story) settle(fail error) *story {
	s.stateIs()
	for {
		due := s.gate.Take()
		if due.Abort {
			s.put(trace.New(trace.Gate, trace.GateAbort), nil)
		}
		for _, d := range due.Resolved {
			s.put(trace.New(trace.Gate, trace.GateDelivery), func(r *trace.Record) {
				r.Ticket, r.Status, r.Reason, r.Seq = uint64(d.Ticket), d.Status.String(), d.Reason.String(), d.Seq
			})
		}
		switch {
		case due.Apply != nil:
			ev := *due.Apply
			s.put(trace.New(trace.Gate, trace.GateApply), func(r *trace.Record) { r.Type, r.Seq, r.ID = ev.Kind.String(), ev.Pos.Seq, ev.ID })
			if fail == nil && ev.Pos.Seq == failing {
				fail = errConsumer
			}
			if fail == nil {
				s.put(trace.New(trace.Consumer, trace.ConsumerSaw), func(r *trace.Record) {
					r.Type, r.Seq, r.ID = ev.Kind.String(), ev.Pos.Seq, ev.ID
					r.Args = map[string]string{"rows": rowsAt(ev.Pos.Seq)}
				})
			} else {
				s.put(trace.New(trace.Consumer, trace.ConsumerFailed), func(r *trace.Record) { r.Seq = ev.Pos.Seq })
			}
			s.gate.Applied(0, fail)
			s.put(trace.New(trace.Gate, trace.GateApplied), func(r *trace.Record) {
				if fail != nil {
					r.Reason = "consumer-failed"
				}
			})
			fail = nil
			s.stateIs()
		case due.Save != nil:
			seq := due.Save.Pos.Seq
			s.put(trace.New(trace.Gate, trace.GateSave), func(r *trace.Record) { r.Seq = seq })
			s.put(trace.New(trace.Store, trace.StoreSave), func(r *trace.Record) { r.Seq = seq })
			s.gate.Saved(nil)
			s.put(trace.New(trace.Gate, trace.GateSaved), nil)
			s.stateIs()
		default:
			return s
		}
	}
}

// failing is the sequence at which the story's consumer fails.
const failing event.Seq = 666

func (s *story) expect(e trace.Expectation, pairs ...string) *story {
	args := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	r, err := trace.Expect(e, args)
	if err != nil {
		s.t.Fatal(err)
	}
	s.put(r, nil)
	return s
}

// gapStory is the story of GATE-001: change 7 is lost, the gate stops, a snapshot ends it.
func gapStory(t *testing.T) *story {
	t.Helper()
	s := newStory(t).publish(5).client(event.NoSeq, gate.Config{Saves: true})
	s.request(1, event.NoSeq, "200").send(event.Snapshot, 5)
	s.publish(6).send(event.Upsert, 6)
	s.publish(7).fault("gap").publish(8).send(event.Upsert, 8)
	s.require(event.TransportGap)
	s.request(2, event.NoSeq, "200").send(event.Snapshot, 8)
	s.expect(trace.ExpectConsumerSaw, "events", "snapshot 5, upsert 6, snapshot 8")
	s.expect(trace.ExpectDelivery, "event", "upsert 8", "status", "resnapshot-required", "reason", "sequence-gap")
	s.expect(trace.ExpectCounts, "gaps", "1")
	s.expect(trace.ExpectConverged)
	return s.end()
}

func row(t *testing.T, id string) *ledger.Row {
	t.Helper()
	l, err := ledger.Load()
	if err != nil {
		t.Fatal(err)
	}
	r := l.Find(id)
	if r == nil {
		t.Fatalf("no row %s", id)
	}
	return r
}
