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

// FromSignal is what a plugin sends. Detail is cut to MaxDetail; everything else that the protocol cannot carry is an error: it
// is a mistake of the transport.
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
	if s.Kind == transport.Answered {
		out.Answer = fromAnswer(s.Answer)
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
	if in.GetKind() <= pb.Signal_KIND_UNSPECIFIED || in.GetKind() > pb.Signal_ENDED {
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
	if s.Kind == transport.Answered {
		answer, err := toAnswer(in.GetAnswer())
		if err != nil {
			return transport.Signal{}, err
		}
		s.Answer = answer
	}
	return s, nil
}

// checkMembers asks for the members without which a signal of that kind means nothing.
func checkMembers(s transport.Signal) error {
	switch s.Kind {
	case transport.Refused, transport.Ended:
		if s.Cause == transport.CauseNone {
			return fmt.Errorf("signal.cause is missing: %v needs one", s.Kind)
		}
	case transport.Expired, transport.Gap:
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
		a.Head = event.Seq(in.GetHead())
		if !a.Head.Valid() {
			return a, fmt.Errorf("signal.answer.head %d is outside 0 to %d", in.GetHead(), event.MaxSeq)
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
