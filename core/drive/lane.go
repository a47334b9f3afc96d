package drive

import (
	"maps"
	"strconv"

	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// Lane is what a fleet-wake subscription shows at one moment: the observation, and the axes that are judged from it.
type Lane struct {
	Observation session.WakeObservation
	Liveness    session.Verdict // alive is true or unknown, never a made-up false
	CatchUp     session.CatchUp // D-59
	Delivery    session.Axis    // as a routes view shows it (fleet facts 6.1)
	Failure     session.Axis    // always unknown: a stream proves no receipt
}

// LaneOf is what l shows at now; ok is false if it is no lane.
func LaneOf(l Loop, now session.Now) (lane Lane, ok bool) {
	s, ok := l.(*session.Session)
	if !ok || !s.Lane() {
		return lane, false
	}
	o := s.ObserveWake()
	lane = Lane{Observation: o, Liveness: session.Liveness(&o, now), CatchUp: session.CatchUpAxis(&o), Failure: session.TerminalFailure()}
	lane.Delivery = session.RoutesAxis(lane.Liveness.Resolve(), nil)
	return lane, true
}

// Lane records what l shows, if it is a lane and shows something else than before. The driver calls it after Due.
func (r *Recorder) Lane(now session.Now, l Loop) {
	lane, ok := LaneOf(l, now)
	if !ok {
		return
	}
	status := "unknown"
	if lane.Liveness.Alive == session.AliveTrue {
		status = "alive"
	}
	detail, args := trace.Clip(lane.Liveness.Reason), lane.args()
	if r.shown.is && r.shown.status == status && r.shown.detail == detail && maps.Equal(r.shown.args, args) {
		return
	}
	r.shown = shown{true, status, detail, args}
	r.record(now, trace.Session, trace.SessionLane, func(rec *trace.Record) {
		rec.Status, rec.Detail, rec.Args = status, detail, maps.Clone(args)
	})
}

// shown is what the last lane record said.
type shown struct {
	is             bool
	status, detail string
	args           map[string]string
}

func (l *Lane) args() map[string]string {
	o := &l.Observation
	args := map[string]string{
		"mark": strconv.FormatInt(o.Watermark, 10), "wakes": strconv.FormatUint(o.Wakes, 10), "dropped": strconv.FormatUint(o.Dropped, 10),
		"drops": strconv.Itoa(o.Drops), "floor": strconv.FormatInt(o.RetryFloor.Milliseconds(), 10),
		"catchUp": l.CatchUp.State.String(), "pending": l.CatchUp.Pending.String(),
		"delivery": l.Delivery.State, "failure": l.Failure.State,
	}
	for name, text := range map[string]string{"dropped-as": o.LastDropped, "catchUp-reason": l.CatchUp.Reason,
		"delivery-reason": l.Delivery.Reason, "failure-reason": l.Failure.Reason, "subscription": o.SubscriptionID} {
		if text != "" {
			args[name] = trace.Clip(text)
		}
	}
	return args
}

// woken fills in what a signal of the lane said. Texts of the server's are cut.
func woken(rec *trace.Record, sig *transport.Signal) {
	count := func(n int64) string {
		if n < 0 {
			return "null"
		}
		return strconv.FormatInt(n, 10)
	}
	switch {
	case sig.Kind == transport.WakeStated && sig.WakeState != nil:
		st := sig.WakeState
		rec.Args = map[string]string{"armed": strconv.FormatBool(st.Armed), "armedForViewer": strconv.FormatBool(st.ArmedForViewer),
			"identities": count(st.ConnectedIdentities), "reason": trace.Clip(st.Reason), "subscription": trace.Clip(st.SubscriptionID)}
	case sig.Kind == transport.Woken && sig.Wake != nil:
		w := sig.Wake
		rec.Seq, rec.Reason, rec.ID = w.LogID, w.Dropped, trace.Clip(w.EventID)
		rec.Args = map[string]string{"subscription": trace.Clip(w.SubscriptionID)}
	case sig.Kind == transport.CaughtUp && sig.CatchUp != nil:
		c := sig.CatchUp
		rec.Seq, rec.Reason = c.Watermark, c.Reason
		rec.Args = map[string]string{"state": string(c.State), "pending": count(c.Pending)}
	}
}
