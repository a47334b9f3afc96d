package sse

import (
	"net/url"
	"strings"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// judge says what the head of an answer means (D-33): follow is the target of a redirect to take, otherwise s is Open or a
// final signal. named says whether the request named a position.
func judge(h transport.Head, from *url.URL, redirects int, named bool) (s transport.Signal, follow *url.URL) {
	switch {
	case h.Status == 200:
		if why := NotAStream(h.Header); why != "" {
			return transport.Signal{Kind: transport.Refused, Cause: transport.BadMediaType, Status: h.Status, Detail: why}, nil
		}
		return transport.Signal{Kind: transport.Open, Status: h.Status}, nil
	case web.IsRedirect(h.Status):
		follow, s = web.Follow(h, from, redirects)
		return s, follow
	}
	return web.Final(h, named), nil
}

// NotAStream says why an answer is no event stream, empty if it is one: its one media type must be text/event-stream,
// whatever its case and parameters, and there must be no content coding, since none was asked for.
func NotAStream(h transport.Header) string {
	types := h["Content-Type"]
	if len(types) == 0 {
		return "bad-content-type: none"
	}
	for _, value := range types {
		essence, _, _ := strings.Cut(value, ";")
		essence = strings.ToLower(strings.Trim(essence, " \t"))
		if essence != "text/event-stream" {
			return "bad-content-type" + web.WellKnown(essence)
		}
	}
	for _, value := range h["Content-Encoding"] {
		if coding := strings.ToLower(strings.Trim(value, " \t")); coding != "" && coding != "identity" {
			return "content-encoding not asked for"
		}
	}
	return ""
}
