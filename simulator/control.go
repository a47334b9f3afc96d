package simulator

import (
	"fmt"
	"slices"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// Publish makes the changes the next events, in order, and answers the sequence of the last one. All are checked before the
// first is published; an error names the change and leaves the feed as it was, unless the feed ran full in between.
func (s *Simulator) Publish(now Now, changes ...Change) (event.Seq, error) {
	s.now = now
	if len(changes) == 0 || len(changes) > MaxPublish {
		return event.NoSeq, fmt.Errorf("changes: %d is not in 1 to %d", len(changes), MaxPublish)
	}
	for i := range changes {
		if err := changes[i].Check(); err != nil {
			return event.NoSeq, fmt.Errorf("changes[%d]: %w", i, err)
		}
	}
	for i, c := range changes {
		if err := s.publish(c); err != nil {
			return event.NoSeq, fmt.Errorf("changes[%d]: %w", i, err)
		}
	}
	return s.feed.head, nil
}

// PublishAuto publishes n made-up changes of the given kind: AutoUpsert (also for ""), AutoDelete, AutoDelta or AutoMixed. They are a
// function of the sequence and the rows, so the same calls give the same events.
func (s *Simulator) PublishAuto(now Now, kind string, n int) (event.Seq, error) {
	s.now = now
	if kind == "" {
		kind = AutoUpsert
	}
	if n < 1 || n > MaxPublish {
		return event.NoSeq, fmt.Errorf("count: %d is not in 1 to %d", n, MaxPublish)
	}
	if !has([]string{AutoUpsert, AutoDelete, AutoDelta, AutoMixed}, kind) {
		return event.NoSeq, fmt.Errorf("kind: %q is none of upsert, delete, delta, mixed", kind)
	}
	for range n {
		if err := s.publish(s.feed.auto(kind, s.feed.head+1)); err != nil {
			return event.NoSeq, err
		}
	}
	return s.feed.head, nil
}

func (s *Simulator) publish(c Change) error {
	oldest := s.feed.oldestKept()
	seq, err := s.feed.publish(s.now.Wall, c)
	if err != nil {
		return err
	}
	s.record(trace.Record{Kind: trace.ServerPublish, Type: c.Kind.String(), Seq: seq, ID: s.feed.eventID(seq),
		Cursor: trace.Digest("cursor", s.Cursor(seq)), Args: map[string]string{"rows": s.feed.digestNow()}})
	s.trimmed(oldest)
	s.settle()
	s.feedFaults()
	return nil
}

// trimmed records that the history lost its oldest changes.
func (s *Simulator) trimmed(before event.Seq) {
	if now := s.feed.oldestKept(); now != before {
		s.record(trace.Record{Kind: trace.ServerTrim, Seq: now})
	}
}

func (s *Simulator) feedFaults() {
	s.plan.each(func(a *armed) {
		l, ok := a.logic.(feeder)
		if ok && a.fault.At.Request == "" && (a.fault.At.Sequence == 0 || a.fault.At.Sequence == s.feed.head) {
			head := s.feed.head
			if l.feed(s) {
				s.strike(a, nil, head)
			}
		}
	})
	s.settle()
}

// Trim forgets all but the newest keep changes. The retention stays what it was.
func (s *Simulator) Trim(now Now, keep int) error {
	s.now = now
	if keep < 0 || keep > MaxRetention {
		return fmt.Errorf("keep: %d is not in 0 to %d", keep, MaxRetention)
	}
	s.trim(keep)
	s.settle()
	return nil
}

func (s *Simulator) trim(keep int) {
	oldest := s.feed.oldestKept()
	s.feed.trim(keep)
	s.trimmed(oldest)
}

// Retain sets the retention: k events are kept from now on. A position k events behind the head resumes, k+1 expires.
func (s *Simulator) Retain(now Now, k int) error {
	if k < 1 || k > MaxRetention {
		return fmt.Errorf("retention: %d is not in 1 to %d", k, MaxRetention)
	}
	s.feed.keep = k
	return s.Trim(now, k)
}

// Restart is a server that comes back.
type Restart struct {
	Head  event.Seq // event.NoSeq: where it was
	Epoch bool      // as a new stream epoch: the rows stay, the numbers start at Head, the history is empty
	As    CloseKind // how open connections end; "" is Cut
}

// Restart closes every connection when what it was given is written, and begins again. In the same epoch Head is a backup's: it
// must lie in the history, and the changes after it are undone. An error leaves everything as it was.
func (s *Simulator) Restart(now Now, r Restart) error {
	s.now = now
	if err := s.restart(r); err != nil {
		return err
	}
	s.settle()
	return nil
}

func (s *Simulator) restart(r Restart) error {
	if r.As == "" {
		r.As = Cut
	}
	if r.As != Cut && r.As != EOF && r.As != Reset {
		return fmt.Errorf("as: %q is none of cut, eof, reset", r.As)
	}
	if err := s.feed.restart(r.Head, r.Epoch); err != nil {
		return err
	}
	s.endAll(r.As, "restart")
	s.baseline(trace.ServerRestart, s.feed.epoch())
	return nil
}

// Pause holds back all events until Resume; publishing goes on. Control frames and heartbeats are still sent.
func (s *Simulator) Pause(now Now) {
	s.now, s.paused = now, true
	s.settle()
}

// Resume ends a Pause.
func (s *Simulator) Resume(now Now) {
	s.now, s.paused = now, false
	s.settle()
}

func (s *Simulator) endAll(kind CloseKind, why string) {
	for _, w := range s.wires {
		w.endAll(kind, why)
	}
}

func (s *Simulator) eachStream(do func(*stream)) {
	for _, w := range s.wires {
		for _, st := range w.connections() {
			do(st)
		}
	}
}

// CloseAll ends every connection when what it was given is written.
func (s *Simulator) CloseAll(now Now, kind CloseKind) {
	s.now = now
	s.endAll(kind, "")
	s.settle()
}

// Add puts a fault into the schedule. One that needs no further event strikes at once.
func (s *Simulator) Add(now Now, f Fault) error {
	s.now = now
	if err := s.plan.add(f); err != nil {
		return err
	}
	a := s.plan.armed[len(s.plan.armed)-1]
	if c, ok := a.logic.(*cut); ok && c.at > 0 {
		s.eachStream(func(st *stream) {
			if a.on(st) && st.body < c.at {
				st.cut, st.cutBy = c, a
			}
		})
	}
	if _, ok := a.logic.(feeder); ok {
		s.feedFaults()
	}
	s.settle()
	return nil
}

// ClearFaults empties the schedule. What has struck stays as it is.
func (s *Simulator) ClearFaults() { s.plan.armed = nil }

// State is what a simulator shows of itself.
type State struct {
	Epoch       string         `json:"streamEpoch"`
	Head        event.Seq      `json:"headSequence"`
	Oldest      event.Seq      `json:"oldestKept"` // Head + 1 if nothing is kept
	Retention   int            `json:"retention"`
	Rows        int            `json:"rows"`
	Digest      string         `json:"rowsDigest"`
	Paused      bool           `json:"paused"`
	Requests    int            `json:"requests"` // seen so far
	Connections []Connection   `json:"connections"`
	Faults      []Fault        `json:"faults"`          // not used up
	Struck      map[string]int `json:"struck"`          // strikes so far, by fault
	OData       *ODataState    `json:"odata,omitempty"` // nil before the first request for the collection
}

// Connection is one open connection of any wire.
type Connection struct {
	Request int       `json:"request"` // n-th request
	Wire    string    `json:"wire"`    // SSE, WebSocket or OData
	Sent    event.Seq `json:"sent"`    // last sequence composed for it; NoSeq before the snapshot
	Events  int       `json:"events"`  // composed so far
	Body    int64     `json:"bodyBytes"`
	Waiting int64     `json:"waitingBytes"` // handed out and not written
	Mute    bool      `json:"mute"`
}

// State reads the simulator; it is a copy.
func (s *Simulator) State() State {
	f := s.feed
	out := State{Epoch: f.epoch(), Head: f.head, Oldest: f.oldestKept(), Retention: f.keep, Rows: len(f.rows), Digest: f.digestNow(),
		Paused: s.paused, Requests: int(s.requests), Connections: []Connection{}, Faults: []Fault{}, Struck: map[string]int{}, OData: s.polled()}
	for _, w := range s.wires {
		out.Connections = append(out.Connections, w.state()...)
	}
	slices.SortFunc(out.Connections, func(a, b Connection) int { return a.Request - b.Request })
	for _, a := range s.plan.armed {
		if a.left == 0 {
			continue // it goes when the schedule is looked at next
		}
		fault := a.fault
		fault.Times = a.left
		out.Faults = append(out.Faults, fault)
	}
	for name, n := range s.plan.struck {
		out.Struck[name] = n
	}
	return out
}
