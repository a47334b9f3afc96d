package simulator

import (
	"path"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/event"
)

// odata is the server of the OData wire: the feed as an entity set that tracks its changes (OData 4.0 and 4.01, JSON). A snapshot is
// read page by page; its last page has a delta link, and each round behind that link is exactly one change of the feed, so
// that numbers stay contiguous. A round without a change is an empty page.
type odata struct {
	table
	set    string // name of the entity set, the last segment of the path
	parent string // what lies beside it is answered here too, with an OData error

	cycles cycles
	owed   []owed    // pages that faults promised to those who come back
	held   []*answer // what waits for the end of a pause

	lastID   string // event id of the last event composed
	variants int64  // delta tokens given out in another form than usual
	newest   newest // the only form of its place that is not expired
	seen     ODataState
}

func newOData(s *Simulator) *odata {
	p := s.opt.ODataPath
	parent := path.Dir(p)
	if parent != "/" {
		parent += "/"
	}
	return &odata{table: table{sim: s, wire: OData, path: p}, set: path.Base(p), parent: parent, cycles: cycles{max: s.opt.ODataCycles}}
}

func (o *odata) serves(path string) bool {
	return path == o.path || o.parent != "/" && strings.HasPrefix(path, o.parent)
}

// request answers one request: the honest answer first, then what the schedule makes of it.
func (o *odata) request(c Conn, n uint32, r Request) {
	o.seen.Requests++
	o.prune()
	req, q, no := o.read(r)
	if no == nil && q.cycle == nil {
		o.sim.asked(&req)
	}
	a := o.honest(&req, q, n)
	struck := o.admit(a, no)
	o.conclude(a)
	o.enter(c, a, struck)
	if a.status == 0 {
		return
	}
	o.headers(a)
	o.sim.out = append(o.sim.out, Output{Conn: c, Head: &Head{a.status, a.header}})
	switch {
	case a.status != 200 || a.body != nil:
		a.stream.page(a)
	case o.sim.paused && (a.stream.snapshot || q.cycle != nil):
		o.held = append(o.held, a)
	default:
		o.answer(a)
	}
}

// honest judges what was asked for by the feed alone.
func (o *odata) honest(req *request, q *query, n uint32) *answer {
	f := o.sim.feed
	a := &answer{sim: o.sim, req: req, n: n, status: 200, header: Header{}, head: f.head, how: "snapshot",
		connected: o.sim.opt.Vouch == "frame", stream: o.newStream(n, req, pageCoder{}), odata: q}
	st := a.stream
	st.live, st.paged, st.lastID = false, true, o.lastID
	st.next = f.head + 1
	reject := func(r event.Reason) { a.rejected, a.how = r.String(), "rejected" }
	switch {
	case q.skip != "":
		o.goOn(a, reject)
	case !req.resume():
		st.snapshot = true
	case !req.known:
		reject(event.InvalidCheckpoint)
	case req.version != f.version:
		reject(event.SourceVersionChanged)
	case req.position > f.head:
		reject(event.TransportGap)
	case !f.resumable(req.position) || o.newest.retires(req.position, req.raw):
		a.expire("")
	default:
		a.how, st.next = "resumed", req.position+1
	}
	return a
}

// goOn finds the cycle that a skip token names. Nothing can be said about a page of a cycle that is not there any more but that it is
// gone.
func (o *odata) goOn(a *answer, reject func(event.Reason)) {
	t, ok := parseSkip(a.odata.skip)
	if !ok {
		reject(event.InvalidCheckpoint)
		return
	}
	a.stream.resume = t.delta
	if t.version != o.sim.feed.version {
		reject(event.SourceVersionChanged)
		return
	}
	c := o.cycles.find(t)
	if c == nil {
		a.expire("")
		return
	}
	a.odata.cycle, a.odata.start, a.how = c, t.place, "page"
	a.stream.snapshot = !c.delta
	a.stream.next = c.seq + 1
}

// conclude turns what the faults left of a refused position into a status.
func (o *odata) conclude(a *answer) {
	switch {
	case a.status != 200 || a.body != nil:
	case a.fail != "":
		a.dead(410, a.fail)
	case a.rejected != "":
		how := a.how
		status := 410
		if o.sim.opt.ODataRejected == "bad-request" {
			status = 400
		}
		a.dead(status, a.rejected)
		a.how = how
	case !a.stream.snapshot && a.odata.cycle == nil && !o.sim.feed.resumable(a.stream.next-1):
		a.expire("") // vouched for blindly, and the history does not reach back to it
	}
	if a.how == "expired" || a.how == "rejected" {
		o.seen.Dead++
	}
}

// headers completes the answer's header.
func (o *odata) headers(a *answer) {
	d := a.odata.dialect
	a.header["Odata-Version"] = []string{d.version()}
	if a.status != 200 || a.body != nil {
		return
	}
	if _, set := a.header["Content-Type"]; !set {
		a.header["Content-Type"] = []string{d.mediaType()}
	}
	a.header["Cache-Control"] = []string{"no-store"}
	if a.odata.track && a.stream.snapshot && a.odata.cycle == nil {
		a.header["Preference-Applied"] = []string{d.preference()}
	}
}

// answer makes the page that was asked for and ends the body behind it.
func (o *odata) answer(a *answer) {
	st, c := a.stream, a.odata.cycle
	if c == nil {
		c = o.begin(a)
	} else if o.cycles.find(c.skip(a.odata.start)) != c {
		st.end(Cut, "history lost") // while the feed was paused: its head was sent already
		return
	}
	body, more := o.page(a, c, a.odata.start)
	o.seen.Pages++
	f := frame{bytes: body}
	st.ending = EOF
	if !more {
		o.count(c)
		f.event = c.sent(st)
		if c.end != nil {
			st.ending, st.why = c.end.kind, "cut"
		}
	}
	if st.cutAs != "" {
		st.ending, st.why = st.cutAs, "cut"
	}
	st.next, st.composed, st.snapshot = c.seq+1, 0, false
	if c.event {
		st.composed = 1
	}
	st.push(f)
	if c.mute != nil && !more {
		st.release() // what stands before the silence still goes out
		c.mute.start(st)
	}
}

func (o *odata) count(c *cycle) {
	switch {
	case !c.event:
		o.seen.Unchanged++
	case c.delta:
		o.seen.Rounds++
	default:
		o.seen.Snapshots++
	}
}

// pump answers what waited for the end of a pause, and moves every answer as far as it can go.
func (o *odata) pump() {
	o.held = slices.DeleteFunc(o.held, func(a *answer) bool {
		over := a.stream.over || a.stream.ending != ""
		if !over && !o.sim.paused {
			o.answer(a)
			return true
		}
		return over
	})
	o.table.pump()
}

// endAll ends every answer. A server that restarts forgets what it held for its clients.
func (o *odata) endAll(kind CloseKind, why string) {
	if why == "restart" {
		o.cycles.list, o.owed, o.lastID, o.newest = nil, nil, "", newest{}
	}
	o.table.endAll(kind, why)
}

// ODataState is what the OData server did so far.
type ODataState struct {
	Requests  int `json:"requests"`  // seen, refused ones included
	Pages     int `json:"pages"`     // answered with one
	Snapshots int `json:"snapshots"` // read to the last page
	Rounds    int `json:"rounds"`    // with a change, read to the last page
	Unchanged int `json:"unchanged"` // rounds without one
	Dead      int `json:"dead"`      // tokens that were expired or refused
	Held      int `json:"held"`      // snapshots and rounds that are held for further pages, or for a page that is asked for again
}

// odata is the OData server.
func (s *Simulator) odata() *odata {
	for _, w := range s.wires {
		if o, ok := w.(*odata); ok {
			return o
		}
	}
	return nil
}

// polled is the state of the OData server; nil before its first request.
func (s *Simulator) polled() *ODataState {
	o := s.odata()
	if o.seen.Requests == 0 {
		return nil
	}
	st := o.seen
	st.Held = len(o.cycles.list)
	return &st
}

// pageCoder is the coder of a wire that has no blocks: pages are coded whole.
type pageCoder struct{}

func (pageCoder) code(*frame) []byte    { return nil }
func (pageCoder) cursorIn() string      { return "json" }
func (pageCoder) insert(b []byte) frame { return frame{bytes: b} }
