package drive

import (
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// wake gives the session what a fleet-wake transport said. A signal without its content, or on a wire of another kind, is a transport
// out of its grammar.
func wake(l Loop, e session.Epoch, now session.Now, sig transport.Signal) {
	s, ok := l.(*session.Session)
	switch {
	case !ok:
		l.Down(e, now, session.Down{Kind: session.Stopped, Ends: session.ProtocolError, Detail: "wake on a polling transport"})
	case sig.Kind == transport.WakeStated && sig.WakeState != nil:
		st := sig.WakeState
		s.WakeStated(e, now, session.WakeState{
			Armed: st.Armed, Reason: st.Reason, HasReason: st.HasReason, LastPushAt: session.Known(st.LastPushAt),
			ConnectedIdentities: session.Known(st.ConnectedIdentities), ArmedForViewer: st.ArmedForViewer, SubscriptionID: st.SubscriptionID,
		})
	case sig.Kind == transport.Woken && sig.Wake != nil:
		w := sig.Wake
		s.Woken(e, now, session.Wake{SubscriptionID: w.SubscriptionID, LogID: w.LogID, Dropped: w.Dropped})
	case sig.Kind == transport.CaughtUp && sig.CatchUp != nil:
		c := sig.CatchUp
		s.CaughtUp(e, now, session.CatchUp{
			State: session.ParseCatchUpState(string(c.State)), Pending: session.Known(c.Pending), Watermark: c.Watermark, Reason: c.Reason,
		})
	default:
		s.Down(e, now, session.Down{Kind: session.Stopped, Ends: session.ProtocolError, Detail: "signal without content"})
	}
}
