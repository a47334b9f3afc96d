package simulator

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// The wires of a simulator: the words of At.Wire, Connection.Wire and the records' argument `wire`.
const (
	SSE       = "sse"
	WebSocket = "websocket"
	OData     = "odata"
)

// WireNames are the wires that there are.
func WireNames() []string { return []string{SSE, WebSocket, OData} }

// wire is the server of one wire. All share one feed, one schedule of faults and one count of requests, so that a change made once
// is seen on each, and a fault strikes the one that it is aimed at.
//
// A further wire embeds a table, which does everything but the first two: it keeps the open connections, moves their bytes,
// counts what was written, and ends them. What it adds is how a request is read, and what goes into a stream. One that
// answers each request with one body (polling) makes an answer, sets its body and calls stream.page: drip, split, cut at a byte
// and stall then work as they do for streams. It is made known in New, and its requests come by serves; an unknown path is
// answered by the first wire. table.admit applies the faults of an answer (status, redirect, unanswered, revoke); the
// faults of single events are the wire's to ask for, with plan.each and sender, as stream.compose does.
type wire interface {
	serves(path string) bool
	request(c Conn, n uint32, r Request) // the n-th of all
	gone(c Conn)
	written(c Conn, n int)
	received(c Conn, b []byte) // bytes of the client behind an upgrade; b is the driver's and is not kept
	pump()
	deadline() (at time.Duration, ok bool)
	state() []Connection
	connections() []*stream // open ones, in the order of their requests
	endAll(kind CloseKind, why string)
}

// route finds the wire that a request is for.
func (s *Simulator) route(target string) wire {
	if len(target) <= MaxTarget {
		if u, err := url.ParseRequestURI(target); err == nil {
			for _, w := range s.wires {
				if w.serves(u.Path) {
					return w
				}
			}
		}
	}
	return s.wires[0]
}

// open counts the connections of all wires.
func (s *Simulator) open() int {
	n := 0
	for _, w := range s.wires {
		n += len(w.connections())
	}
	return n
}

// table holds the open connections of one wire.
type table struct {
	sim     *Simulator
	wire    string
	path    string
	streams []*stream // in the order of their requests: outputs never depend on the order of a map
}

func (t *table) serves(path string) bool { return path == t.path }

func (t *table) connections() []*stream { return t.streams }

func (t *table) find(c Conn) *stream {
	for _, st := range t.streams {
		if st.conn == c {
			return st
		}
	}
	return nil
}

// admit makes what the schedule wants out of an honest answer, and refuses what cannot be served. It answers the faults that
// struck; they are recorded behind the request.
func (t *table) admit(a *answer, no *refusal) (struck []*armed) {
	switch {
	case no != nil:
		a.refuse(no.status, no.title, no.detail)
		a.how = "refused"
		for name, value := range no.header {
			a.header[name] = []string{value}
		}
		return nil
	case t.sim.open() >= t.sim.opt.Connections:
		a.refuse(503, "Service Unavailable", "connections: at most "+strconv.Itoa(t.sim.opt.Connections)+" at a time")
		a.header["Retry-After"] = []string{"1"}
		a.how = "full"
	}
	t.sim.plan.each(func(f *armed) {
		a.by = f
		if l, ok := f.logic.(answerer); ok && f.on(a.stream) && !f.event() && l.answer(a) {
			struck = append(struck, f)
		}
	})
	a.authorize()
	return struck
}

// enter records the request with its answer, and takes the connection in.
func (t *table) enter(c Conn, a *answer, struck []*armed) {
	status := ""
	if a.status != 0 {
		status = strconv.Itoa(a.status)
	}
	r := trace.Record{Kind: trace.ServerRequest, Epoch: a.n, Status: status, Detail: a.how, Seq: a.req.position}
	if t.wire == OData {
		r.DeltaToken = trace.Digest("deltaToken", a.req.raw)
	} else {
		r.Cursor = trace.Digest("cursor", a.req.raw)
	}
	t.record(r)
	for _, f := range struck {
		t.sim.strike(f, a.stream, event.NoSeq)
	}
	a.stream.conn = c
	t.streams = append(t.streams, a.stream)
}

// record says in a record of another wire than SSE which one it is; those of SSE are as they were when there was only one.
func (t *table) record(r trace.Record) {
	if t.wire != SSE {
		args := map[string]string{"wire": t.wire}
		for name, value := range r.Args {
			args[name] = value
		}
		r.Args = args
	}
	t.sim.record(r)
}

func (t *table) gone(c Conn) {
	if st := t.find(c); st != nil {
		t.closed(st, gone, "")
	}
}

func (t *table) written(c Conn, n int) {
	if st := t.find(c); st != nil {
		st.took(int64(n))
	}
}

// received ignores what comes behind a request: nothing may, on a wire without an upgrade.
func (t *table) received(Conn, []byte) {}

// pump moves every stream as far as it can go.
func (t *table) pump() {
	for _, st := range slices.Clone(t.streams) {
		st.pump()
	}
}

// close ends a stream toward its client.
func (t *table) close(st *stream, kind CloseKind, why string, now bool) {
	t.sim.out = append(t.sim.out, Output{Conn: st.conn, Close: &Close{kind, now}})
	t.closed(st, kind, why)
}

func (t *table) closed(st *stream, kind CloseKind, why string) {
	r := trace.Record{Kind: trace.ServerClosed, Epoch: st.n, Seq: event.NoSeq, Detail: string(kind)}
	if why != "" {
		r.Args = map[string]string{"why": why}
	}
	t.record(r)
	st.over = true
	t.streams = slices.DeleteFunc(t.streams, func(x *stream) bool { return x == st })
}

// endAll ends every stream, each when its send queue is empty.
func (t *table) endAll(kind CloseKind, why string) {
	for _, st := range slices.Clone(t.streams) {
		st.end(kind, why)
	}
}

func (t *table) deadline() (at time.Duration, ok bool) {
	for _, st := range t.streams {
		if d, due := st.deadline(); due && (!ok || d < at) {
			at, ok = d, true
		}
	}
	return at, ok
}

func (t *table) state() []Connection {
	var out []Connection
	for _, st := range t.streams {
		sent := st.next - 1
		if st.snapshot {
			sent = event.NoSeq
		}
		out = append(out, Connection{int(st.n), t.wire, sent, st.composed, st.body, st.waiting(), st.mute})
	}
	return out
}

// Source is the source id of the feed.
func (s *Simulator) Source() string { return s.opt.Source }

// Path is where the wire is served. Empty for a wire that there is not.
func (s *Simulator) Path(wire string) string {
	return map[string]string{SSE: s.opt.Path, WebSocket: s.opt.WebSocketPath, OData: s.opt.ODataPath}[wire]
}
