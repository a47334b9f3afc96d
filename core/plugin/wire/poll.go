package wire

import (
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/conform-dev/conform/core/event"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// toRefresh reads the position of a refresh. Each of its texts is bounded as that of an event, for it takes the place of one.
func toRefresh(in *pb.Position) (event.Position, error) {
	p, err := toPosition("signal.position", in)
	switch {
	case err != nil:
		return event.Position{}, err
	case p == event.NoPosition:
		return event.Position{}, errors.New("signal.position is missing: refreshed needs one")
	}
	for _, text := range []struct{ name, text string }{
		{"cursor", p.Cursor}, {"watermark", p.Watermark}, {"timestamp", p.Timestamp}, {"delta_token", p.DeltaToken},
	} {
		if err := checkText("signal.position."+text.name, text.text, MaxMember); err != nil {
			return event.Position{}, err
		}
	}
	return p, nil
}

func fromPoll(p *transport.PollReport) *pb.Poll {
	if p == nil {
		return nil
	}
	return &pb.Poll{
		IntervalMs: p.Interval.Milliseconds(), NextMs: p.Next.Milliseconds(), Sequence: fromCount(p.Seq),
		Changed: p.Changed, Upserts: int64(p.Upserts), Deletes: int64(p.Deletes),
	}
}

func toPoll(in *pb.Poll) (*transport.PollReport, error) {
	if in == nil {
		return nil, errors.New("signal.poll is missing: polled needs one")
	}
	for _, n := range []struct {
		name        string
		value, most int64
	}{
		{"interval_ms", in.GetIntervalMs(), math.MaxInt64 / int64(time.Millisecond)},
		{"next_ms", in.GetNextMs(), math.MaxInt64 / int64(time.Millisecond)},
		{"upserts", in.GetUpserts(), math.MaxInt32},
		{"deletes", in.GetDeletes(), math.MaxInt32},
	} {
		if n.value < 0 || n.value > n.most {
			return nil, fmt.Errorf("signal.poll.%s %d is outside 0 to %d", n.name, n.value, n.most)
		}
	}
	seq, err := toCount[event.Seq]("signal.poll.sequence", in.Sequence)
	if err != nil {
		return nil, err
	}
	return &transport.PollReport{
		Interval: time.Duration(in.GetIntervalMs()) * time.Millisecond, Next: time.Duration(in.GetNextMs()) * time.Millisecond,
		Seq: seq, Changed: in.GetChanged(), Upserts: int(in.GetUpserts()), Deletes: int(in.GetDeletes()),
	}, nil
}

// fromCount is a number that may be unknown. -1 stands for that in core/transport and is absent in the protocol; anything else
// goes out as it is, so that the check finds it.
func fromCount[N ~int64](n N) *int64 {
	if n == -1 {
		return nil
	}
	return proto.Int64(int64(n))
}

// toCount reads one, -1 if it is absent.
func toCount[N ~int64](member string, n *int64) (N, error) {
	switch {
	case n == nil:
		return -1, nil
	case *n < 0 || *n > int64(event.MaxSeq):
		return -1, fmt.Errorf("%s %d is outside 0 to %d", member, *n, event.MaxSeq)
	}
	return N(*n), nil
}
