package simulator

import (
	"strconv"
	"time"
)

// The faults in the status line and the headers.

var statusFault = Spec{
	Name: "status",
	Doc:  "answers with a status instead of a stream",
	At:   []string{"connection", "request"},
	Params: []Param{
		{Name: "code", Kind: "integer", Doc: "the status", Default: "503", Min: 200, Max: 599},
		{Name: "retryAfter", Kind: "text", Doc: "value of Retry-After; empty sends none"},
		{Name: "retryDateMs", Kind: "integer", Doc: "Retry-After as a date so far from now; 0 sends none", Default: "0", Min: 0, Max: 86400000},
	},
	build: func(a args) any { return &status{int(a.int("code")), a.text("retryAfter"), a.int("retryDateMs")} },
}

type status struct {
	code  int
	after string
	date  int64
}

func (s *status) answer(a *answer) bool {
	a.refuse(s.code, "status "+strconv.Itoa(s.code), "by the fault schedule")
	a.how = "status"
	if s.after != "" {
		a.header["Retry-After"] = []string{s.after}
	}
	if s.date > 0 {
		// A date has whole seconds: the next one, so that nobody is called earlier than asked for.
		at := time.UnixMilli(a.sim.now.Wall + s.date + 999).UTC()
		a.header["Retry-After"] = []string{at.Format("Mon, 02 Jan 2006 15:04:05 GMT")}
	}
	return true
}

var redirectFault = Spec{
	Name: "redirect",
	Doc:  "sends the client elsewhere",
	At:   []string{"connection", "request"},
	Params: []Param{
		{Name: "code", Kind: "integer", Doc: "the status", Default: "307", Min: 300, Max: 399},
		{Name: "location", Kind: "text", Doc: "value of Location, empty too; left out, the stream's own path (a ring)"},
		{Name: "bare", Kind: "boolean", Doc: "send no Location at all", Default: "false"},
	},
	build: func(a args) any {
		return &redirect{int(a.int("code")), a.text("location"), a.given("location"), a.flag("bare")}
	},
}

type redirect struct {
	code     int
	location string
	given    bool
	bare     bool
}

func (r *redirect) answer(a *answer) bool {
	a.refuse(r.code, "redirect", "by the fault schedule")
	a.how = "redirect"
	switch {
	case r.bare:
	case r.given:
		a.header["Location"] = []string{r.location}
	default:
		a.header["Location"] = []string{a.stream.home.path}
	}
	return true
}

var mediaTypeFault = Spec{
	Name:  "media-type",
	Wires: []string{SSE, OData},
	Doc:   "answers 200 with another media type",
	At:    []string{"connection", "request"},
	Params: []Param{
		{Name: "type", Kind: "text", Doc: "value of Content-Type", Default: "text/html"},
		{Name: "stream", Kind: "boolean", Doc: "send the stream all the same, instead of a page that is left open", Default: "false"},
		{Name: "encoding", Kind: "text", Doc: "value of Content-Encoding; the body is not really coded"},
	},
	build: func(a args) any { return &mediaType{a.text("type"), a.flag("stream"), a.text("encoding")} },
}

type mediaType struct {
	value    string
	stream   bool
	encoding string
}

func (m *mediaType) answer(a *answer) bool {
	if a.status != 200 {
		return false
	}
	a.header["Content-Type"] = []string{m.value}
	if m.encoding != "" {
		a.header["Content-Encoding"] = []string{m.encoding}
	}
	if !m.stream {
		a.body, a.hold, a.how = []byte("data: not an event\n\n"), true, "page"
		if a.odata != nil {
			a.body, a.hold = []byte("<!doctype html><title>not a page of the collection</title>\n"), false
		}
	}
	return true
}

var unansweredFault = Spec{
	Name: "unanswered",
	Doc:  "takes a request and never answers it",
	At:   []string{"connection", "request"},
	Params: []Param{{Name: "then", Kind: "text", Doc: "what becomes of the connection: left open for ever, reset, or cut",
		Default: "hold", Values: []string{"hold", "reset", "cut"}}},
	build: func(a args) any { return unanswered(a.text("then")) },
}

type unanswered string

func (u unanswered) answer(a *answer) bool {
	a.status, a.body, a.how = 0, nil, "unanswered"
	a.stream.live = false
	if u != "hold" {
		a.stream.ending, a.stream.why = CloseKind(u), "unanswered"
	}
	return true
}

var revokeFault = Spec{
	Name: "revoke",
	Doc: "from this request on takes the next credential of those that the server knows, and answers 401 to all others; a server that " +
		"checks none knows none",
	At:    []string{"connection", "request"},
	build: func(args) any { return revoke{} },
}

type revoke struct{}

func (revoke) answer(a *answer) bool {
	s := a.sim
	if s.revoked >= len(s.opt.Accepts) {
		return false
	}
	s.revoked++
	return true
}

// authorize refuses a request without the credential that counts now. An answer that a fault made stays.
func (a *answer) authorize() {
	s := a.sim
	if a.status != 200 || len(s.opt.Accepts) == 0 || s.revoked < len(s.opt.Accepts) && a.req.credential == s.opt.Accepts[s.revoked] {
		return
	}
	a.refuse(401, "Unauthorized", "the credential does not count")
	a.how = "unauthorized"
}

var credentialRequiredFault = Spec{
	Name:  "credential-required",
	Doc:   "answers 401 to a request without an Authorization header",
	At:    []string{"connection", "request"},
	build: func(args) any { return credentialRequired{} },
}

type credentialRequired struct{}

func (credentialRequired) answer(a *answer) bool {
	if a.req.bearer {
		return false
	}
	a.refuse(401, "Unauthorized", "by the fault schedule: no Authorization header")
	a.how = "unauthorized"
	return true
}
