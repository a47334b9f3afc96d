package odata

import (
	"errors"
	"net/url"
	"strings"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// plan is an attempt, read: where the chain of requests begins, and what goes with each of them.
type plan struct {
	set     settings
	within  Collection
	first   *url.URL // of a snapshot cycle
	resume  *url.URL // of the delta cycle to begin with, nil without a position
	header  transport.Header
	secrets []string // of the attempt: no text that is shown may hold one
}

var (
	// errUnsendable says that the held position cannot be named in a request: a snapshot has to be asked for.
	errUnsendable = errors.New("position-unsendable")
	// errForeignResume says that the position is a link to somewhere else. It is never requested.
	errForeignResume = errors.New("resume-link-outside-collection")
)

// newPlan reads an attempt.
func newPlan(a transport.Attempt) (p plan, err error) {
	if p.set, err = parseSettings(a); err != nil {
		return p, err
	}
	if p.within, err = NewCollection(a.Endpoint); err != nil {
		return p, err
	}
	if err := a.Query.Check(); err != nil {
		return p, err
	}
	if err := a.CheckAccess(); err != nil {
		return p, err
	}
	p.header = transport.Header{
		"Accept":          {"application/json"},
		"Accept-Encoding": {"identity"}, // what is counted and bounded are the bytes of the page
		"Cache-Control":   {"no-store"}, // a cache that keeps a refusal would keep us in a circle
	}
	if err := web.AddCredential(p.header, a.Credential); err != nil {
		return p, err
	}
	for _, h := range a.Headers { // checked above
		p.header[transport.CanonicalHeader(h.Name)] = []string{h.Value.Reveal()}
		p.secrets = append(p.secrets, h.Value.Reveal())
	}
	p.secrets = append(p.secrets, strings.Fields(a.Credential.Value.Reveal())...)
	first := *p.within.at
	first.RawQuery = firstQuery(first.RawQuery, p.set.query)
	p.first = &first
	return p, p.from(a.Resume.DeltaToken)
}

// from plans the delta cycle of a token, or of a whole link as other implementations store it.
func (p *plan) from(token string) error {
	switch {
	case token == "":
		return nil
	case len(token) > MaxLinkBytes:
		return errUnsendable
	}
	p.secrets = append(p.secrets, token)
	if !strings.HasPrefix(token, "http://") && !strings.HasPrefix(token, "https://") {
		p.resume = p.within.Resume(p.set.deltaToken, token)
		return nil
	}
	to, refused := p.within.Follow(p.within.at, "", token)
	if refused != nil {
		return errForeignResume
	}
	p.resume = to
	return nil
}

// firstQuery lays params over the endpoint's own query, whose other parts stay as they were written. A space is %20, and a
// plus sign is escaped: to some services it is a space.
func firstQuery(raw string, params []transport.Param) string {
	var parts []string
	for part := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(part, "=")
		plain, err := url.PathUnescape(name)
		replaced := false
		for _, p := range params {
			replaced = replaced || err == nil && plain == p.Name
		}
		if part != "" && !replaced {
			parts = append(parts, part)
		}
	}
	for _, p := range params {
		parts = append(parts, p.Name+"="+escape(p.Value, ""))
	}
	return strings.Join(parts, "&")
}

// request is a GET of to. Only the first page of a snapshot cycle asks the service to track changes (OData 4.01 protocol, 8.2.8.6).
func (p *plan) request(to *url.URL, track bool) *transport.Request {
	header := make(transport.Header, len(p.header)+1)
	for name, values := range p.header {
		header[name] = values
	}
	if track {
		header["Prefer"] = append([]string{"odata.track-changes"}, p.header["Prefer"]...)
	}
	return &transport.Request{Method: "GET", URL: to.String(), Header: header}
}

// hides says whether a text would show a secret of the attempt, or a value of the query of link, which may be a position.
func (p *plan) hides(text string, link *url.URL) bool {
	secrets := p.secrets
	for part := range strings.SplitSeq(link.RawQuery, "&") {
		if _, value, ok := strings.Cut(part, "="); ok {
			secrets = append(secrets[:len(secrets):len(secrets)], value)
		}
	}
	plain, err := url.PathUnescape(text)
	for _, s := range secrets {
		if len(s) >= 4 && (strings.Contains(text, s) || err == nil && strings.Contains(plain, s)) {
			return true
		}
	}
	return false
}
