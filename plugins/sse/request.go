package sse

import (
	"errors"
	"net/url"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// errUnsendable says that the held cursor cannot be named in a request: the session has to ask for a snapshot.
var errUnsendable = errors.New("position-unsendable")

// newRequest builds the request of an attempt. Of the position only the cursor is named: it is the one mode that the
// descriptor declares.
func newRequest(a transport.Attempt, set settings) (transport.Request, *url.URL, error) {
	target, err := web.ParseEndpoint(a.Endpoint, nil)
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
	if err := web.AddCredential(header, a.Credential); err != nil {
		return transport.Request{}, nil, err
	}
	for _, h := range a.Headers { // checked above
		header[transport.CanonicalHeader(h.Name)] = []string{h.Value.Reveal()}
	}
	at := event.NoPosition
	switch cursor := a.Resume.Cursor; {
	case cursor == "":
	case len(cursor) > web.MaxPositionBytes, set.byHeader && !transport.IsHeaderValue(cursor):
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
