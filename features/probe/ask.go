package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/trace"
)

// question is one request.
type question struct {
	who     string // whose credential; empty: none
	class   int    // of it: 1, 3
	auth    string // the Authorization header in full, where it is not of that form
	method  string
	path    string
	host    string // empty: the server's
	header  http.Header
	body    []byte
	odd     string // for the record
	since   *int64 // the mark of a poll
	after   *int64 // the change that a client of a feed has heard last; 0: none, or an id of nobody's
	resumed string // the id that it comes back with
	stream  bool   // an answer of 200 is a stream
}

// answers are the headers that are written down.
var answers = []string{"Content-Type", "Cache-Control", "WWW-Authenticate", "Retry-After", "Last-Event-ID", "Access-Control-Allow-Origin", "RateLimit-Limit", "X-RateLimit-Limit", "X-Accel-Buffering"}

// errTooMany says that a scenario asked more than MaxRequests times.
var errTooMany = fmt.Errorf("more than %d requests in one scenario", MaxRequests)

// enter numbers a request and writes it down.
func (p *Probe) enter(q *question) (int, error) {
	p.mu.Lock()
	p.asked++
	n := p.asked
	p.mu.Unlock()
	if n > MaxRequests {
		return 0, errTooMany
	}
	r := trace.New(trace.Examiner, trace.ExaminerAsked)
	r.Epoch, r.Args = uint32(n), map[string]string{"method": q.method, "path": q.path}
	if q.who != "" {
		r.Args["who"] = q.who
	}
	if q.odd != "" {
		r.Args["odd"] = q.odd
	}
	if q.after != nil {
		r.Args["after"], r.ID = strconv.FormatInt(*q.after, 10), q.resumed
	}
	if q.since != nil {
		r.Args["since"] = strconv.FormatInt(*q.since, 10)
	}
	p.add(r)
	return n, nil
}

// ask sends q and writes down the answer; that of a stream without its body. n is its number, and admitted says that its stream is
// open. An error is the harness's.
func (p *Probe) ask(ctx context.Context, q question) (n int, admitted bool, err error) {
	if q.method == "" {
		q.method = "GET"
	}
	if n, err = p.enter(&q); err != nil {
		return n, false, err
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a stream outlives the step
	defer context.AfterFunc(ctx, cancel)()
	request, err := http.NewRequestWithContext(own, q.method, p.target.Base+q.path, strings.NewReader(string(q.body)))
	if err != nil {
		cancel()
		return n, false, err
	}
	if err := p.dress(request, &q); err != nil {
		cancel()
		return n, false, err
	}
	timer := time.AfterFunc(p.patience, cancel)
	response, err := p.client.Do(request)
	timer.Stop()
	if err != nil {
		cancel()
		if ctx.Err() != nil {
			return n, false, ctx.Err()
		}
		p.answered(n, "none", nil, p.closing(err))
		return n, false, nil
	}
	if q.stream && response.StatusCode == http.StatusOK && q.method != http.MethodHead {
		p.answered(n, "200", response.Header, "")
		p.follow(n, response.Body, cancel)
		return n, true, nil
	}
	defer cancel()
	defer response.Body.Close()
	timer = time.AfterFunc(p.patience, cancel)
	body, err := readBody(response.Body)
	timer.Stop()
	if err != nil {
		body += "... " + p.closing(err)
	}
	p.answered(n, strconv.Itoa(response.StatusCode), response.Header, body)
	return n, false, nil
}

// readBody reads an answer that is no stream.
func readBody(from io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(from, MaxBody))
	return string(text), err
}

// closing is how a connection ended without an answer, in words that do not depend on the machine.
func (p *Probe) closing(err error) string {
	if errors.Is(err, context.Canceled) {
		return fmt.Sprintf("no answer within %v", p.patience)
	}
	return "the connection ended without an answer"
}

// dress gives a request its headers.
func (p *Probe) dress(r *http.Request, q *question) error {
	if q.stream {
		r.Header.Set("Accept", "text/event-stream") // as an EventSource does (WHATWG HTML 9.2.2)
	}
	if p.target.Headers != nil {
		own, err := p.target.Headers()
		if err != nil {
			return err
		}
		for name, value := range own {
			r.Header.Set(name, value)
		}
	}
	for name, values := range q.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if q.host != "" {
		r.Host = q.host
	}
	switch {
	case q.auth != "":
		r.Header.Set("Authorization", q.auth)
	case q.who != "":
		token, err := p.token(q.who, q.class)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// unknownToken is nobody's: a server that takes it takes anything.
const unknownToken = "conform-examiner-unknown-token"

func (p *Probe) token(who string, class int) (string, error) {
	if who == Nobody {
		return unknownToken, nil
	}
	person, ok := p.target.People[who]
	of := person.Admission
	if class == 3 {
		of = person.Plane
	}
	if !ok || of == nil {
		return "", fmt.Errorf("the subject names no credential of class %d for %s", class, who)
	}
	return of()
}

// answered writes an answer down.
func (p *Probe) answered(n int, status string, header http.Header, body string) {
	r := trace.New(trace.Examiner, trace.ExaminerAnswered)
	r.Epoch, r.Status, r.Detail, r.Args = uint32(n), status, body, map[string]string{}
	for _, name := range answers {
		if values := header.Values(name); len(values) > 0 {
			r.Args["header-"+strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	p.add(r)
}
