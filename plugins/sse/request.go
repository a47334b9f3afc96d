package sse

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// maxPositionBytes is the longest position that is taken and sent. Servers refuse requests whose head is much larger, and such a
// refusal would end the session; a position that cannot be named is a resume that is not supported.
const maxPositionBytes = 64 << 10

// errUnsendable says that the held cursor cannot be named in a request: the session has to ask for a snapshot.
var errUnsendable = errors.New("position-unsendable")

// newRequest builds the request of an attempt. Of the position only the cursor is named: it is the one mode that the
// descriptor declares.
func newRequest(a transport.Attempt, set settings) (transport.Request, *url.URL, error) {
	target, err := parseEndpoint(a.Endpoint)
	if err != nil {
		return transport.Request{}, nil, err
	}
	if err := a.Query.Check(); err != nil {
		return transport.Request{}, nil, err
	}
	if err := a.CheckAccess(); err != nil {
		return transport.Request{}, nil, err
	}
	header := transport.Header{
		"Accept":          {"text/event-stream"},
		"Accept-Encoding": {"identity"}, // a coder between us and the server would hold events back to fill its blocks
		"Cache-Control":   {"no-store"},
	}
	if err := addCredential(header, a.Credential); err != nil {
		return transport.Request{}, nil, err
	}
	for _, h := range a.Headers { // checked above
		header[transport.CanonicalHeader(h.Name)] = []string{h.Value.Reveal()}
	}
	at := event.NoPosition
	switch cursor := a.Resume.Cursor; {
	case cursor == "":
	case len(cursor) > maxPositionBytes, set.byHeader && !transport.IsHeaderValue(cursor):
		return transport.Request{}, nil, errUnsendable
	case set.byHeader:
		header["Last-Event-Id"] = []string{cursor} // the canonical form; names of headers have no case
	default:
		at.Cursor = cursor
	}
	params := a.Query.Params(at)
	for i := range params {
		if params[i].Name == transport.CursorParam {
			params[i].Name = set.parameter
		}
	}
	target.RawQuery = transport.MergeQuery(target.RawQuery, params, set.parameter)
	return transport.Request{Method: "GET", URL: target.String(), Header: header}, target, nil
}

// parseEndpoint reads an absolute http or https URL. Its text is not repeated in the error: a query may hold a secret.
func parseEndpoint(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return nil, errors.New("endpoint: not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("endpoint: must be an absolute http or https URL")
	case u.Hostname() == "":
		return nil, errors.New("endpoint: has no host")
	case u.User != nil:
		return nil, errors.New("endpoint: must not hold user or password; use the credential")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func addCredential(header transport.Header, c transport.Credential) error {
	if c == (transport.Credential{}) {
		return nil
	}
	name := transport.CanonicalHeader(c.Header)
	why, credential := transport.Reserved(name)
	switch {
	case name == "":
		return errors.New("credential: its header is no header name")
	case why != "" && !credential:
		return fmt.Errorf("credential: header %s %s", name, why)
	case c.Value == "":
		return errors.New("credential: its value is empty")
	case !transport.IsHeaderValue(c.Value.Reveal()):
		return errors.New("credential: its value holds a byte that no header may hold, or begins or ends with white space")
	}
	header[name] = []string{c.Value.Reveal()}
	return nil
}

// sameOrigin compares scheme, host and port; the port of the scheme may be left out.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
