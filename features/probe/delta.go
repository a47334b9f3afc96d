package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/trace"
)

// MaxPages bounds the pages of one round: the largest honest one here has a few rows.
const MaxPages = 100

// What a round brought, beside rows.
const (
	heardRow     = "row"
	heardRemoved = "removed"
	heardDelta   = "delta-link"
)

// page is one page of a round (OData JSON 4.01, 4.0).
type page struct {
	Value []json.RawMessage `json:"value"`
	Next  string            `json:"@odata.nextLink"`
	Delta string            `json:"@odata.deltaLink"`
	Next2 string            `json:"@nextLink"`
	Del2  string            `json:"@deltaLink"`
}

// round asks for path and follows its pages to the delta link. It is one request to whoever reads the trace: the answer is that of the first
// page that was no success, else of the last one. With chase it goes on behind each delta link until nothing changed: a service may tell its
// changes one after the other.
func (p *Probe) round(ctx context.Context, path, odd string, after int64, chase bool) error {
	q := question{who: p.feeder(), class: 1, method: http.MethodGet, path: path, odd: odd, after: &after}
	n, err := p.enter(&q)
	if err != nil {
		return err
	}
	rows := 0
	for range MaxPages {
		status, header, body, err := p.fetch(ctx, &q)
		if err != nil {
			return err
		}
		if status != "200" {
			p.answered(n, status, header, body)
			return nil
		}
		var got page
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			p.answered(n, status, header, "no JSON object: "+body)
			return nil
		}
		p.rows(n, got.Value)
		rows += len(got.Value)
		if next := got.Next + got.Next2; next != "" {
			if q.path, err = p.inside(next); err != nil {
				p.answered(n, status, header, err.Error())
				return nil
			}
			continue
		}
		link := got.Delta + got.Del2
		if chase && link != "" && rows > 0 {
			if q.path, err = p.inside(link); err != nil {
				p.answered(n, status, header, err.Error())
				return nil
			}
			rows = 0
			continue
		}
		if link != "" {
			r := trace.New(trace.Examiner, trace.ExaminerHeard)
			r.Epoch, r.Type, r.Detail = uint32(n), heardDelta, link
			p.add(r)
		}
		p.answered(n, status, header, "")
		return nil
	}
	p.answered(n, "none", nil, fmt.Sprintf("more than %d pages", MaxPages))
	return nil
}

// fetch asks for one page.
func (p *Probe) fetch(ctx context.Context, q *question) (status string, header http.Header, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, q.method, p.target.Base+q.path, nil)
	if err != nil {
		return "", nil, "", err
	}
	request.Header.Set("Prefer", "odata.track-changes")
	request.Header.Set("Accept", "application/json")
	if err := p.dress(request, q); err != nil {
		return "", nil, "", err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return "none", nil, p.closing(err), nil
	}
	defer response.Body.Close()
	text, err := readBody(response.Body)
	if err != nil {
		return "none", nil, p.closing(err), nil
	}
	return strconv.Itoa(response.StatusCode), response.Header, text, nil
}

// rows writes down what a page brought.
func (p *Probe) rows(n int, list []json.RawMessage) {
	for _, raw := range list {
		r := trace.New(trace.Examiner, trace.ExaminerHeard)
		r.Epoch, r.Type, r.Detail = uint32(n), heardRow, string(raw)
		var mark map[string]json.RawMessage
		_ = json.Unmarshal(raw, &mark) // what is no object is a row without a number
		for _, name := range []string{"@removed", "@odata.removed"} {
			if _, gone := mark[name]; gone {
				r.Type = heardRemoved
			}
		}
		if k, ok := p.change(raw); ok && r.Type == heardRow {
			r.Args = map[string]string{"change": strconv.FormatInt(k, 10)}
		}
		p.add(r)
	}
}

// errOutside says that a link leads away from the service.
var errOutside = errors.New("the link leads to another origin")

// inside is the path of a link: relative, or of the service's own origin.
func (p *Probe) inside(link string) (string, error) {
	base, err := url.Parse(p.target.Base + p.target.Events)
	if err != nil {
		return "", err
	}
	to, err := base.Parse(link)
	if err != nil {
		return "", fmt.Errorf("the link %q is none", link)
	}
	if to.Scheme != base.Scheme || to.Host != base.Host {
		return "", errOutside
	}
	return to.RequestURI(), nil
}

// deltaOf is the delta link of round n, as a path.
func (p *Probe) deltaOf(n int) (string, error) {
	for _, r := range p.Records() {
		if r.Actor == trace.Examiner && r.Kind == trace.ExaminerHeard && int(r.Epoch) == n && r.Type == heardDelta {
			return p.inside(r.Detail)
		}
	}
	return "", nil
}

// deltaWhen are the phrases about a service that is polled.
func (p *Probe) deltaWhen() []phrase {
	return []phrase{
		{`a client loads the collection`, func(ctx context.Context) error {
			p.loaded = append(p.loaded, p.published)
			return p.round(ctx, p.target.Events, "", 0, false)
		}},
		{`a client asks what changed since round (\d+)`, func(ctx context.Context, n int) error {
			path, err := p.deltaOf(n)
			if err != nil || n < 1 || n > len(p.loaded) {
				return err
			}
			after := int64(p.loaded[n-1])
			p.loaded = append(p.loaded, p.published)
			if path == "" { // there is nothing to ask with: what is expected of the round fails by itself
				_, err := p.enter(&question{method: http.MethodGet, path: "none", odd: "there is no delta link", after: &after})
				return err
			}
			return p.round(ctx, path, fmt.Sprintf("the delta link of round %d", n), after, true)
		}},
		{`a client asks with a delta token that nobody gave out`, func(ctx context.Context) error {
			p.loaded = append(p.loaded, p.published)
			glue := "?"
			if strings.Contains(p.target.Events, "?") {
				glue = "&"
			}
			return p.round(ctx, p.target.Events+glue+"$deltatoken="+nobodysID, "a delta token that nobody gave out", 0, true)
		}},
	}
}

// deltaThen are the phrases about what a round should have brought.
func (p *Probe) deltaThen() []phrase {
	return []phrase{
		{`round (\d+) brought (?:changes (\d+) to (\d+|the last)|(no) change), in any order`, func(n, first, last, no string) error {
			if no != "" {
				first, last = "1", "0"
			}
			if last == "the last" {
				last = strconv.Itoa(p.published)
			}
			return p.expect(trace.ExpectChanges, "n", n, "first", first, "last", last, "order", "any")
		}},
		{`round (\d+) ended with a delta link`, func(n string) error {
			return p.expect(trace.ExpectHeard, "n", n, "what", heardDelta, "count", "1")
		}},
	}
}
