package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// ToolName is the tool of the plane that subscriptions are managed with.
const ToolName = "manage_wake_subscription"

// Actions of the tool.
const (
	actionPoll      = "poll-digest"
	actionSubscribe = "subscribe"
	actionRotate    = "rotate-key"
	actionList      = "list"
)

// Result is what the tool answers: a JSON document, or the text of an error.
type Result struct {
	Text  string
	Error bool

	status int    // of the same answer over HTTP
	word   string // for the record
}

func failed(status int, word, format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), Error: true, status: status, word: word}
}

// Caller is who a class-3 bearer belongs to.
type Caller struct{ of *viewer }

// Plane checks a request for the plane's tool: host, origin and the class-3 bearer. Where it is refused, what to answer comes with it.
// A bearer of another class is none. The driver asks before each request: a revoked bearer works no more.
func (s *Server) Plane(now Now, r Request) (Caller, *Answer) {
	s.now = now
	s.requests++
	refused := s.front(&r)
	var v *viewer
	if refused == nil {
		v, refused = s.planeBearer(r.Header)
	}
	if refused != nil {
		s.asked(&r, refused.status, refused.word, map[string]string{"path": ToolPath})
		h := simulator.Header{"Content-Type": {jsonType}}
		for name, values := range refused.header {
			h[name] = values
		}
		return Caller{}, &Answer{Status: refused.status, Header: h, Body: []byte(refused.body)}
	}
	s.asked(&r, 200, "admitted", map[string]string{"path": ToolPath, "identity": v.login})
	return Caller{v}, nil
}

// Answer is a whole answer.
type Answer struct {
	Status int
	Header simulator.Header
	Body   []byte
}

func (s *Server) planeBearer(h simulator.Header) (*viewer, *refusal) {
	token, refused := bearer(h)
	if refused != nil {
		return nil, refused
	}
	v := s.known.find(ClassPlane, token)
	if v == nil {
		return nil, unauthorized("Token is not admitted for this audience")
	}
	return v, nil
}

// Tool is one call of manage_wake_subscription; arguments is a JSON object.
func (s *Server) Tool(now Now, by Caller, arguments []byte) Result {
	s.now = now
	return s.call(by.of, arguments)
}

func (s *Server) call(v *viewer, arguments []byte) Result {
	doc, ok := parse(arguments)
	o, is := doc.(*object)
	if !ok || !is {
		return failed(400, "invalid-arguments", "The arguments are no JSON object.")
	}
	if v == nil || v.login == "" {
		return failed(403, "unbound", "The caller has no bound identity.")
	}
	switch action, _ := o.text("action"); action {
	case actionPoll:
		return s.poll(v.login, o)
	case actionSubscribe:
		return s.subscribe(v, o)
	case actionRotate:
		sub, refused := s.own(v.login, o)
		if sub == nil {
			return refused
		}
		return done(`{"subscriptionId":` + quoted(sub.id) + `,"signingKey":` + quoted(s.plane.rotate(sub)) + `}`)
	case actionList:
		return s.list(v.login)
	}
	return failed(400, "unknown-action", "Unknown action; known are %s, %s, %s and %s.", actionSubscribe, actionRotate, actionList, actionPoll)
}

func done(text string) Result { return Result{Text: text, status: 200, word: "answered"} }

// own is the subscription that o names, if caller owns it.
func (s *Server) own(caller string, o *object) (*subscription, Result) {
	id, _ := o.text("subscriptionId")
	if id == "" || len(id) > MaxText {
		return nil, failed(400, "missing-subscription-id", "Missing 'subscriptionId' parameter.")
	}
	sub := s.plane.find(id)
	if sub == nil {
		return nil, failed(404, "unknown-subscription", "Subscription not found: %s", id)
	}
	if sub.owner != caller {
		return nil, failed(403, "permission-denied", "Permission denied: subscription %s is owned by %s, not %s.", id, sub.owner, caller)
	}
	return sub, Result{}
}

// poll answers from the log and stamps the time, nothing else: the mark is the client's (fleet facts 4).
func (s *Server) poll(caller string, o *object) Result {
	sub, refused := s.own(caller, o)
	since, ok := mark(o.at["sinceLogId"])
	if sub != nil && !ok {
		sub, refused = nil, failed(400, "invalid-since", "Invalid 'sinceLogId' parameter: it is no whole number from 0 on.")
	}
	if sub == nil {
		return refused
	}
	sub.polled = s.now.Wall
	s.polls++
	if s.fails(FailPoll) {
		return failed(500, "poll-failed", "The poll failed.")
	}
	d := s.plane.derive(sub.id, caller, since)
	s.record(trace.Record{Kind: trace.ServerSent, Type: "poll-digest", Seq: event.Seq(d.watermark), ID: sub.id, Pending: d.pending,
		Args: map[string]string{"since": strconv.FormatInt(since, 10)}})
	return done(string(d.json()))
}

// mark reads a log id; an absent one is 0.
func mark(v value) (int64, bool) {
	switch t := v.(type) {
	case nil:
		return 0, true
	case float64:
		if t >= 0 && t <= MaxLogID && t == float64(int64(t)) {
			return int64(t), true
		}
	}
	return 0, false
}

func (s *Server) subscribe(v *viewer, o *object) Result {
	url, _ := o.text("url")
	target, named := o.text("harnessTarget")
	if !named {
		target = webhook
	}
	if url == "" || len(url) > MaxText || len(target) > MaxText {
		return failed(400, "invalid-arguments", "Missing 'url' parameter.")
	}
	sub, refused := s.plane.subscribe(v.login, v.Subscription, target, url)
	if refused != "" {
		return failed(409, "too-many-subscriptions", "%s", refused)
	}
	return done(`{"subscriptionId":` + quoted(sub.id) + `}`)
}

// list shows the caller's own subscriptions, and never a key.
func (s *Server) list(caller string) Result {
	b := []byte(`{"subscriptions":[`)
	some := false
	for _, sub := range s.plane.subscriptions {
		if sub.owner != caller {
			continue
		}
		if some {
			b = append(b, ',')
		}
		some = true
		b = append(b, `{"subscriptionId":`+quoted(sub.id)+`,"owner":`+quoted(sub.owner)+`,"harnessTarget":`+quoted(sub.target)+
			`,"url":`+quoted(sub.url)+`,"lastPollAt":`...)
		if sub.polled < 0 {
			b = append(b, `null}`...)
		} else {
			b = append(b, quoted(iso(sub.polled))+`}`...)
		}
	}
	return done(string(append(b, `]}`...)))
}

func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// pollOver is POST /fleet/poll-digest: the tool's poll with the same bearer, answered as HTTP.
func (s *Server) pollOver(c Conn, r *Request) {
	args := map[string]string{"path": PollPath}
	v, refused := s.planeBearer(r.Header)
	if refused == nil && r.State != BodyWhole {
		refused = plain(map[BodyState]int{BodyLarge: 413, BodyBroken: 400}[r.State], "invalid-body")
	}
	if refused != nil {
		s.refuse(c, r, PollPath, refused)
		return
	}
	args["identity"] = v.login
	doc, ok := parse(r.Body)
	o, is := doc.(*object)
	var result Result
	switch {
	case !ok || !is || slices.Contains(o.names, "action"):
		result = failed(400, "invalid-json", "The body is no JSON object of subscriptionId and sinceLogId.")
	case v.login == "":
		result = failed(403, "unbound", "The caller has no bound identity.")
	default:
		result = s.poll(v.login, o)
	}
	s.asked(r, result.status, result.word, args)
	body := result.Text
	if result.Error {
		body = `{"error":` + quoted(result.Text) + `}`
	}
	s.answer(c, result.status, body, nil, first(r.Header, "Origin"))
}
