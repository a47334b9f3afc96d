// Package simulator is a contract server without a network: a feed with real history, a schedule of faults, and one server
// machine per wire on top (design, Simulator). Everything in it is a pure machine: inputs carry the time, what is due is
// taken, and there is one Deadline. The same machine runs in virtual time, under `conform simulate`, and in tests.
//
// Its encoders share no code with the plugins: it is a second witness, seen from the other end of the wire.
package simulator

import (
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// Now is read once per input by the driver.
type Now struct {
	Mono time.Duration // since the simulator started; never steps
	Wall int64         // unix milliseconds; becomes the timestamp of what is published
}

// Conn names one connection. The driver chooses it and never uses it twice. Traces do not show it: they count requests
// from 1 in the order in which the simulator saw them.
type Conn uint32

// Header is a request or response header with canonical names, as in net/http.
type Header = map[string][]string

// Request is one HTTP request as it arrived. It has no body: the wires served here are opened with GET.
type Request struct {
	Method string
	Target string // path and query, as on the request line
	Header Header
	Origin string // scheme://host as the client called it; empty if the driver does not know. Faults make links of it
}

// Output is one thing that the simulator has for its driver, in the order in which it is to be done. Exactly one of Head,
// Bytes, Close and Record is set.
type Output struct {
	Conn   Conn // 0 with Record
	Head   *Head
	Bytes  []byte // of the body, immutable; one chunk, where the wire has chunks
	Owed   int    // with Bytes: so many bytes of this chunk will never come (a cut in mid-chunk); a Close follows
	Close  *Close
	Record *trace.Record
}

// Head is the start of an answer. Behind Status 101 the body is raw bytes, both ways: it has no chunks, and what the client sends
// is given to Received.
type Head struct {
	Status int
	Header Header
}

// Close ends a connection.
type Close struct {
	Kind CloseKind
	Now  bool // at once, without waiting for bytes that the client does not take
}

// CloseKind is how a connection ends. The text is the Detail of the trace record.
type CloseKind string

// The ways to end.
const (
	EOF   CloseKind = "eof"   // the body ends as the protocol says
	Cut   CloseKind = "cut"   // the connection ends inside the body: no last chunk
	Reset CloseKind = "reset" // as Cut, by a TCP reset
	gone  CloseKind = "gone"  // the client left; only in traces
)

// Simulator owns a feed, a schedule of faults and the servers on it. It starts no goroutine, reads no clock, does no I/O
// and is not safe for concurrent use. After every input the driver takes outputs until there are none.
type Simulator struct {
	opt      Options
	feed     *feed
	plan     plan
	revoked  int    // credentials of Options.Accepts that count no more
	wires    []wire // the first one answers for unknown paths
	requests uint32 // seen so far, of all wires
	out      []Output
	taken    int
	paused   bool
	now      Now
}

// New makes a simulator. An error names the setting, its value and its bound (D-13), or the place in the schedule.
// The first records to take are the baseline that the feed starts from.
func New(opt Options) (*Simulator, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Simulator{opt: opt, feed: newFeed(&opt)}
	s.wires = []wire{
		&sse{table{sim: s, wire: SSE, path: opt.Path}},
		&websocket{table{sim: s, wire: WebSocket, path: opt.WebSocketPath}},
		newOData(s),
	}
	for i, f := range opt.Schedule.Faults {
		if err := s.plan.add(f); err != nil {
			return nil, faultAt(i, err)
		}
	}
	s.baseline(trace.ServerPublish, "baseline")
	return s, nil
}

// Take hands out what is due, in order.
func (s *Simulator) Take() (Output, bool) {
	if s.taken == len(s.out) {
		s.out, s.taken = s.out[:0], 0
		return Output{}, false
	}
	o := s.out[s.taken]
	s.out[s.taken] = Output{}
	s.taken++
	return o, true
}

// Request opens connection c.
func (s *Simulator) Request(now Now, c Conn, r Request) {
	s.now = now
	s.requests++
	s.route(r.Target).request(c, s.requests, r)
	s.settle()
}

// Gone says that the client of c left. A connection that is unknown or closed already is ignored.
func (s *Simulator) Gone(now Now, c Conn) {
	s.now = now
	for _, w := range s.wires {
		w.gone(c)
	}
	s.settle()
}

// Written says that n more bytes of c's body left the driver's hands: the network took them. Faults that wait for an
// empty send queue strike when everything that was handed out was written.
func (s *Simulator) Written(now Now, c Conn, n int) {
	s.now = now
	for _, w := range s.wires {
		w.written(c, n)
	}
	s.settle()
}

// Received says that the client sent bytes behind an upgrade (a Head with Status 101). They are not kept: what of them is no
// whole frame yet is copied, up to MaxClientMessage. On a connection that was not upgraded they mean nothing.
func (s *Simulator) Received(now Now, c Conn, bytes []byte) {
	s.now = now
	for _, w := range s.wires {
		w.received(c, bytes)
	}
	s.settle()
}

// Wake tells the time. Early calls are harmless.
func (s *Simulator) Wake(now Now) {
	s.now = now
	s.settle()
}

// Deadline is when Wake is wanted next; ok is false if nothing waits for time to pass.
func (s *Simulator) Deadline() (at time.Duration, ok bool) {
	for _, w := range s.wires {
		if t, due := w.deadline(); due && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// settle moves every connection as far as it can go.
func (s *Simulator) settle() {
	for _, w := range s.wires {
		w.pump()
	}
}

func (s *Simulator) record(r trace.Record) {
	r.Actor = trace.Server
	r.T = s.now.Mono.Milliseconds()
	s.out = append(s.out, Output{Record: &r})
}

// baseline records where the feed stands without any event: at the start, and after a restart.
func (s *Simulator) baseline(k trace.Kind, detail string) {
	s.record(trace.Record{Kind: k, Seq: s.feed.head, Detail: detail, Args: map[string]string{"rows": s.feed.digestNow()}})
}

// Digest is the digest of the feed's rows after sequence seq (RowsDigest says how it is made); ok is false if seq is not in
// the history any more, or not there yet.
func (s *Simulator) Digest(seq event.Seq) (digest string, ok bool) { return s.feed.digest(seq) }

// Cursor is the position that the feed's current epoch gives out for sequence seq on the SSE wire.
func (s *Simulator) Cursor(seq event.Seq) string { return s.CursorOn(SSE, seq) }

// CursorOn is the same for any wire. Each has its own form, so that a position of one wire offered to another is refused.
func (s *Simulator) CursorOn(wire string, seq event.Seq) string {
	return cursor(wire, s.feed.version, seq)
}
