package drive

import (
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// Query is what attempt a asks for. A reconnect without a position needs a snapshot, and a query for deltas alone would never
// bring one: it is raised to snapshot-then-delta (facts 5.6 rule 4). The first attempt asks as its caller did.
func Query(q transport.Query, a session.Attempt) transport.Query {
	if q.Mode == "delta" && a.Epoch > 1 && a.Resume.Seq == event.NoSeq {
		q.Mode = "snapshot-then-delta"
	}
	return q
}
