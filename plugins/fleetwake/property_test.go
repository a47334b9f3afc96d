package fleetwake

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// TestMark: over any number of connections, the mark that the machine tells is never below one that it told or was given, a poll starts
// from what was held when its connection began and is made once, for a subscription that this connection named, and a count is told
// only where an answer had one.
func TestMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &client{t: t, mark: event.NoSeq}
		for range rapid.IntRange(1, 4).Draw(t, "connections") {
			l.connect()
			for range rapid.IntRange(0, 20).Draw(t, "steps") {
				l.step()
			}
			l.m.End(nil)
			l.take()
		}
	})
}

// client holds the mark over connections, as a session does.
type client struct {
	t      *rapid.T
	m      Machine
	epoch  uint32
	now    time.Duration
	mark   event.Seq // highest that was told
	since  event.Seq // held when this connection began
	named  map[string]bool
	polls  []Poll
	own    int   // polls of this connection
	counts int64 // what the answer given just now counts; -1 for none
}

func (c *client) connect() {
	c.epoch++
	c.since, c.own, c.named = max(c.mark, 0), 0, map[string]bool{}
	a := own()
	a.Epoch, a.Options[OptionPoll] = c.epoch, PollMCP
	if c.mark.Valid() {
		a.Resume.Watermark = strconv.FormatInt(int64(c.mark), 10)
	}
	c.m.Start(a)
	c.take()
	c.m.Head(stream())
	c.take()
}

func (c *client) step() {
	t := c.t
	id := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id")
	n := rapid.Int64Range(-2, 40).Draw(t, "n")
	c.counts = -1
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		c.named[id] = true
		c.m.Bytes(fmt.Appendf(nil, "event: state\ndata: {\"armed\":true,\"lastPushAt\":null,\"connectedIdentities\":0,\"armedForViewer\":true,\"subscriptionId\":%q}\n\n", id))
	case 1:
		if len(c.named) == 0 {
			c.named[id] = true
		}
		c.m.Bytes(fmt.Appendf(nil, "event: wake\ndata: {\"subscriptionId\":%q,\"envelope\":{\"schemaVersion\":\"1.0\",\"eventType\":\"wake/digest\",\"eventId\":\"e\",\"logId\":%d,\"agentIdentity\":\"x\",\"subscriptionId\":%q,\"payload\":{},\"emittedAt\":\"\"}}\n\n", id, n, id))
	case 2:
		if len(c.polls) > 0 {
			c.counts = max(n, -1)
			c.m.Polled(rapid.SampledFrom(c.polls).Draw(t, "poll"), PollResult{Answer: fmt.Appendf(nil, `{"pending":%d,"watermark":%d}`, n, rapid.Int64Range(-2, 60).Draw(t, "mark"))})
		}
	case 3:
		if len(c.polls) > 0 {
			c.m.Polled(rapid.SampledFrom(c.polls).Draw(t, "poll"), PollResult{Failed: "HTTP 500"})
		}
	case 4:
		c.now += time.Duration(rapid.IntRange(0, 20).Draw(t, "s")) * time.Second
		c.m.Wake(c.now)
	}
	c.take()
}

func (c *client) take() {
	t := c.t
	for o, ok := c.m.Take(); ok; o, ok = c.m.Take() {
		if o.Signal == nil {
			continue
		}
		switch s := o.Signal; s.Kind {
		case transport.Woken:
			c.mark = max(c.mark, s.Wake.LogID)
		case transport.CaughtUp:
			if s.CatchUp.Watermark < c.mark {
				t.Fatalf("the mark fell from %d to %d", c.mark, s.CatchUp.Watermark)
			}
			c.mark = s.CatchUp.Watermark
			if s.CatchUp.Pending != c.counts {
				t.Fatalf("%d pending, the answer counts %d", s.CatchUp.Pending, c.counts)
			}
			if (s.CatchUp.State == transport.CatchUpDone) != (s.CatchUp.Reason == "") {
				t.Fatalf("%+v", s.CatchUp)
			}
		}
	}
	if p, due := c.m.PollDue(); due {
		if c.own++; c.own > 1 || p.Since != c.since || p.Epoch != c.epoch || !c.named[p.SubscriptionID] {
			t.Fatalf("poll %d of connection %d: %+v, held %d, named %v", c.own, c.epoch, p, c.since, c.named)
		}
		c.polls = append(c.polls, p)
	}
}
