package websocket

import (
	"errors"
	"net/url"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// errUnsendable says that the held position cannot be named in a request: the session has to ask for a snapshot.
var errUnsendable = errors.New("position-unsendable")

// schemes of a WebSocket endpoint, as the http ones that its handshake uses.
var schemes = map[string]string{"ws": "http", "wss": "https"}

// newRequest builds the handshake of an attempt, without its key. Of the position only what the option resumeBy chooses is named;
// named says that it is.
func newRequest(a transport.Attempt, set settings) (r transport.Request, target *url.URL, named bool, err error) {
	if target, err = web.ParseEndpoint(a.Endpoint, schemes); err != nil {
		return r, nil, false, err
	}
	if err := a.Query.Check(); err != nil {
		return r, nil, false, err
	}
	if err := a.CheckAccess(); err != nil {
		return r, nil, false, err
	}
	header := transport.Header{
		"Upgrade":               {"websocket"},
		"Connection":            {"Upgrade"},
		"Sec-Websocket-Version": {"13"},
	}
	if len(set.subprotocols) > 0 {
		header["Sec-Websocket-Protocol"] = []string{strings.Join(set.subprotocols, ", ")}
	}
	if set.deflate {
		header["Sec-Websocket-Extensions"] = []string{"permessage-deflate"}
	}
	if err := web.AddCredential(header, a.Credential); err != nil {
		return r, nil, false, err
	}
	for _, h := range a.Headers { // checked above
		header[transport.CanonicalHeader(h.Name)] = []string{h.Value.Reveal()}
	}
	at, named, err := set.position(a.Resume)
	if err != nil {
		return r, nil, false, err
	}
	params := a.Query.Params(at)
	for i := range params {
		if params[i].Name == set.resumeBy {
			params[i].Name = set.parameter
		}
	}
	target.RawQuery = transport.MergeQuery(target.RawQuery, params, set.parameter)
	return transport.Request{Method: "GET", URL: target.String(), Header: header}, target, named, nil
}

// position is the part of held that is named in the request.
func (s settings) position(held event.Position) (at event.Position, named bool, err error) {
	at = event.NoPosition
	switch {
	case s.resumeBy == BySequence && held.Seq.Valid():
		at.Seq = held.Seq
	case held == event.NoPosition || held == (event.Position{}):
		return at, false, nil
	case s.resumeBy == ByCursor && held.Cursor != "" && len(held.Cursor) <= web.MaxPositionBytes:
		at.Cursor = held.Cursor
	default:
		return at, false, errUnsendable
	}
	return at, true, nil
}
