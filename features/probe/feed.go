package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// Feed says how the changes of a server's feed are told from each other and how a client asks for what it missed (D-42).
type Feed struct {
	Serial  string // JSON pointer to the number of a change in its payload
	Type    string // JSON pointer to the type of a message; on a wire whose events have no name
	ID      string // and to its position
	Header  string // request header that carries the last id; empty: none
	Query   string // or parameter
	Expired []string
}

// at is what stands at a JSON pointer (RFC 6901) of objects.
func at(pointer string, data []byte) (raw json.RawMessage, ok bool) {
	raw = data
	for _, name := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if name == "" {
			break // the document itself
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil, false
		}
		if raw, ok = object[name]; !ok {
			return nil, false
		}
	}
	return raw, true
}

// textOf is the text that stands at pointer in a document.
func textOf(pointer string, data []byte) (text string, ok bool) {
	raw, ok := at(pointer, data)
	ok = ok && pointer != "" && json.Unmarshal(raw, &text) == nil
	return text, ok
}

// serialOf is the number that stands at pointer in a document.
func serialOf(pointer string, data []byte) (n int64, ok bool) {
	raw, ok := at(pointer, data)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.Trim(string(raw), `" `), 10, 64)
	return n, err == nil
}

// change is which change of this scenario an event is: its number counts from the first one that the scenario published.
func (p *Probe) change(data []byte) (k int64, ok bool) {
	if p.target.Feed == nil {
		return 0, false
	}
	n, ok := serialOf(p.target.Feed.Serial, data)
	k = n - int64(p.base)
	return k, ok && k >= 1
}

// resume asks for the stream as a client that has heard id.
func (p *Probe) resume(ctx context.Context, id, odd string, after int64) error {
	q := question{path: p.target.Events, stream: true, odd: odd, who: p.feeder(), class: 1, after: &after}
	f := p.target.Feed
	if id != "" {
		switch {
		case f.Header != "":
			q.header = http.Header{f.Header: {id}}
		case f.Query != "":
			glue := "?"
			if strings.Contains(q.path, "?") {
				glue = "&"
			}
			q.path += glue + url.QueryEscape(f.Query) + "=" + url.QueryEscape(id)
		default:
			return fmt.Errorf("the subject does not say how a client resumes")
		}
		q.resumed = id
	}
	if p.target.Wire == simulator.WebSocket {
		return p.dial(ctx, q)
	}
	_, _, err := p.ask(ctx, q)
	return err
}

// feeder is whose credential a feed is asked with: the viewer's, if there is one.
func (p *Probe) feeder() string {
	if p.target.People[Viewer].Admission != nil {
		return Viewer
	}
	return ""
}

// nobodysID is an id that no server gave out.
const nobodysID = "conform-nobody-sent-this"

// feedWhen are the phrases about a feed.
func (p *Probe) feedWhen() []phrase {
	return []phrase{
		{`a client opens the feed`, func(ctx context.Context) error { return p.resume(ctx, "", "", 0) }},
		{`(\d+) changes? (?:is|are) published`, func(ctx context.Context, n int) error { return p.publishes(ctx, n) }},
		{`change 1 is forgotten`, p.forget},
		{`stream (\d+) has heard (change \d+|the last change)`, func(ctx context.Context, n int, what string) error {
			k := int64(p.published)
			if what != "the last change" {
				k, _ = strconv.ParseInt(strings.TrimPrefix(what, "change "), 10, 64)
			}
			return p.wait(ctx, fmt.Sprintf("stream %d to hear change %d", n, k), p.patience, func() (bool, <-chan struct{}) {
				_, over, changed := p.look(n, "")
				_, there := p.idOf(n, k)
				return there || over, changed
			})
		}},
		{`a client comes back with the last id of stream (\d+)`, func(ctx context.Context, n int) error {
			k, id := p.lastOf(n)
			return p.resume(ctx, id, fmt.Sprintf("with the id of change %d", k), k)
		}},
		{`a client comes back with the id of change (\d+)`, func(ctx context.Context, k int) error {
			id, _ := p.idOf(0, int64(k))
			return p.resume(ctx, id, fmt.Sprintf("with the id of change %d", k), int64(k))
		}},
		{`a client comes back with an id that nobody sent`, func(ctx context.Context) error {
			return p.resume(ctx, nobodysID, "with an id that nobody sent", 0)
		}},
	}
}

func (p *Probe) publishes(ctx context.Context, n int) error {
	p.published += n
	return p.hook(ctx, Publish, "", n)
}

// forget makes the server forget what it had at first: by its hook, or by as many changes as it keeps.
func (p *Probe) forget(ctx context.Context) error {
	if p.target.Trims {
		return p.hook(ctx, Trim, "", 1)
	}
	return p.publishes(ctx, p.target.Limits.History+1)
}

// idOf is the id under which change k was heard on stream n, on any if n is 0; ok says that it was heard.
func (p *Probe) idOf(n int, k int64) (id string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.log.Since(0) {
		if r.Actor == trace.Examiner && r.Kind == trace.ExaminerHeard && (n == 0 || int(r.Epoch) == n) && r.Args["change"] == strconv.FormatInt(k, 10) {
			return r.ID, true
		}
	}
	return "", false
}

// lastOf is the last change that stream n brought, and its id.
func (p *Probe) lastOf(n int) (k int64, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.log.Since(0) {
		if r.Actor == trace.Examiner && r.Kind == trace.ExaminerHeard && int(r.Epoch) == n && r.Args["change"] != "" {
			k, _ = strconv.ParseInt(r.Args["change"], 10, 64)
			id = r.ID
		}
	}
	return k, id
}

// feedThen are the phrases about what a feed should have brought.
func (p *Probe) feedThen() []phrase {
	return []phrase{
		{`stream (\d+) carried changes (\d+) to (\d+|the last), each once and in order`, func(n, first, last string) error {
			if last == "the last" {
				last = strconv.Itoa(p.published)
			}
			return p.expect(trace.ExpectChanges, "n", n, "first", first, "last", last)
		}},
		{`(answer \d+) says that something is lost, or nothing is`, func(n string) error {
			pairs := []string{"n", p.number(n), "last", strconv.Itoa(p.published)}
			if len(p.loaded) > 0 { // rounds have no order
				pairs = append(pairs, "order", "any")
			}
			return p.expect(trace.ExpectHonest, pairs...)
		}},
		{`each change had an id of its own`, func() error { return p.expect(trace.ExpectIDs) }},
	}
}
