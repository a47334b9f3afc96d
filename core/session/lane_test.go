package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
)

// lane gives the inputs of a fleet-wake session; false if name is none.
//
//	state [id=ID] [armed] [reason=TEXT] [push=MS] [identities=N]
//	wake [id=ID] [log=N] [dropped=WORD]
//	caught STATE [pending=N] [mark=N] [reason=TEXT]
func (w *world) lane(t *testing.T, name string, a args, now session.Now, e session.Epoch) bool {
	count := func(key string) session.Count {
		if a[key] == "" {
			return session.Count{}
		}
		return session.Known(int64(a.num(t, key)))
	}
	seq := func(key string) event.Seq {
		if a[key] == "" {
			return event.NoSeq
		}
		return event.Seq(a.num(t, key))
	}
	switch name {
	case "state":
		reason, has := a["reason"]
		w.s.WakeStated(e, now, session.WakeState{
			Armed: true, Reason: strings.ReplaceAll(reason, "_", " "), HasReason: has, LastPushAt: count("push"), ConnectedIdentities: count("identities"),
			ArmedForViewer: a["armed"] != "", SubscriptionID: a["id"],
		})
	case "wake":
		w.s.Woken(e, now, session.Wake{SubscriptionID: a["id"], LogID: seq("log"), Dropped: a["dropped"]})
	case "caught":
		w.s.CaughtUp(e, now, session.CatchUp{
			State: session.ParseCatchUpState(a["state"]), Pending: count("pending"), Watermark: seq("mark"), Reason: strings.ReplaceAll(a["reason"], "_", " "),
		})
	default:
		return false
	}
	return true
}

func (w *world) showLane() string {
	o := w.s.ObserveWake()
	v, c := session.Liveness(&o, w.stamp()), session.CatchUpAxis(&o)
	return fmt.Sprintf("alive=%v %s\ncatch-up=%v pending=%v %s\nid=%s vouched=%v mark=%d pending=%v wakes=%d dropped=%d %s push=%v drops=%d floor=%v\n",
		v.Alive, v.Reason, c.State, c.Pending, c.Reason,
		o.SubscriptionID, o.Vouched, o.Watermark, o.PendingAtCatchUp, o.Wakes, o.Dropped, o.LastDropped, o.LastPushAt(), o.Drops, o.RetryFloor)
}
