package simulator

import (
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// stream is one open connection. What it sends is composed into frames, released to the driver as the rules of mute, drip
// and cut allow, and counted until the driver says that it was written.
type stream struct {
	sim    *Simulator
	home   *table // of its wire
	coder  coder
	socket *socket // of an upgraded connection; nil otherwise
	conn   Conn
	n      uint32 // n-th request, the Epoch of its records
	resume bool   // it named a position
	mode   string
	opened time.Duration
	live   bool // events follow; false for an answer that is no stream
	paged  bool // an answer of the OData wire: its body is one page
	over   bool

	next     event.Seq // next change to send
	snapshot bool      // a snapshot goes first
	skip     int       // changes to leave out
	composed int       // events so far, snapshots included
	lastID   string    // event id of the last event composed
	lastSnap bool      // it was a snapshot
	idled    []*armed  // faults that struck this stream when it was idle

	queue  []frame // composed and not released
	queued int64   // bytes of it
	torn   bool    // the first frame of it went out in part
	body   int64   // bytes released so far
	taken  int64   // bytes that the driver wrote so far
	ends   []int64 // ends of released events, as places in body, not written yet

	ending CloseKind // close so when all is written
	why    string
	last   time.Duration // last release
	moved  time.Duration // last time that the driver took bytes, or had none to take

	split     int // chunks of so many bytes
	mute      bool
	muteUntil time.Duration // 0: for ever
	drip      int           // so many bytes at a time, 0: no drip
	dripEvery time.Duration
	dripAt    time.Duration
	cut       *cut // at a byte
	cutBy     *armed
	cutAs     CloseKind // behind the page, on the OData wire
}

// coder writes what a stream says as its wire has it.
type coder interface {
	// code writes one block; nothing, if the wire cannot say it.
	code(f *frame) []byte
	// cursorIn says where the position of an event stands: id, json or both.
	cursorIn() string
	// insert writes a text that nobody checked as what the wire has for one event.
	insert(text []byte) frame
}

// frame is one thing that is sent, and the event that it is, if it is one. It is coded when it is queued.
type frame struct {
	block Block
	as    framing       // on a wire that has frames
	bytes []byte        // coded; set beforehand, they are sent as they stand
	event *trace.Record // recorded when the last byte was handed out
}

func (t *table) newStream(n uint32, req *request, c coder) *stream {
	now := t.sim.now.Mono
	return &stream{sim: t.sim, home: t, coder: c, n: n, resume: req.resume(), mode: req.mode, opened: now, last: now, moved: now, live: true}
}

// page is an answer that is no event stream.
func (st *stream) page(a *answer) {
	st.live = false
	if a.body != nil {
		st.push(frame{bytes: a.body})
	}
	if !a.hold {
		st.ending = EOF
	}
}

// begin queues the frames that stand before all events.
func (st *stream) begin(a *answer) {
	if h := st.sim.opt.RetryHint; h > 0 {
		st.block(Block{Retry: h})
	}
	if a.connected {
		st.block(Block{Event: "status", Data: a.appendConnected(nil, st.sim.feed.epoch())})
	}
	if a.fail != "" {
		st.block(errorBlock(a.fail, false))
		st.end(EOF, a.fail)
	}
}

func (st *stream) push(f frame) {
	if f.bytes == nil {
		f.bytes = st.coder.code(&f)
	}
	if len(f.bytes) == 0 {
		return
	}
	st.queue = append(st.queue, f)
	st.queued += int64(len(f.bytes))
}

func (st *stream) block(b Block) { st.push(frame{block: b}) }

// end closes the stream when what was composed has been written. A mute stream will never write it, so it is dropped.
func (st *stream) end(kind CloseKind, why string) {
	if kind == EOF && st.ending == "" && st.farewell(why) {
		return
	}
	if st.ending == "" || st.paged && st.mute {
		st.ending, st.why = kind, why
	}
	st.mute = st.mute && !st.paged
	if st.mute {
		st.queue, st.queued = nil, 0
	}
}

// took counts what the driver wrote. More than was handed out is counted as all of it.
func (st *stream) took(n int64) {
	st.taken = min(st.taken+max(n, 0), st.body)
	st.moved = st.sim.now.Mono
	i := 0
	for i < len(st.ends) && st.ends[i] <= st.taken {
		i++
	}
	st.ends = append(st.ends[:0], st.ends[i:]...)
}

func (st *stream) waiting() int64 { return st.body - st.taken }

// pump composes, releases and ends, until nothing moves.
func (st *stream) pump() {
	st.unmute()
	for !st.over {
		st.stall()
		st.converse()
		composed := st.compose()
		st.release()
		st.finish()
		if composed || st.over {
			continue
		}
		if !st.idle() {
			break
		}
	}
	st.heartbeat()
}

func (st *stream) unmute() {
	if st.mute && st.muteUntil != 0 && st.sim.now.Mono >= st.muteUntil {
		st.mute, st.muteUntil = false, 0
	}
}

// room says whether one more event may be composed.
func (st *stream) room() bool {
	return st.live && !st.over && st.ending == "" && !st.mute && !st.sim.paused &&
		len(st.ends)+len(st.queue) < st.sim.opt.QueueEvents && st.waiting()+st.queued < st.sim.opt.QueueBytes
}

// release hands queued bytes to the driver.
func (st *stream) release() {
	for len(st.queue) > 0 && !st.mute && !st.over {
		if st.cut != nil && st.cutBy.left == 0 {
			st.cut = nil // used up on another connection
		}
		f := &st.queue[0]
		b := f.bytes
		if st.drip > 0 {
			if st.sim.now.Mono < st.dripAt {
				return
			}
			b = b[:min(st.drip, len(b))]
			st.dripAt = st.sim.now.Mono + st.dripEvery
		}
		owed := 0
		if st.cut != nil && st.body+int64(len(b)) >= st.cut.at {
			whole := len(f.bytes)
			b = b[:st.cut.at-st.body]
			if st.cut.kind != EOF { // a clean end owes nothing: its last chunk is as long as it says
				owed = whole - len(b)
			}
		}
		st.hand(b, owed)
		if len(b) == len(f.bytes) {
			st.sent(f.event)
			st.queue[0] = frame{}
			st.queue = st.queue[1:]
			st.torn = false
		} else {
			f.bytes = f.bytes[len(b):]
			st.torn = true
		}
		if st.cut != nil && st.body >= st.cut.at {
			st.sim.strike(st.cutBy, st, event.NoSeq)
			st.queue, st.queued = nil, 0
			st.ending, st.why = st.cut.kind, "cut"
			st.cut = nil
			return
		}
	}
}

// hand gives b to the driver, in pieces if the stream is split. owed bytes of its chunk will never come.
func (st *stream) hand(b []byte, owed int) {
	st.queued -= int64(len(b))
	st.body += int64(len(b))
	st.last = st.sim.now.Mono
	if st.waiting() == int64(len(b)) {
		st.moved = st.sim.now.Mono // the queue was empty: nobody kept us waiting
	}
	for st.split > 0 && len(b) > st.split {
		st.sim.out = append(st.sim.out, Output{Conn: st.conn, Bytes: b[:st.split:st.split]})
		b = b[st.split:]
	}
	if len(b) > 0 || owed > 0 {
		st.sim.out = append(st.sim.out, Output{Conn: st.conn, Bytes: b, Owed: owed})
	}
}

func (st *stream) sent(r *trace.Record) {
	if r == nil {
		return
	}
	st.ends = append(st.ends, st.body)
	st.home.record(*r)
}

// finish closes a stream that has an end and nothing left to write.
func (st *stream) finish() {
	if !st.over && st.ending != "" && len(st.queue) == 0 && st.waiting() == 0 && !(st.mute && st.paged) {
		st.home.close(st, st.ending, st.why, false)
	}
}

// stall closes a stream whose client has taken nothing of a waiting queue for too long.
func (st *stream) stall() {
	if st.waiting() > 0 && st.sim.now.Mono-st.moved >= st.sim.opt.Stall {
		st.home.close(st, Reset, "stalled", true)
	}
}

// heartbeat shows that a quiet stream is alive.
func (st *stream) heartbeat() {
	every := st.sim.opt.Heartbeat
	if every < 0 || st.over || !st.live || st.ending != "" || st.mute || len(st.queue) > 0 || st.sim.now.Mono-st.last < every {
		return
	}
	if st.sim.opt.HeartbeatAs == "frame" {
		st.block(Block{Event: "heartbeat", Data: []byte(`{"type":"heartbeat"}`)})
	} else {
		st.block(Block{Comment: "hb"})
	}
	st.release()
	st.finish()
}

// deadline is the next time at which the stream does something by itself.
func (st *stream) deadline() (at time.Duration, ok bool) {
	due := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if st.waiting() > 0 {
		due(st.moved + st.sim.opt.Stall)
	}
	st.socketDeadline(due)
	if st.mute {
		if st.muteUntil != 0 {
			due(st.muteUntil)
		}
		return at, ok
	}
	if len(st.queue) > 0 && st.drip > 0 {
		due(st.dripAt)
	}
	if st.live && st.ending == "" && len(st.queue) == 0 {
		if every := st.sim.opt.Heartbeat; every > 0 {
			due(st.last + every)
		}
		for _, f := range st.sim.plan.armed {
			if t := st.opened + f.fault.At.After; f.fault.At.After > 0 && t > st.sim.now.Mono && f.on(st) {
				due(t)
			}
		}
	}
	return at, ok
}
