package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/conform-dev/conform/core/event"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

func fromWakeState(s *transport.WakeState) *pb.WakeState {
	if s == nil {
		return nil
	}
	out := &pb.WakeState{
		Armed: s.Armed, LastPushAt: fromCount(s.LastPushAt), ConnectedIdentities: fromCount(s.ConnectedIdentities),
		ArmedForViewer: s.ArmedForViewer, SubscriptionId: s.SubscriptionID,
	}
	if s.HasReason {
		out.Reason = proto.String(cut(s.Reason, MaxText))
	}
	return out
}

func toWakeState(in *pb.WakeState) (s *transport.WakeState, err error) {
	if in == nil {
		return nil, errors.New("signal.wake_state is missing: wake-stated needs one")
	}
	s = &transport.WakeState{
		Armed: in.GetArmed(), Reason: in.GetReason(), HasReason: in.Reason != nil, ArmedForViewer: in.GetArmedForViewer(),
		SubscriptionID: in.GetSubscriptionId(),
	}
	if s.LastPushAt, err = toCount[int64]("signal.wake_state.last_push_at", in.LastPushAt); err != nil {
		return nil, err
	}
	if s.ConnectedIdentities, err = toCount[int64]("signal.wake_state.connected_identities", in.ConnectedIdentities); err != nil {
		return nil, err
	}
	if err := checkText("signal.wake_state.reason", s.Reason, MaxText); err != nil {
		return nil, err
	}
	return s, checkText("signal.wake_state.subscription_id", s.SubscriptionID, MaxText)
}

func fromWake(w *transport.Wake) *pb.Wake {
	if w == nil {
		return nil
	}
	return &pb.Wake{
		SubscriptionId: w.SubscriptionID, EventId: w.EventID, LogId: fromCount(w.LogID), Envelope: bytes.Clone(w.Envelope), Dropped: w.Dropped,
	}
}

func toWake(in *pb.Wake) (w *transport.Wake, err error) {
	if in == nil {
		return nil, errors.New("signal.wake is missing: woken needs one")
	}
	w = &transport.Wake{SubscriptionID: in.GetSubscriptionId(), EventID: in.GetEventId(), Envelope: in.GetEnvelope(), Dropped: in.GetDropped()}
	if w.LogID, err = toCount[event.Seq]("signal.wake.log_id", in.LogId); err != nil {
		return nil, err
	}
	if err := checkText("signal.wake.subscription_id", w.SubscriptionID, MaxText); err != nil {
		return nil, err
	}
	if err := checkText("signal.wake.event_id", w.EventID, MaxText); err != nil {
		return nil, err
	}
	switch {
	case len(w.Envelope) > MaxEnvelope:
		return nil, fmt.Errorf("signal.wake.envelope is %d bytes long, the limit is %d", len(w.Envelope), MaxEnvelope)
	case len(w.Dropped) > MaxName || strings.Trim(w.Dropped, "abcdefghijklmnopqrstuvwxyz-") != "":
		return nil, fmt.Errorf("signal.wake.dropped is not one word of a to z and dashes, at most %d bytes (%d bytes)", MaxName, len(w.Dropped))
	case w.Dropped != "" && (w.LogID != event.NoSeq || len(w.Envelope) > 0):
		return nil, errors.New("signal.wake.dropped does not go with log_id or envelope")
	}
	return w, nil
}

// catchUpStates are the enum values of the protocol in their order, from 1.
var catchUpStates = []transport.CatchUpState{transport.CatchUpUnknown, transport.CatchUpDone, transport.CatchUpFailed, transport.CatchUpNotFired, transport.CatchUpNoSeam}

func fromCatchUp(c *transport.CatchUp) *pb.CatchUp {
	if c == nil {
		return nil
	}
	out := &pb.CatchUp{Pending: fromCount(c.Pending), Watermark: fromCount(c.Watermark), Reason: c.Reason}
	for i, state := range catchUpStates {
		if c.State == state {
			out.State = pb.CatchUp_State(i + 1)
		}
	}
	return out
}

func toCatchUp(in *pb.CatchUp) (c *transport.CatchUp, err error) {
	if in == nil {
		return nil, errors.New("signal.catch_up is missing: caught-up needs one")
	}
	if in.GetState() < 1 || int(in.GetState()) > len(catchUpStates) {
		return nil, fmt.Errorf("signal.catch_up.state %d is unknown", in.GetState())
	}
	c = &transport.CatchUp{State: catchUpStates[in.GetState()-1], Reason: in.GetReason()}
	if c.Pending, err = toCount[int64]("signal.catch_up.pending", in.Pending); err != nil {
		return nil, err
	}
	if c.Watermark, err = toCount[event.Seq]("signal.catch_up.watermark", in.Watermark); err != nil {
		return nil, err
	}
	switch {
	case c.State != transport.CatchUpDone && in.Pending != nil:
		return nil, fmt.Errorf("signal.catch_up.pending does not go with %s: what was not counted is not known", c.State)
	case c.State != transport.CatchUpDone && c.Reason == "":
		return nil, fmt.Errorf("signal.catch_up.reason is missing: %s needs one", c.State)
	}
	return c, checkText("signal.catch_up.reason", c.Reason, MaxText)
}
