package simulator

import (
	"fmt"

	"github.com/conform-dev/conform/core/event"
)

// The faults that spoil one event.

var idReusedFault = Spec{
	Name: "id-reused",
	Doc:  "gives an event the event id of an earlier one",
	At:   []string{"connection", "request", "sequence", "event"},
	Params: []Param{{Name: "of", Kind: "integer", Doc: "sequence of the earlier one; 0 is the one sent before it on this connection",
		Default: "0", Min: 0, Max: int64(event.MaxSeq)}},
	build: func(a args) any { return idReused(a.int("of")) },
}

type idReused event.Seq

func (of idReused) send(d *dispatch) bool {
	id := d.st.lastID
	if of != 0 {
		id = d.st.sim.feed.eventID(event.Seq(of))
	}
	if id == "" {
		return false
	}
	d.shape.id = id
	return true
}

var undecodableFault = Spec{
	Name:   "undecodable",
	Doc:    "replaces an event's JSON by something that is none",
	At:     []string{"connection", "request", "sequence", "event"},
	Params: []Param{{Name: "data", Kind: "text", Doc: "what is sent in its place", Default: `{"type":"upsert","sequence":`}},
	build:  func(a args) any { return undecodable(a.text("data")) },
}

type undecodable string

func (u undecodable) send(d *dispatch) bool {
	d.data = []byte(u)
	return true
}

var oversizeFault = Spec{
	Name:   "oversize",
	Doc:    "pads an event beyond a reader's limit; it is valid otherwise",
	At:     []string{"connection", "request", "sequence", "event"},
	Params: []Param{{Name: "bytes", Kind: "integer", Doc: "padding; the default is one more than a transport's default limit", Default: "16777217", Min: 1, Max: MaxOversize}},
	build:  func(a args) any { return oversize(a.int("bytes")) },
}

type oversize int

func (o oversize) send(d *dispatch) bool {
	d.shape.pad = int(o)
	return true
}

var gapNoticeFault = Spec{
	Name:  "gap-notice",
	Wires: notOData,
	Doc:   "tells the client that something was lost: a gap frame, or an error frame with a code",
	At:    []string{"connection", "request", "sequence", "event", "ms"},
	Params: []Param{
		{Name: "as", Kind: "text", Doc: "the frame", Default: "gap", Values: []string{"gap", "error"}},
		{Name: "missed", Kind: "integer", Doc: "number in the gap frame", Default: "1", Min: 0, Max: MaxRetention},
		{Name: "code", Kind: "text", Doc: "code in the error frame", Default: event.TransportGap.String()},
		{Name: "terminal", Kind: "boolean", Doc: "whether the error frame is terminal", Default: "false"},
	},
	build: func(a args) any {
		return &gapNotice{a.text("as") == "error", a.int("missed"), a.text("code"), a.flag("terminal")}
	},
}

type gapNotice struct {
	isError  bool
	missed   int64
	code     string
	terminal bool
}

func (g *gapNotice) send(d *dispatch) bool {
	d.after = append(d.after, frame{block: g.block(d.st)})
	return true
}

func (g *gapNotice) idle(st *stream) bool {
	st.block(g.block(st))
	return true
}

func (g *gapNotice) block(st *stream) Block {
	if g.isError {
		return errorBlock(g.code, g.terminal)
	}
	if st.home.wire != SSE { // no event name beside the JSON
		return Block{Data: fmt.Appendf(nil, `{"type":"gap","missed":%d}`, g.missed)}
	}
	return Block{Event: "gap", Data: fmt.Appendf(nil, `{"missed":%d}`, g.missed)}
}

var authorizationEndedFault = Spec{
	Name:  "authorization-ended",
	Doc:   "says that the viewer's right to the stream is over, and ends it",
	At:    []string{"connection", "request", "ms"},
	build: func(args) any { return authorizationEnded{} },
}

type authorizationEnded struct{}

// answer refuses a request (OData); there is no stream that could end.
func (authorizationEnded) answer(a *answer) bool {
	if a.odata == nil || a.status != 200 {
		return false
	}
	a.refuse(403, "authorization-ended", "the viewer's right to the collection is over")
	a.how = "authorization-ended"
	return true
}

func (authorizationEnded) idle(st *stream) bool {
	st.block(Block{Event: "status", Data: []byte(`{"type":"status","status":"closed","code":"authorization-ended"}`)})
	st.end(EOF, "authorization-ended")
	return true
}
