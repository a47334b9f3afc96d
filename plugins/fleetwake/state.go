package fleetwake

import "github.com/conform-dev/conform/core/transport"

// decodeState reads the data of a `state` frame by the types and null rules of fleet facts 2.1. why names what is wrong, in fixed words;
// empty if nothing is. A reason that is null or absent is none carried; connectedIdentities that is a number but no count is unknown.
func decodeState(data []byte) (st transport.WakeState, why string) {
	o, why := openObject(data)
	if why != "" {
		return st, why
	}
	st.ConnectedIdentities = int64(o.count("connectedIdentities"))
	st.LastPushAt = -1
	var ok bool
	if st.Armed, ok = o.flag("armed"); !ok {
		return st, "armed is no boolean"
	}
	if st.ArmedForViewer, ok = o.flag("armedForViewer"); !ok {
		return st, "armedForViewer is no boolean"
	}
	if st.Reason, st.HasReason = o.text("reason"); !st.HasReason && o.has("reason") {
		return st, "reason is no string"
	}
	if _, there := o["lastPushAt"]; !there {
		return st, "lastPushAt is missing"
	}
	if o.has("lastPushAt") {
		if st.LastPushAt = int64(o.count("lastPushAt")); st.LastPushAt < 0 {
			return st, "lastPushAt is neither null nor a time in milliseconds"
		}
	}
	if !o.number("connectedIdentities") {
		return st, "connectedIdentities is no number"
	}
	return st, vouched(o, &st)
}

// vouched reads the id that the server vouches for. One for a viewer that is not armed is no word to rely on: the member is there if
// and only if the lane is armed for this viewer.
func vouched(o object, st *transport.WakeState) (why string) {
	if _, there := o["subscriptionId"]; !there {
		return ""
	}
	id, ok := o.name("subscriptionId")
	switch {
	case !ok:
		return "subscriptionId is no string of 1 to 1024 bytes"
	case !st.ArmedForViewer:
		return "subscriptionId is there although armedForViewer is false"
	}
	st.SubscriptionID = id
	return ""
}
