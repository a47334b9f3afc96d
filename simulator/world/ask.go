package world

import (
	"fmt"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/fleetwake"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
)

// poller is a machine that owes a poll beside its stream.
type poller interface {
	PollDue() (fleetwake.Poll, bool)
	Polled(fleetwake.Poll, fleetwake.PollResult)
}

// ask is one poll on its way: a request on a connection of its own.
type ask struct {
	l      *line
	due    fleetwake.Poll
	status int
	body   []byte
}

// poll sends the poll that the machine owes, if it owes one.
func (l *line) poll() {
	p, ok := l.machine.(poller)
	if !ok || l.over {
		return
	}
	due, owed := p.PollDue()
	w := l.c.w
	if !owed || w.pollsHeld {
		return
	}
	w.conns++
	conn := w.conns
	w.asks[conn] = &ask{l: l, due: due}
	w.in(micros(w.dials.take(0)), func() {
		if w.down {
			w.answered(conn, fleetwake.PollResult{Failed: "no-connection"})
			return
		}
		header := simulator.Header{"Content-Type": {"application/json"}}
		for _, h := range w.setup.Headers() {
			header["Authorization"] = []string{h.Value.Reveal()}
		}
		body := fmt.Appendf(nil, `{"subscriptionId":%q,"sinceLogId":%d}`, due.SubscriptionID, due.Since)
		w.lane.Request(w.simClock(), conn, fleet.Request{Method: "POST", Target: fleet.PollPath, Host: originHost, Header: header, Body: body})
		w.serve()
	})
}

// take collects an answer; it is whole when its connection closes.
func (a *ask) take(out simulator.Output) {
	switch {
	case out.Head != nil:
		a.status = out.Head.Status
	case len(out.Bytes) > 0:
		a.body = append(a.body, out.Bytes...)
	case out.Close != nil:
		r := fleetwake.PollResult{Answer: a.body}
		if a.status != 200 {
			r = fleetwake.PollResult{Failed: fmt.Sprintf("HTTP %d", a.status)}
		}
		w := a.l.c.w
		w.in(micros(w.delays.take(0)), func() { w.answered(out.Conn, r) })
	}
}

// answered gives a result to the machine that asked. One whose connection is over gets nothing (D-51).
func (w *World) answered(c simulator.Conn, r fleetwake.PollResult) {
	a := w.asks[c]
	delete(w.asks, c)
	if a.l.over {
		return
	}
	a.l.tell()
	a.l.machine.(poller).Polled(a.due, r)
	a.l.read()
}

var _ poller = (*fleetwake.Machine)(nil)

var _ transport.Machine = (*fleetwake.Machine)(nil)
