package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/conform-dev/conform/simulator"
)

// wake is one digest on its way: what the plane's sender posts.
type wake struct {
	eventID string
	body    []byte
}

// EventID is the id of a digest: the same for every attempt at it (fleet facts 3.2).
func EventID(subscription string, sources []string) string {
	b := append(appendQuoted([]byte{'['}, subscription), ",["...)
	for i, source := range sources {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, source)
	}
	sum := sha256.Sum256(append(b, "]]"...))
	return "wake-digest:" + hex.EncodeToString(sum[:])
}

// newWake makes the digest of events, which are not empty. Its log id is that of the last one queued, which need not be the largest.
func newWake(subscription, identity string, events []Event, windowMs, wall int64) wake {
	sources := make([]string, len(events))
	for i, e := range events {
		sources[i] = e.Source
	}
	w := wake{eventID: EventID(subscription, sources)}
	b := appendQuoted([]byte(`{"schemaVersion":"1.0","eventType":"wake/digest","eventId":`), w.eventID)
	b = strconv.AppendInt(append(b, `,"logId":`...), events[len(events)-1].logID, 10)
	b = appendQuoted(append(b, `,"agentIdentity":`...), identity)
	b = appendQuoted(append(b, `,"subscriptionId":`...), subscription)
	b = strconv.AppendInt(append(b, `,"payload":{"totalEvents":`...), int64(len(events)), 10)
	b = append(b, `,"breakdown":{`...)
	for i, kind := range []EventKind{Message, TaskState, Permission} {
		n, latest := 0, "null"
		for _, e := range events {
			if e.Kind == kind {
				n, latest = n+1, quoted(e.Source)
			}
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendQuoted(b, string(kind)), `:{"count":`+strconv.Itoa(n)+`,"latest":`+latest+`}`...)
	}
	b = append(b, `},"sourceEventIds":[`...)
	for i, source := range sources {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, source)
	}
	b = strconv.AppendInt(append(b, `],"windowMs":`...), windowMs, 10)
	w.body = append(b, `},"emittedAt":`+quoted(iso(wall))+`}`...)
	return w
}

// header is what a wake is posted with.
func (w wake) header(subscription, key string) simulator.Header {
	return simulator.Header{
		"Content-Type":     {"application/json"},
		headerSubscription: {subscription},
		headerEvent:        {w.eventID},
		headerSchema:       {schemaVersion},
		headerSignature:    {Sign(key, w.body)},
	}
}
