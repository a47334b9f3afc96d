package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

const rigWall = 1786694400000 // 2026-08-14T08:00:00.000Z

// rig drives a server by hand: one clock, connections numbered from 1, everything that was put out kept.
type rig struct {
	t       testing.TB
	s       *Server
	now     time.Duration
	last    Conn
	hold    bool // do not report bytes as written
	head    map[Conn]*simulator.Head
	body    map[Conn]*strings.Builder
	closed  map[Conn]string
	records []trace.Record
}

// options is a table of three viewers: the service, another one with a plane bearer, and one with only a provider's tuple.
func options() Options {
	return Options{
		Viewers: []Viewer{
			{ProviderUsername: "viewer", UserID: "u1", Provider: "github", ProviderUserID: "1", Admission: []string{"OWN-CCC", "OWN-2"},
				Plane: []string{"MCP-AAA"}, Subscription: "WAKE_SUB:relay"},
			{ProviderUsername: "other", UserID: "u2", Provider: "github", ProviderUserID: "2", Admission: []string{"OTHER-CCC"},
				Plane: []string{"OTHER-MCP"}, Subscription: "WAKE_SUB:other"},
			{ProviderUsername: "display name", UserID: "u3", Provider: "gitlab", ProviderUserID: "3", Admission: []string{"TUPLE-CCC"}},
			{ProviderUsername: "nobody here", UserID: "u4", Admission: []string{"NONE-CCC"}},
			{ProviderUsername: "possession", Admission: []string{"BARE-CCC"}},
		},
		Service: "@viewer", SelfBase: "http://fleet.test/",
	}
}

func newRig(t testing.TB, o Options) *rig {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, s: s, head: map[Conn]*simulator.Head{}, body: map[Conn]*strings.Builder{}, closed: map[Conn]string{}}
	r.drain()
	return r
}

func (r *rig) clock() Now { return Now{Mono: r.now, Wall: rigWall + r.now.Milliseconds()} }

func (r *rig) drain() {
	r.t.Helper()
	for {
		o, ok := r.s.Take()
		switch {
		case !ok:
			return
		case o.Record != nil:
			if !trace.Known(o.Record.Actor, o.Record.Kind) {
				r.t.Errorf("record %+v is of no known kind", o.Record)
			}
			r.records = append(r.records, *o.Record)
		case r.closed[o.Conn] != "":
			r.t.Errorf("output on %d behind its end", o.Conn)
		case o.Head != nil:
			r.head[o.Conn], r.body[o.Conn] = o.Head, &strings.Builder{}
		case o.Close != nil:
			r.closed[o.Conn] = string(o.Close.Kind)
		default:
			r.body[o.Conn].Write(o.Bytes)
			if !r.hold {
				r.s.Written(r.clock(), o.Conn, len(o.Bytes))
			}
		}
	}
}

// ask makes one request; h are header lines, name and value in turn.
func (r *rig) ask(method, target, body string, h ...string) Conn {
	r.t.Helper()
	r.last++
	req := Request{Method: method, Target: target, Host: "localhost:1234", Header: simulator.Header{}, Body: []byte(body)}
	for i := 0; i+1 < len(h); i += 2 {
		switch h[i] {
		case "Host":
			req.Host = h[i+1]
		case "State":
			req.State = map[string]BodyState{"large": BodyLarge, "broken": BodyBroken}[h[i+1]]
		default:
			req.Header[h[i]] = []string{h[i+1]}
		}
	}
	r.s.Request(r.clock(), r.last, req)
	r.drain()
	return r.last
}

// open asks for a stream with a bearer.
func (r *rig) open(token string, h ...string) Conn {
	r.t.Helper()
	return r.ask("GET", EventsPath, "", append([]string{"Authorization", "Bearer " + token}, h...)...)
}

// said is status and body; a connection that was destroyed without an answer says nothing.
func (r *rig) said(c Conn) string {
	if r.head[c] == nil {
		return "nothing, " + r.closed[c]
	}
	return fmt.Sprintf("%d %s", r.head[c].Status, r.body[c])
}

func (r *rig) want(c Conn, want string) {
	r.t.Helper()
	if got := r.said(c); got != want {
		r.t.Errorf("connection %d said %q, want %q", c, got, want)
	}
}

// live says whether c is an open stream.
func (r *rig) live(c Conn) bool {
	return r.head[c] != nil && r.head[c].Status == 200 && r.closed[c] == ""
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// publish makes one digest for identity and fails if a delivery was not accepted.
func (r *rig) publish(identity string, events ...Event) Published {
	r.t.Helper()
	p, err := r.s.Publish(r.clock(), identity, events)
	r.must(err)
	r.drain()
	return p
}

// pass lets time go by, with each wake-up at its time.
func (r *rig) pass(d time.Duration) {
	end := r.now + d
	for {
		at, ok := r.s.Deadline()
		if !ok || at > end {
			break
		}
		r.now = max(at, r.now)
		r.s.Wake(r.clock())
		r.drain()
	}
	r.now = end
}

// clear forgets what stream c got so far.
func (r *rig) clear(c Conn) { r.body[c].Reset() }

// words are the reasons of the request records on path, in order.
func (r *rig) words(path string) []string {
	var out []string
	for _, rec := range r.records {
		if rec.Kind == trace.ServerRequest && rec.Args["path"] == path {
			out = append(out, rec.Status+" "+rec.Reason)
		}
	}
	return out
}

func wiredBody(text string) string {
	return `{"ok":false,"state":"refused","protocol":{"capabilities":["method-schema-v1","closed-response-states-v1"],"version":1},"error":"` + text + `"}`
}

func count(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func sorted(m map[string]string) (out []string) {
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}
