package fleetwake

import "github.com/conform-dev/conform/core/event"

// PollAnswer is what the answer of a poll-digest says, as far as the relay uses it: how much there is, never what.
type PollAnswer struct {
	Pending   int64     // -1: the answer holds no count
	Watermark event.Seq // NoSeq: the answer names no mark
}

// The words for an answer that does not count.
const (
	notAnAnswer   = "the answer is no JSON object"
	foreignAnswer = "the answer is for another subscription"
)

// DecodePollAnswer reads the answer to a poll for subscription (fleet facts 4). Pending is counts.pending if that is there and not
// null, otherwise pending. Only a non-negative safe integer is a count or a mark, and what is none is not known, never 0
// (D-51, P-FW-15). why is empty for an answer that counts.
func DecodePollAnswer(doc []byte, subscription string) (a PollAnswer, why string) {
	a = PollAnswer{Pending: -1, Watermark: event.NoSeq}
	o, bad := openObject(doc)
	if bad != "" {
		return a, notAnAnswer
	}
	if _, there := o["subscriptionId"]; there {
		if id, _ := o.text("subscriptionId"); id != subscription {
			return a, foreignAnswer
		}
	}
	a.Watermark = o.count("watermark")
	from := o
	if counts, ok := o.object("counts"); ok && counts.has("pending") {
		from = counts
	}
	a.Pending = int64(from.count("pending"))
	return a, ""
}
