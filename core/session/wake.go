package session

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/event"
)

// A fleet-wake stream brings no events, only hints that there may be something to poll for. Its session (Policy.Lane) connects,
// backs off and watches for silence as any other. It has no baseline and no order, so it asks for no snapshot, feeds no gate, and
// goes on from no position: what it holds is the watermark of the client, which is only ever raised, survives reconnects, and goes
// into the next attempt as Resume.Watermark for that connection's catch-up poll. Only another authorization scope, which is another
// viewer, begins at 0 again.

// WakeState is the `state` frame of a connection, as the server sent it (fleet facts 2.1).
type WakeState struct {
	Armed               bool
	Reason              string
	HasReason           bool  // false: null or absent
	LastPushAt          Count // unix milliseconds; not known: no push yet
	ConnectedIdentities Count
	ArmedForViewer      bool
	SubscriptionID      string // vouched for this viewer; empty if none was
}

// Wake is one `wake` frame.
type Wake struct {
	SubscriptionID string
	LogID          event.Seq // NoSeq if the envelope names none
	Dropped        string    // why the transport does not count it, one word; empty if it does
}

// ForeignSubscription is why a wake does not count that is for another subscription than this connection's (D-59).
const ForeignSubscription = "foreign-subscription"

// WakeObservation is everything that a fleet-wake session knows about its lane. It is a value; Liveness, CatchUpAxis and RoutesAxis
// judge it.
type WakeObservation struct {
	Running        bool          // opened, and not stopped by its owner; a session that a server ended still counts, for its reason says so
	Connected      bool          // the server accepted and the stream is open
	LastFrameAt    time.Duration // Now.Mono of the last frame, comments included, or of the connection; only if Framed
	Framed         bool
	LastWakeAt     time.Duration // Now.Mono; only if Wakes is above 0
	LastState      WakeState     // kept over reconnects; only if Stated
	Stated         bool
	StatedHere     bool   // this connection's state frame came
	LastDisconnect string // how the last connection ended, or "not started"
	SubscriptionID string // last one vouched or learned; kept over reconnects
	Vouched        bool   // by this connection: only then it may be polled (D-52)
	Watermark      int64  // held by this client, 0 at the start; never lowered
	// PendingAtCatchUp is what this connection's catch-up poll counted.
	PendingAtCatchUp Count
	CatchUp          CatchUp // this connection's; state unknown until it is told
	Told             bool    // CatchUp was told
	Drops            int     // connections and attempts that ended since the last one that was accepted
	RetryFloor       time.Duration
	Wakes            uint64 // that counted
	Dropped          uint64 // that did not
	LastDropped      string // why
}

// LastPushAt is what the last state frame said about the last push, in unix milliseconds.
func (o *WakeObservation) LastPushAt() Count { return o.LastState.LastPushAt }

// NotStarted is the last disconnect of a session that had none.
const NotStarted = "not started"

// Lane says whether the session is one of a lane (Policy.Lane).
func (s *Session) Lane() bool { return s.p.Lane }

// ObserveWake is what a session with Policy.Lane shows. Without Lane it says nothing of use.
func (s *Session) ObserveWake() WakeObservation {
	o := s.lane
	o.Running = s.link != LinkIdle && (s.ended == nil || s.ended.Cause != ByCaller)
	o.Connected = s.link == LinkUp
	o.LastFrameAt, o.Framed = s.sign, s.signed
	o.RetryFloor = max(s.hint, s.p.Base)
	return o
}

// WakeStated: the connection of e sent a state frame. It is a sign of life.
func (s *Session) WakeStated(e Epoch, now Now, st WakeState) {
	s.begin(now)
	if !s.current(e) {
		return
	}
	o := &s.lane
	o.LastState, o.Stated, o.StatedHere = st, true, true
	if st.SubscriptionID != "" {
		o.SubscriptionID, o.Vouched = st.SubscriptionID, true
	}
}

// Woken: the connection of e sent a wake frame. It is a sign of life whatever it says. One for another subscription than this
// connection's does not count and moves nothing; where none was vouched yet, the first wake teaches it (D-52, D-59).
func (s *Session) Woken(e Epoch, now Now, w Wake) {
	s.begin(now)
	if !s.current(e) {
		return
	}
	o := &s.lane
	if w.Dropped == "" && o.Vouched && w.SubscriptionID != o.SubscriptionID {
		w.Dropped = ForeignSubscription
	}
	if w.Dropped != "" {
		o.Dropped++
		o.LastDropped = w.Dropped
		return
	}
	o.Wakes++
	o.LastWakeAt = s.now
	if w.SubscriptionID != "" {
		o.SubscriptionID, o.Vouched = w.SubscriptionID, true
	}
	o.raise(w.LogID)
}

// CaughtUp: the catch-up poll of the connection of e is done, or will not be made. It says nothing about the stream, so it is no sign of
// life. An answer of an older connection is dropped (D-51).
func (s *Session) CaughtUp(e Epoch, now Now, c CatchUp) {
	s.begin(now)
	if !s.speaks(e) {
		return
	}
	o := &s.lane
	if c.State != CatchUpDone {
		c.Pending = Count{}
	}
	o.CatchUp, o.Told, o.PendingAtCatchUp = c, true, c.Pending
	o.raise(c.Watermark)
}

// raise moves the watermark, upwards only.
func (o *WakeObservation) raise(mark event.Seq) {
	if mark.Valid() {
		o.Watermark = max(o.Watermark, int64(mark))
	}
}

// opened: a connection was accepted. What belongs to one connection begins anew.
func (o *WakeObservation) opened() {
	o.Drops = 0
	o.StatedHere, o.Vouched, o.Told = false, false, false
	o.CatchUp, o.PendingAtCatchUp = CatchUp{}, Count{}
}

// closed: a connection or an attempt is over.
func (o *WakeObservation) closed(was Link, d *Down) {
	o.Drops++
	o.StatedHere, o.Vouched = false, false
	o.LastDisconnect = disconnect(was, d)
}

// position is what the next attempt goes on from: the watermark, for its catch-up poll.
func (o *WakeObservation) position() event.Position {
	if o.Watermark == 0 {
		return event.NoPosition
	}
	return event.Position{Seq: event.NoSeq, Watermark: strconv.FormatInt(o.Watermark, 10)}
}

// endOfStream is the first word of the detail of a clean end.
const endOfStream = "end-of-stream"

// disconnect says in the words of the lane how a connection ended.
func disconnect(was Link, d *Down) string {
	switch {
	case d.Status >= 200 && d.Status <= 299 && d.Status != 204 && d.Detail != "":
		return "stream refused: " + d.Detail // an answer that is no stream
	case d.Status != 0:
		return fmt.Sprintf("stream refused: HTTP %d", d.Status)
	case was == LinkUp && (d.Detail == "" || strings.HasPrefix(d.Detail, endOfStream)):
		return "stream ended"
	case was == LinkUp:
		return "stream error: " + d.Detail
	case d.Detail == "":
		return "connect failed"
	}
	return "connect failed: " + d.Detail
}
