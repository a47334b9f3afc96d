package fleetwake

import (
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// The one kind of envelope that is understood (fleet facts 3.2).
const (
	schemaVersion = "1.0"
	eventType     = "wake/digest"
)

// decodeWake reads the data of a `wake` frame (fleet facts 2.2, 3.2). dropped is the word for one that does not count, why says more
// in fixed words. The signature of the envelope is not forwarded, so nothing can be verified here: a wake is a hint.
//
// LogID is what raises the mark: payload.watermark if that is there and not null, otherwise logId, and only a non-negative safe
// integer.
func decodeWake(data []byte) (w transport.Wake, dropped, why string) {
	outer, why := openObject(data)
	if why != "" {
		return w, transport.DroppedFrame, why
	}
	id, ok := outer.name("subscriptionId")
	if !ok {
		return w, transport.DroppedFrame, "subscriptionId is no string of 1 to 1024 bytes"
	}
	env, ok := outer.object("envelope")
	if !ok {
		return w, transport.DroppedFrame, "envelope is no object"
	}
	if dropped, why = checkKind(env); dropped != "" {
		return w, dropped, why
	}
	eventID, why := checkEnvelope(env, id)
	if why != "" {
		return w, transport.DroppedFrame, why
	}
	return transport.Wake{SubscriptionID: id, EventID: eventID, LogID: markOf(env), Envelope: outer["envelope"]}, "", ""
}

// checkKind: what a newer envelope holds is not guessed at.
func checkKind(env object) (dropped, why string) {
	version, ok := env.text("schemaVersion")
	switch {
	case !ok:
		return transport.DroppedFrame, "schemaVersion is no string"
	case version != schemaVersion:
		return transport.DroppedSchemaVersion, "schemaVersion is not 1.0"
	}
	kind, ok := env.text("eventType")
	switch {
	case !ok:
		return transport.DroppedFrame, "eventType is no string"
	case kind != eventType:
		return transport.DroppedEventType, "eventType is not wake/digest"
	}
	return "", ""
}

func checkEnvelope(env object, subscription string) (eventID, why string) {
	eventID, ok := env.name("eventId")
	if !ok {
		return "", "eventId is no string of 1 to 1024 bytes"
	}
	if _, ok := env.name("agentIdentity"); !ok {
		return "", "agentIdentity is no string of 1 to 1024 bytes"
	}
	if id, _ := env.text("subscriptionId"); id != subscription {
		return "", "subscriptionId of frame and envelope differ"
	}
	if _, ok := env.object("payload"); !ok {
		return "", "payload is no object"
	}
	if _, ok := env.text("emittedAt"); !ok {
		return "", "emittedAt is no string"
	}
	if _, there := env["logId"]; there && !env.number("logId") {
		return "", "logId is no number"
	}
	return eventID, ""
}

// markOf: a payload.watermark that is there but is no mark moves nothing, and logId does not stand in for it (fleet facts 5.6).
func markOf(env object) event.Seq {
	if payload, _ := env.object("payload"); payload.has("watermark") {
		return payload.count("watermark")
	}
	return env.count("logId")
}
