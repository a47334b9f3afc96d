package wire

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/conform-dev/conform/core/event"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// FromSignal is what a plugin sends. Detail and a wake state's reason are cut to their limits; everything else that the protocol
// cannot carry is an error: it is a mistake of the transport. It copies what it keeps.
func FromSignal(s transport.Signal) (*pb.Signal, error) {
	out := &pb.Signal{
		Kind:         pb.Signal_Kind(s.Kind),
		Status:       int32(s.Status),
		Reason:       s.Reason.String(),
		Cause:        pb.Cause(s.Cause),
		Detail:       cut(s.Detail, MaxDetail),
		RetryAfterMs: s.RetryAfter.Milliseconds(),
		Cursor:       s.Cursor,
	}
	if s.Status < 0 || s.Status > MaxStatus {
		return nil, fmt.Errorf("signal.status %d is outside 0 to %d", s.Status, MaxStatus)
	}
	switch s.Kind {
	case transport.Answered:
		out.Answer = fromAnswer(s.Answer)
	case transport.Refreshed:
		out.Position = fromPosition(s.Position)
	case transport.Polled:
		out.Poll = fromPoll(s.Poll)
	case transport.WakeStated:
		out.WakeState = fromWakeState(s.WakeState)
	case transport.Woken:
		out.Wake = fromWake(s.Wake)
	case transport.CaughtUp:
		out.CatchUp = fromCatchUp(s.CatchUp)
	}
	// What we are about to send must be what the other side accepts.
	if _, err := ToSignal(out); err != nil {
		return nil, err
	}
	return out, nil
}

// ToSignal checks what a plugin said. The error names the member and its value, never a text of the server's.
func ToSignal(in *pb.Signal) (transport.Signal, error) {
	s := transport.Signal{Kind: transport.SignalKind(in.GetKind()), Detail: in.GetDetail(), Cursor: in.GetCursor()}
	if in.GetKind() <= pb.Signal_KIND_UNSPECIFIED || in.GetKind() > pb.Signal_CAUGHT_UP {
		return transport.Signal{}, fmt.Errorf("signal.kind %d is unknown", in.GetKind())
	}
	if in.GetStatus() < 0 || in.GetStatus() > MaxStatus {
		return transport.Signal{}, fmt.Errorf("signal.status %d is outside 0 to %d", in.GetStatus(), MaxStatus)
	}
	s.Status = int(in.GetStatus())
	if in.GetCause() < 0 || in.GetCause() > pb.Cause_PROTOCOL_ERROR {
		return transport.Signal{}, fmt.Errorf("signal.cause %d is unknown or not the plugin's to report", in.GetCause())
	}
	s.Cause = transport.Cause(in.GetCause())
	if text := in.GetReason(); text != "" {
		reason, ok := event.ParseReason(text)
		if !ok {
			return transport.Signal{}, fmt.Errorf("signal.reason is none of the contract's reasons (%d bytes)", len(text))
		}
		s.Reason = reason
	}
	if ms := in.GetRetryAfterMs(); ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return transport.Signal{}, fmt.Errorf("signal.retry_after_ms %d is out of range", ms)
	}
	s.RetryAfter = time.Duration(in.GetRetryAfterMs()) * time.Millisecond
	if err := checkText("signal.detail", s.Detail, MaxDetail); err != nil {
		return transport.Signal{}, err
	}
	if err := checkText("signal.cursor", s.Cursor, MaxFraming); err != nil {
		return transport.Signal{}, err
	}
	if err := checkMembers(s); err != nil {
		return transport.Signal{}, err
	}
	if err := toContent(in, &s); err != nil {
		return transport.Signal{}, err
	}
	return s, nil
}

// toContent reads the message that goes with the signal's kind, and no other.
func toContent(in *pb.Signal, s *transport.Signal) (err error) {
	switch s.Kind {
	case transport.Answered:
		s.Answer, err = toAnswer(in.GetAnswer())
	case transport.Refreshed:
		s.Position, err = toRefresh(in.GetPosition())
	case transport.Polled:
		s.Poll, err = toPoll(in.GetPoll())
	case transport.WakeStated:
		s.WakeState, err = toWakeState(in.GetWakeState())
	case transport.Woken:
		s.Wake, err = toWake(in.GetWake())
	case transport.CaughtUp:
		s.CatchUp, err = toCatchUp(in.GetCatchUp())
	}
	return err
}

// checkMembers asks for the members without which a signal of that kind means nothing.
func checkMembers(s transport.Signal) error {
	switch s.Kind {
	case transport.Refused, transport.Ended:
		if s.Cause == transport.CauseNone {
			return fmt.Errorf("signal.cause is missing: %v needs one", s.Kind)
		}
	case transport.Expired, transport.Gap, transport.Recovering:
		if s.Reason == event.None {
			return fmt.Errorf("signal.reason is missing: %v needs one", s.Kind)
		}
	}
	return nil
}

func fromAnswer(a transport.Answer) *pb.Answer {
	out := &pb.Answer{StreamEpoch: a.StreamEpoch, Rejected: a.Rejected, ClosingSoon: a.ClosingSoon}
	if a.Head != event.NoSeq {
		out.Head = proto.Int64(int64(a.Head))
	}
	if a.Resumed != transport.Unsaid {
		out.Resumed = proto.Bool(a.Resumed == transport.Yes)
	}
	return out
}

func toAnswer(in *pb.Answer) (transport.Answer, error) {
	a := transport.Answer{StreamEpoch: in.GetStreamEpoch(), Head: event.NoSeq, Rejected: in.GetRejected(), ClosingSoon: in.GetClosingSoon()}
	if in == nil {
		return a, fmt.Errorf("signal.answer is missing: answered needs one")
	}
	if in.Head != nil {
		var err error
		if a.Head, err = toCount[event.Seq]("signal.answer.head", in.Head); err != nil {
			return a, err
		}
	}
	if in.Resumed != nil {
		a.Resumed = transport.No
		if in.GetResumed() {
			a.Resumed = transport.Yes
		}
	}
	if a.Rejected != "" {
		if _, ok := event.ParseReason(a.Rejected); !ok {
			return a, fmt.Errorf("signal.answer.rejected is none of the contract's reasons (%d bytes)", len(a.Rejected))
		}
	}
	return a, checkText("signal.answer.stream_epoch", a.StreamEpoch, MaxText)
}
