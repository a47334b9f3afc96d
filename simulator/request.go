package simulator

import (
	"net/url"
	"strings"

	"github.com/conform-dev/conform/core/event"
)

// request is what a client asked for.
type request struct {
	raw      string    // position as it was sent, empty if none
	position event.Seq // its sequence, NoSeq if none or unreadable
	version  int       // its source version
	known    bool      // the position is a cursor of ours
	foreign  bool      // a position in a mode that this wire does not resume by
	bearer   bool      // it presents a credential

	credential string // never shown
	mode       string // snapshot, snapshot-then-delta, delta
}

func (r *request) resume() bool { return r.raw != "" || r.foreign }

// refusal is an answer that is no stream.
type refusal struct {
	status int
	title  string
	detail string
	header map[string]string // further ones; nil for none
}

func refuse(status int, title, detail string) *refusal { return &refusal{status, title, detail, nil} }

// readRequest reads a request for a stream; position is one that stands outside the query, and wins.
func (t *table) readRequest(r Request, position string) (request, *refusal) {
	req := request{position: event.NoSeq, mode: "snapshot-then-delta", credential: first1(r.Header["Authorization"])}
	req.bearer = req.credential != ""
	if len(r.Target) > MaxTarget {
		return req, refuse(414, "URI Too Long", "target: longer than the limit")
	}
	u, err := url.ParseRequestURI(r.Target)
	if err != nil {
		return req, refuse(400, "Bad Request", "target: no path and query")
	}
	if u.Path != t.path {
		return req, refuse(404, "Not Found", "the stream is at "+t.path)
	}
	if r.Method != "GET" {
		return req, &refusal{405, "Method Not Allowed", "a stream is opened with GET", map[string]string{"Allow": "GET"}}
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return req, refuse(400, "Bad Request", "query: not encoded as a form")
	}
	if src := q.Get("sourceId"); src != "" && src != t.sim.feed.source {
		return req, refuse(404, "Not Found", "sourceId: this feed is "+t.sim.feed.source)
	}
	for _, name := range []string{"where", "spatialFilter"} {
		if q.Get(name) != "" {
			return req, refuse(400, "Bad Request", name+": the simulator does not filter, and does not pretend to")
		}
	}
	if m := q.Get("mode"); m != "" {
		req.mode = m
	}
	if !has([]string{"snapshot", "snapshot-then-delta", "delta"}, req.mode) {
		return req, refuse(400, "Bad Request", "mode: must be snapshot, snapshot-then-delta or delta")
	}
	if req.raw = position; req.raw == "" {
		req.raw = q.Get("cursor")
	}
	if len(req.raw) > MaxPosition {
		return req, refuse(431, "Request Header Fields Too Large", "position: longer than the limit")
	}
	if req.raw == "" {
		for _, name := range []string{"sequence", "watermark", "timestamp", "deltaToken"} {
			req.foreign = req.foreign || q.Get(name) != ""
		}
		return req, nil
	}
	if v, seq, ok := parseCursor(t.wire, req.raw); ok {
		req.version, req.position, req.known = v, seq, true
	}
	return req, nil
}

func first1(lists ...[]string) string {
	for _, l := range lists {
		if len(l) > 0 && strings.TrimSpace(l[0]) != "" {
			return strings.TrimSpace(l[0])
		}
	}
	return ""
}

// answer is what the server is going to say. The honest one is made first; faults change it.
type answer struct {
	sim    *Simulator
	req    *request
	n      uint32
	status int
	header Header
	body   []byte // of an answer that is no stream
	hold   bool   // with body: leave the connection open behind it

	connected   bool      // send the connected frame
	resumed     string    // its member resumed: true, false, or empty for none
	rejected    string    // its member resumeRejected
	closingSoon bool      // its member closingSoon
	head        event.Seq // its member headSequence
	fail        string    // an error frame with this code instead of data, then the end
	how         string    // Detail of the trace record
	stream      *stream   // what follows
	by          *armed    // the fault that is being asked
	odata       *query    // on the OData wire
}

// honest judges the position that was sent by the feed alone.
func (t *table) honest(req *request, n uint32, c coder) *answer {
	f := t.sim.feed
	a := &answer{sim: t.sim, req: req, n: n, status: 200, header: Header{}, head: f.head, resumed: "false", how: "snapshot",
		connected: t.sim.opt.Vouch == "frame", stream: t.newStream(n, req, c)}
	st := a.stream
	st.snapshot = req.mode != "delta"
	st.next = f.head + 1
	reject := func(r event.Reason) { a.rejected, a.how = r.String(), "rejected" }
	switch {
	case !req.resume():
		if req.mode == "delta" {
			a.how = "live"
		}
	case req.foreign:
		reject(event.ResumeUnsupported)
	case !req.known:
		reject(event.InvalidCheckpoint)
	case req.version != f.version:
		reject(event.SourceVersionChanged)
	case req.position > f.head:
		reject(event.TransportGap)
	case !f.resumable(req.position):
		a.expire(t.sim.opt.Expiry)
	default:
		a.resumed, a.how = "true", "resumed"
		st.snapshot, st.next = false, req.position+1
	}
	if a.rejected != "" {
		st.snapshot = true // a refused position is replaced, whatever mode was asked for
	}
	return a
}

// expire answers that the position is dead: by an error frame, by 410, or by a connected frame and a snapshot. OData has nothing but 410.
func (a *answer) expire(as string) {
	if a.odata != nil {
		a.dead(410, event.CursorExpired.String())
		return
	}
	a.how = "expired"
	switch as {
	case "gone":
		a.refuse(410, "Gone", "the position is older than the history")
	case "rejected":
		a.resumed, a.rejected, a.connected = "false", event.CursorExpired.String(), true
		a.stream.snapshot = true
	default:
		a.fail, a.connected = event.CursorExpired.String(), false
	}
}

// refuse turns a into an answer with a status and a problem document, or the error document of OData.
func (a *answer) refuse(status int, title, detail string) {
	if a.odata != nil {
		a.odataError(status, strings.ToLower(strings.ReplaceAll(title, " ", "-")), detail) // a code has no spaces
		return
	}
	a.status = status
	a.header["Content-Type"] = []string{"application/problem+json"}
	b := appendString([]byte(`{"type":"about:blank","title":`), title)
	b = appendString(append(b, `,"detail":`...), detail)
	a.body = append(b, '}')
	if status == 204 || status == 304 {
		a.body = nil
		delete(a.header, "Content-Type")
	}
}
