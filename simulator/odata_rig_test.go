package simulator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/conform-dev/conform/core/event"
)

// odataOrigin is where the tests call the server.
const odataOrigin = "http://svc.example"

// odata sends a request for the collection. target is a path with a query, or a query alone.
func (r *rig) odata(method, target string, header Header) Conn {
	if target == "" || target[0] == '?' {
		target = "/odata/incidents" + target
	}
	r.conns++
	r.pages[r.conns] = true
	if r.credential != "" {
		header["Authorization"] = []string{r.credential}
	}
	r.sim.Request(r.clock(), r.conns, Request{Method: method, Target: target, Header: header, Origin: odataOrigin})
	r.drain()
	return r.conns
}

// track begins a snapshot whose changes are tracked.
func (r *rig) track() Conn {
	return r.odata("GET", "", Header{"Prefer": {"odata.track-changes"}})
}

// poll asks with a delta token.
func (r *rig) poll(token string) Conn { return r.odata("GET", "?$deltatoken="+token, Header{}) }

// follow asks for what the link of an answer names, as a client on the same service would.
func (r *rig) follow(c Conn) Conn {
	r.t.Helper()
	p := r.page(c)
	link := p.link("nextLink")
	if link == "" {
		link = p.link("deltaLink")
	}
	if link == "" {
		r.t.Fatalf("the answer to request %d has no link: %s", c, r.body[c])
	}
	_, query, _ := strings.Cut(link, "?")
	return r.odata("GET", "?"+query, Header{})
}

// named is the query of the link that the answer to the back-th last request names; empty if it names none. A link that leads elsewhere is
// followed here all the same.
func (r *rig) named(back Conn) string {
	c := r.conns - back
	if c < 1 || r.body[c] == nil || !r.pages[c] {
		return ""
	}
	var members map[string]any
	_ = json.Unmarshal(r.body[c].Bytes(), &members)
	for _, name := range []string{"@odata.nextLink", "@nextLink", "@odata.deltaLink", "@deltaLink"} {
		if link, ok := members[name].(string); ok {
			_, query, _ := strings.Cut(link, "?")
			return "?" + query
		}
	}
	return ""
}

// odataPage is a page as a reader sees it, written for these tests alone.
type odataPage struct {
	members map[string]json.RawMessage
	Value   []map[string]any
}

func (r *rig) page(c Conn) odataPage {
	r.t.Helper()
	var p odataPage
	if r.body[c] == nil {
		r.t.Fatalf("request %d has no answer", c)
	}
	if err := json.Unmarshal(r.body[c].Bytes(), &p.members); err != nil {
		r.t.Fatalf("request %d: %v: %s", c, err, r.body[c])
	}
	if v := p.members["value"]; v != nil {
		if err := json.Unmarshal(v, &p.Value); err != nil {
			r.t.Fatal(err)
		}
	}
	return p
}

func (p odataPage) text(name string) string {
	var s string
	_ = json.Unmarshal(p.members[name], &s)
	return s
}

func (p odataPage) number(name string) int {
	n := -1
	_ = json.Unmarshal(p.members[name], &n)
	return n
}

// link is a link of either version of the protocol.
func (p odataPage) link(name string) string {
	if l := p.text("@odata." + name); l != "" {
		return l
	}
	return p.text("@" + name)
}

// odataCommand is the command `odata` of a transcript: a snapshot that is tracked; plain, one that is not; from=TOKEN, a delta round;
// follow, what the last answer names (follow=N, what the answer to request N names); query=TEXT, anything.
func odataCommand(t *testing.T, r *rig, d *datadriven.TestData) {
	r.credential = text(d, "auth")
	header := Header{}
	for _, line := range strings.Split(d.Input, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			header[name] = []string{strings.TrimSpace(value)}
		}
	}
	if v := text(d, "version"); v != "" {
		header["Odata-Maxversion"] = []string{v}
	}
	method := text(d, "method")
	if method == "" {
		method = "GET"
	}
	target := text(d, "target") + text(d, "query")
	switch {
	case d.HasArg("follow"):
		c := Conn(number1(t, d, "follow"))
		if c == 0 {
			c = r.conns
		}
		p := r.page(c)
		link := p.link("nextLink")
		if link == "" {
			link = p.link("deltaLink")
		}
		_, query, ok := strings.Cut(link, "?")
		if !ok {
			t.Fatalf("%s: the answer to request %d has no link", d.Pos, c)
		}
		target = "?" + query
	case d.HasArg("from"):
		target = "?$deltatoken=" + text(d, "from")
	case target == "" && !d.HasArg("plain"):
		header["Prefer"] = []string{"odata.track-changes"}
	}
	r.odata(method, target, header)
}

// change publishes c; its kind is found from what it holds.
func (r *rig) change(c Change) {
	r.t.Helper()
	switch {
	case len(c.Deletes) == 0:
		c.Kind = event.Upsert
	case len(c.Upserts) == 0:
		c.Kind = event.Delete
	default:
		c.Kind = event.Delta
	}
	_, err := r.sim.Publish(r.clock(), c)
	r.must(err)
}

func (r *rig) wantText(c Conn, text string) {
	r.t.Helper()
	if !strings.Contains(r.body[c].String(), text) {
		r.t.Errorf("request %d: %s\nwant %s", c, r.body[c], text)
	}
}

// wantStatus compares the status, and one header if it is named.
func (r *rig) wantStatus(c Conn, status int, name, value string) {
	r.t.Helper()
	h := r.head[c]
	if h.Status != status || name != "" && (len(h.Header[name]) != 1 || h.Header[name][0] != value) {
		r.t.Errorf("request %d: %d %v, want %d %s %s", c, h.Status, h.Header, status, name, value)
	}
}
