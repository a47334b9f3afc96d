package world

import (
	"errors"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/sse"
	"github.com/conform-dev/conform/simulator"
)

var errBaseline = errors.New("a stored position must be that of the feed's first snapshot: nobody has the rows of any other")

// Rows is what the consumer holds before the client starts: nothing, or, if a position is stored that still counts, the rows
// that belong to it.
// They are asked for as any client would, from a simulator of its own, over SSE: every wire serves the same rows.
func (s *Setup) Rows() (*simulator.Rows, error) {
	rows := simulator.NewRows(Source)
	if s.Stored == nil || s.Stored.Other != "" || s.Stored.Age != 0 || s.Stored.Damage != "" || s.Stored.Wire || s.Stored.Version != 0 && s.Stored.Version != Version {
		return rows, nil
	}
	if s.Stored.Seq != event.Seq(s.Records) {
		return nil, errBaseline
	}
	opt := s.Simulator()
	opt.Schedule, opt.Accepts = simulator.Schedule{}, nil
	sim, err := simulator.New(opt)
	if err != nil {
		return nil, err
	}
	m := sse.NewMachine()
	m.Start(transport.Attempt{Epoch: 1, Endpoint: origin + wires[0].path, Query: s.Client.Query(), Resume: event.NoPosition})
	asked, _ := m.Take()
	if asked.Request == nil {
		return nil, errBaseline
	}
	to, _ := target(asked.Request.URL)
	sim.Request(simulator.Now{}, 1, simulator.Request{Method: asked.Request.Method, Target: to})
	for o, more := sim.Take(); more; o, more = sim.Take() {
		switch {
		case o.Head != nil:
			m.Head(transport.Head{Status: o.Head.Status, Header: transport.Header(o.Head.Header)})
		case len(o.Bytes) > 0:
			m.Bytes(o.Bytes)
		}
		for out, ok := m.Take(); ok; out, ok = m.Take() {
			if out.Document != nil {
				return rows, rows.Apply(out.Document.JSON)
			}
		}
	}
	return nil, errBaseline
}
