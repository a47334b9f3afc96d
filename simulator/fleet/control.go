package fleet

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// What can be made to fail.
const (
	FailHandshake = "handshake" // an admitted stream is refused as one whose handshake could not be written
	FailHandOver  = "hand-over" // an accepted wake gets lost inside the server
	FailPoll      = "poll"      // a poll ends with an error
)

// Published is what became of a digest.
type Published struct {
	LogIDs     []int64 `json:"logIds"`
	Deliveries []Sent  `json:"deliveries"` // one per armed subscription of the identity
}

// Sent is one signed wake that was posted to this server.
type Sent struct {
	SubscriptionID string `json:"subscriptionId"`
	EventID        string `json:"eventId"`
	Status         int    `json:"status"`
	State          string `json:"state"` // accepted, or the word of the refusal
}

// Publish writes events for identity (@login) into the plane's log, one message if there are none, and posts their digest for each of
// its subscriptions through the intake: signed with the plane's key, checked with the route's.
func (s *Server) Publish(now Now, identity string, events []Event) (Published, error) {
	s.now = now
	if len(events) == 0 {
		events = []Event{{}}
	}
	if len(events) > MaxPublish {
		return Published{}, fmt.Errorf("events: %d is more than %d", len(events), MaxPublish)
	}
	if identity == "" || len(identity) > MaxText {
		return Published{}, fmt.Errorf("identity: must be 1 to %d bytes", MaxText)
	}
	events = slices.Clone(events)
	for i := range events {
		if err := events[i].check(); err != nil {
			return Published{}, fmt.Errorf("events[%d]: %w", i, err)
		}
	}
	if s.plane.last > MaxLogID-int64(len(events)) {
		return Published{}, fmt.Errorf("events: log ids would pass %d", int64(MaxLogID))
	}
	var out Published
	events = s.plane.add(identity, events)
	for _, e := range events {
		out.LogIDs = append(out.LogIDs, e.logID)
		s.record(trace.Record{Kind: trace.ServerPublish, Type: string(e.Kind), Seq: event.Seq(e.logID), ID: e.Source,
			Args: map[string]string{"identity": identity}})
	}
	for _, sub := range slices.Clone(s.plane.subscriptions) {
		if sub.owner == identity && sub.key != "" {
			out.Deliveries = append(out.Deliveries, s.post(sub, newWake(sub.id, identity, events, 0, now.Wall)))
		}
	}
	return out, nil
}

// post gives a wake to the intake.
func (s *Server) post(sub *subscription, w wake) Sent {
	s.requests++
	r := Request{Method: "POST", Target: WakePath, Header: w.header(sub.id, sub.key), Body: w.body}
	status, word, _ := s.receive(&r)
	s.asked(&r, status, word, map[string]string{"path": WakePath})
	return Sent{sub.id, w.eventID, status, word}
}

// Read marks the event with that log id as read: from now on it wakes nobody.
func (s *Server) Read(now Now, logID int64) error {
	s.now = now
	at := slices.IndexFunc(s.plane.log, func(e Event) bool { return e.logID == logID })
	if at < 0 {
		return fmt.Errorf("logId: %d is not in the log", logID)
	}
	s.plane.log[at].read = true
	return nil
}

// Arm arms the subscription of identity, of the service if that is empty. The outcome is what every later state frame says.
func (s *Server) Arm(now Now, identity string, fault ArmFault) (armed bool, reason string, err error) {
	s.now = now
	if !slices.Contains([]ArmFault{ArmWell, ArmSubscribe, ArmRotate, ArmThrow, ArmNoPlane}, fault) {
		return false, "", fmt.Errorf("fault: %q is none of subscribe, rotate, throw, no-plane", fault)
	}
	if identity == "" || identity == s.opt.Service {
		s.armService(fault)
		return s.armed, s.reason, nil
	}
	at := slices.IndexFunc(s.viewers, func(v *viewer) bool { return v.login == identity && len(v.Plane) > 0 })
	if at < 0 {
		return false, "", fmt.Errorf("identity: %q is no viewer with a plane bearer", trace.Clip(identity))
	}
	s.arm(s.viewers[at], fault)
	return s.armed, s.reason, nil
}

// Disarm takes away the routes of identity. Streams are not told: no second state frame is ever sent.
func (s *Server) Disarm(now Now, identity string) {
	s.now = now
	s.routes = slices.DeleteFunc(s.routes, func(r route) bool { return r.identity == identity })
	s.note("disarmed", identity)
}

// Restart ends the process and starts it again: streams end, routes, windows, proofs and the time of the last push are gone. The
// plane's log and subscriptions are another process's and stay. how is eof, cut or reset.
func (s *Server) Restart(now Now, how simulator.CloseKind) error {
	s.now = now
	if err := ending(how); err != nil {
		return err
	}
	for _, st := range s.all() {
		s.drop(st, string(how))
	}
	s.record(trace.Record{Kind: trace.ServerRestart, Seq: event.Seq(s.plane.last)})
	s.boot()
	return nil
}

// ResetLog makes the plane's log empty and go on behind last: a plane that lost its log, which a client with an older mark cannot see.
func (s *Server) ResetLog(now Now, last int64) error {
	s.now = now
	if last < 0 || last > MaxLogID-MaxLogEntries {
		return fmt.Errorf("logId: %d is not in 0 to %d", last, int64(MaxLogID-MaxLogEntries))
	}
	s.plane.log, s.plane.last = nil, last
	s.record(trace.Record{Kind: trace.ServerTrim, Seq: event.Seq(last)})
	return nil
}

// Dispose is a shutdown that has begun: every stream ends, routes are gone, and newcomers are refused until Restart.
func (s *Server) Dispose(now Now) {
	s.now = now
	s.disposed, s.routes, s.beat = true, nil, 0
	s.armed, s.reason = false, fanoutGone
	for _, st := range s.all() {
		s.drop(st, string(simulator.EOF))
	}
	s.note("disposed", "")
}

// Revoke takes the first bearer of class away from the viewer at place in the table. Open streams stay: a bearer is checked once.
func (s *Server) Revoke(now Now, place, class int) error {
	s.now = now
	if place < 0 || place >= len(s.viewers) {
		return fmt.Errorf("viewer: %d is not in 0 to %d", place, len(s.viewers)-1)
	}
	v := s.viewers[place]
	list := &v.Admission
	switch class {
	case ClassAdmission:
	case ClassPlane:
		list = &v.Plane
	default:
		return fmt.Errorf("class: %d is none of 1, 3", class)
	}
	if len(*list) == 0 {
		return fmt.Errorf("viewer: %d holds no bearer of class %d any more", place, class)
	}
	delete(s.known, sha256.Sum256([]byte((*list)[0])))
	*list = (*list)[1:]
	s.note("revoked", v.login)
	return nil
}

// Silence keeps the streams of identity open and writes nothing to them, no comment either; all streams if identity is empty. What
// would have been written while it lasts is lost, as wakes are. A new stream still gets its hint and its state.
func (s *Server) Silence(now Now, identity string, on bool) {
	s.now = now
	if on {
		if len(s.silent) < MaxViewers {
			s.silent[identity] = true
		}
		s.note("silence", identity)
		return
	}
	delete(s.silent, identity)
	s.note("silence ended", identity)
}

// Cut ends the streams of identity, of all if it is empty; how is eof, cut or reset. It answers how many there were.
func (s *Server) Cut(now Now, identity string, how simulator.CloseKind) (int, error) {
	s.now = now
	if err := ending(how); err != nil {
		return 0, err
	}
	n := 0
	for _, st := range s.all() {
		if identity == "" || st.identity == identity {
			s.drop(st, string(how))
			n++
		}
	}
	return n, nil
}

// Raw puts bytes into the streams of identity, of all if it is empty, as they are: a frame that an honest server never writes.
func (s *Server) Raw(now Now, identity string, raw []byte) error {
	s.now = now
	if len(raw) == 0 || len(raw) > MaxRaw {
		return fmt.Errorf("raw: %d bytes are not in 1 to %d", len(raw), MaxRaw)
	}
	for _, st := range s.all() {
		if identity == "" || st.identity == identity {
			s.put(st, sentRaw, slices.Clone(raw), event.NoSeq, "")
		}
	}
	return nil
}

// Fail makes the next n of what fail: FailHandshake, FailHandOver, FailPoll.
func (s *Server) Fail(now Now, what string, n int) error {
	s.now = now
	if !slices.Contains([]string{FailHandshake, FailHandOver, FailPoll}, what) {
		return fmt.Errorf("what: %q is none of handshake, hand-over, poll", trace.Clip(what))
	}
	if n < 0 || n > MaxAttempts {
		return fmt.Errorf("times: %d is not in 0 to %d", n, MaxAttempts)
	}
	s.failing[what] = n
	return nil
}

func (s *Server) fails(what string) bool {
	if s.failing[what] == 0 {
		return false
	}
	s.failing[what]--
	return true
}

func (s *Server) note(what, identity string) {
	args := map[string]string{}
	if identity != "" {
		args["identity"] = identity
	}
	s.record(trace.Record{Kind: trace.ServerFault, Seq: event.NoSeq, Detail: what, Args: args})
}

func ending(how simulator.CloseKind) error {
	if how != simulator.EOF && how != simulator.Cut && how != simulator.Reset {
		return fmt.Errorf("how: %q is none of eof, cut, reset", trace.Clip(string(how)))
	}
	return nil
}
