package fleet

import (
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// Wire is the name of this wire in records.
const Wire = "fleetwake"

// Paths (fleet facts 1.1). Case does not matter, a slash at the end does. The poll's is conform's own: the reference has the tool alone.
const (
	EventsPath = "/fleet/events"
	WakePath   = "/wake"
	PollPath   = "/fleet/poll-digest"
	ToolPath   = "/mc/mcp"
)

// Now and Conn are those of the simulator.
type (
	Now  = simulator.Now
	Conn = simulator.Conn
)

// BodyState says what became of a request's body.
type BodyState int

// The states.
const (
	BodyWhole  BodyState = iota
	BodyLarge            // longer than Limit allows; Body holds what was read
	BodyBroken           // it broke off, or did not come in time
)

// Request is one HTTP request as it arrived.
type Request struct {
	Method string
	Target string // path and query, as on the request line
	Host   string // of the Host header; empty if there was none
	Header simulator.Header
	Body   []byte
	State  BodyState
}

// Server is the server side of the lane. It starts no goroutine, reads no clock, does no I/O and is not safe for concurrent use.
// After every input the driver takes outputs until there are none. An answer that is no stream is a Head, its Bytes and a Close of
// kind EOF; a Close without a Head means that the connection is destroyed without an answer.
type Server struct {
	opt     Options
	viewers []*viewer
	known   credentials
	plane   plane

	// Of this process: a restart forgets them.
	attempts *window
	wakes    *window
	streams  []*stream // in the order of registration
	routes   []route
	proven   string // login that the plane proved for the service; empty before
	armed    bool
	reason   string
	pushed   int64 // unix milliseconds of the last hand-over; -1 for none
	disposed bool
	beat     time.Duration // when the next comment is due; 0 before the first registration

	silent   map[string]bool // identities whose streams are kept open and get nothing; "" is all
	failing  map[string]int  // how often what fails
	requests uint32
	accepted uint64 // wakes handed over
	polls    uint64
	out      []simulator.Output
	taken    int
	now      Now
}

// New makes a server. An error names the setting and its bound, or the row of the table, and no byte of a secret. A service that is
// to be armed and has no plane bearer is refused: it would never get a wake.
func New(opt Options) (*Server, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: opt, silent: map[string]bool{}, failing: map[string]int{}}
	if s.viewers, s.known, err = newTable(opt.Viewers); err != nil {
		return nil, err
	}
	s.plane = newPlane(&s.opt)
	if err := s.checkService(); err != nil {
		return nil, err
	}
	s.boot()
	return s, nil
}

// boot is what a new process starts with.
func (s *Server) boot() {
	s.attempts = newWindow(s.opt.Attempts, s.opt.AttemptWindow.Milliseconds())
	s.wakes = newWindow(s.opt.WakeRequests, s.opt.WakeWindow.Milliseconds())
	s.streams, s.routes = nil, nil
	s.proven, s.armed, s.reason, s.pushed, s.disposed, s.beat = "", false, notRun, -1, false, 0
	if s.opt.Arming == ArmAtBoot {
		s.armService(ArmWell)
	}
}

// Take hands out what is due, in order.
func (s *Server) Take() (simulator.Output, bool) {
	if s.taken == len(s.out) {
		s.out, s.taken = s.out[:0], 0
		return simulator.Output{}, false
	}
	o := s.out[s.taken]
	s.out[s.taken] = simulator.Output{}
	s.taken++
	return o, true
}

// Limit is how many bytes of the body of a request for target the driver has to read at most; a longer body is BodyLarge.
func (s *Server) Limit(method, target string) int {
	switch path := route1(target); {
	case method != "POST":
		return 0
	case path == WakePath:
		return s.opt.WakeBody
	case path == PollPath:
		return MaxPollBody
	}
	return 0
}

// route1 is the path of target as routes are compared.
func route1(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return strings.ToLower(path)
}

// Request answers r on connection c, or opens a stream on it.
func (s *Server) Request(now Now, c Conn, r Request) {
	s.now = now
	s.requests++
	path := route1(r.Target)
	if r.Method == "POST" && path == WakePath { // mounted before everything else
		s.intake(c, &r)
		return
	}
	if refused := s.front(&r); refused != nil {
		s.refuse(c, &r, path, refused)
		return
	}
	if r.Method == "POST" && path == PollPath {
		s.pollOver(c, &r)
		return
	}
	v, refused := s.admit(r.Header)
	switch {
	case refused == nil && path == EventsPath && (r.Method == "GET" || r.Method == "HEAD"):
		s.events(c, &r, v)
		return
	case refused == nil:
		refused = wired(404, noRoute)
	}
	s.refuse(c, &r, path, refused)
}

// Gone says that the client of c left; for a connection that is unknown or closed it means nothing.
func (s *Server) Gone(now Now, c Conn) {
	s.now = now
	if st := s.stream(c); st != nil {
		s.drop(st, "gone")
	}
}

// Written says that n more bytes of c's stream left the driver's hands.
func (s *Server) Written(now Now, c Conn, n int) {
	s.now = now
	if st := s.stream(c); st != nil {
		st.queued = max(st.queued-max(n, 0), 0)
	}
}

// Wake tells the time. Early calls are harmless; a late one writes one comment, not several.
func (s *Server) Wake(now Now) {
	s.now = now
	if s.beat == 0 || now.Mono < s.beat {
		return
	}
	s.beat += s.opt.Heartbeat * (1 + (now.Mono-s.beat)/s.opt.Heartbeat)
	for _, st := range s.all() {
		s.put(st, sentHeartbeat, s.comment("hb"), event.NoSeq, "")
	}
}

// Deadline is when Wake is wanted next; ok is false if nothing waits for time to pass.
func (s *Server) Deadline() (at time.Duration, ok bool) { return s.beat, s.beat != 0 }

// refuse answers with a refusal and records it.
func (s *Server) refuse(c Conn, r *Request, path string, f *refusal) {
	args := map[string]string{"path": path}
	if f.counted {
		args["counted"], args["key"] = "yes", f.key
	}
	s.asked(r, f.status, f.word, args)
	origin := first(r.Header, "Origin")
	if f.early {
		origin = ""
	}
	s.answer(c, f.status, f.body, f.header, origin)
}

// answer is a whole answer. An admitted origin may read it.
func (s *Server) answer(c Conn, status int, body string, header simulator.Header, origin string) {
	h := simulator.Header{"Content-Type": {jsonType}}
	for name, values := range header {
		h[name] = values
	}
	s.share(h, origin)
	s.out = append(s.out, simulator.Output{Conn: c, Head: &simulator.Head{Status: status, Header: h}},
		simulator.Output{Conn: c, Bytes: []byte(body)}, simulator.Output{Conn: c, Close: &simulator.Close{Kind: simulator.EOF}})
}

// share lets the page of an admitted origin read an answer.
func (s *Server) share(h simulator.Header, origin string) {
	if origin != "" && s.welcome(origin) {
		h["Access-Control-Allow-Origin"], h["Vary"] = []string{origin}, []string{"Origin"}
	}
}

// asked records a request: it is the admission log, in the order of the requests.
func (s *Server) asked(r *Request, status int, word string, args map[string]string) {
	args["method"] = r.Method
	s.carried(r.Header, args)
	s.record(trace.Record{Kind: trace.ServerRequest, Epoch: s.requests, Status: strconv.Itoa(status), Reason: word, Args: args, Seq: event.NoSeq})
}

func (s *Server) record(r trace.Record) {
	r.Actor, r.T = trace.Server, s.now.Mono.Milliseconds()
	if r.Args == nil {
		r.Args = map[string]string{}
	}
	r.Args["wire"] = Wire
	s.out = append(s.out, simulator.Output{Record: &r})
}

func first(h simulator.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}
