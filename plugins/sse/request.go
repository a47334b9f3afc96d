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
	header := transport.Header{
		"Accept":          {"text/event-stream"},
		"Accept-Encoding": {"identity"}, // a coder between us and the server would hold events back to fill its blocks
		"Cache-Control":   {"no-store"},
	}
	if err := addCredential(header, a.Credential); err != nil {
		return transport.Request{}, nil, err
	}
	at := event.NoPosition
	switch cursor := a.Resume.Cursor; {
	case cursor == "":
	case len(cursor) > maxPositionBytes, set.byHeader && !isHeaderValue(cursor):
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

// reserved are the headers that a credential must not stand in for: they carry the request itself.
var reserved = map[string]bool{"Accept": true, "Accept-Encoding": true, "Cache-Control": true, "Last-Event-Id": true, "Host": true,
	"Connection": true, "Content-Length": true, "Transfer-Encoding": true, "Te": true, "Trailer": true, "Upgrade": true}

func addCredential(header transport.Header, c transport.Credential) error {
	if c == (transport.Credential{}) {
		return nil
	}
	name := canonical(c.Header)
	switch {
	case name == "":
		return errors.New("credential: its header is no header name")
	case reserved[name]:
		return fmt.Errorf("credential: header %s is not for credentials", name)
	case c.Value == "":
		return errors.New("credential: its value is empty")
	case !isHeaderValue(c.Value.Reveal()):
		return errors.New("credential: its value holds a byte that no header may hold, or begins or ends with white space")
	}
	header[name] = []string{c.Value.Reveal()}
	return nil
}

// canonical writes a header name as net/http does, empty if it is none (RFC 9110, token).
func canonical(name string) string {
	b := []byte(name)
	upper := true
	for i, c := range b {
		switch {
		case isLetter(c) && upper:
			b[i] = c &^ 0x20
		case isLetter(c):
			b[i] = c | 0x20
		case c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return ""
		}
		upper = c == '-'
	}
	return string(b)
}

// isHeaderValue says whether v arrives as it is when it is sent as a header: no control byte, and no white space around it,
// which receivers take off.
func isHeaderValue(v string) bool {
	for i := range len(v) {
		if c := v[i]; c < ' ' && c != '\t' || c == 0x7F {
			return false
		}
	}
	return strings.Trim(v, " \t") == v
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
