package simulator

import (
	"slices"
	"strconv"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// sse is the server of the SSE wire (docs/wire.md): it answers requests and moves its open streams on.
type sse struct {
	sim      *Simulator
	requests uint32
	streams  []*stream // open ones, in the order of their requests: outputs never depend on the order of a map
}

func (s *sse) init(sim *Simulator) { s.sim = sim }

func (s *sse) find(c Conn) *stream {
	for _, st := range s.streams {
		if st.conn == c {
			return st
		}
	}
	return nil
}

// request answers one request: the honest answer first, then what the schedule makes of it.
func (s *sse) request(c Conn, r Request) {
	s.requests++
	req, no := s.parseRequest(r)
	a := s.honest(&req, s.requests)
	switch {
	case no != nil:
		a.refuse(no.status, no.title, no.detail)
		a.how = "refused"
		if no.status == 405 {
			a.header["Allow"] = []string{"GET"}
		}
	case len(s.streams) >= s.sim.opt.Connections:
		a.refuse(503, "Service Unavailable", "connections: at most "+strconv.Itoa(s.sim.opt.Connections)+" at a time")
		a.header["Retry-After"] = []string{"1"}
		a.how = "full"
	}
	var struck []*armed
	if no == nil {
		s.sim.plan.each(func(f *armed) {
			a.by = f
			if l, ok := f.logic.(answerer); ok && f.on(a.n, req.resume()) && !f.event() && l.answer(a) {
				struck = append(struck, f)
			}
		})
	}
	if no == nil {
		a.authorize()
	}
	status := ""
	if a.status != 0 {
		status = strconv.Itoa(a.status)
	}
	s.sim.record(trace.Record{Kind: trace.ServerRequest, Epoch: a.n, Status: status, Detail: a.how,
		Seq: req.position, Cursor: trace.Digest("cursor", req.raw)})
	for _, f := range struck {
		s.sim.strike(f, a.n, event.NoSeq)
	}
	s.open(c, a)
}

// open sends the head and what stands at the start of the stream.
func (s *sse) open(c Conn, a *answer) {
	st := a.stream
	st.conn = c
	s.streams = append(s.streams, st)
	if a.status == 0 {
		return
	}
	if a.status != 200 {
		st.page(a)
	} else if a.body != nil {
		st.page(a)
	} else {
		if _, set := a.header["Content-Type"]; !set {
			a.header["Content-Type"] = []string{"text/event-stream"}
		}
		a.header["Cache-Control"] = []string{"no-store"}
		st.begin(a)
	}
	s.sim.out = append(s.sim.out, Output{Conn: c, Head: &Head{a.status, a.header}})
}

func (s *sse) gone(c Conn) {
	if st := s.find(c); st != nil {
		s.closed(st, gone, "")
	}
}

func (s *sse) written(c Conn, n int) {
	if st := s.find(c); st != nil {
		st.took(int64(n))
	}
}

// pump moves every stream as far as it can go.
func (s *sse) pump() {
	for _, st := range slices.Clone(s.streams) {
		st.pump()
	}
}

// close ends a stream toward its client.
func (s *sse) close(st *stream, kind CloseKind, why string, now bool) {
	s.sim.out = append(s.sim.out, Output{Conn: st.conn, Close: &Close{kind, now}})
	s.closed(st, kind, why)
}

func (s *sse) closed(st *stream, kind CloseKind, why string) {
	r := trace.Record{Kind: trace.ServerClosed, Epoch: st.n, Seq: event.NoSeq, Detail: string(kind)}
	if why != "" {
		r.Args = map[string]string{"why": why}
	}
	s.sim.record(r)
	st.over = true
	s.streams = slices.DeleteFunc(s.streams, func(x *stream) bool { return x == st })
}

// endAll ends every stream, each when its send queue is empty.
func (s *sse) endAll(kind CloseKind, why string) {
	for _, st := range slices.Clone(s.streams) {
		st.end(kind, why)
	}
}

func (s *sse) deadline() (at time.Duration, ok bool) {
	for _, st := range s.streams {
		if t, due := st.deadline(); due && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}
