package sse

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// maxRedirects is how many redirects one connection follows (D-33).
const maxRedirects = 5

// judge says what the head of an answer means (D-33): follow is the target of a redirect to take, otherwise s is Open or a
// final signal. named says whether the request named a position.
func judge(h transport.Head, from *url.URL, redirects int, named bool) (s transport.Signal, follow *url.URL) {
	switch h.Status {
	case 200:
		if why := notAStream(h.Header); why != "" {
			return transport.Signal{Kind: transport.Refused, Cause: transport.BadMediaType, Status: h.Status, Detail: why}, nil
		}
		return transport.Signal{Kind: transport.Open, Status: h.Status}, nil
	case 301, 302, 303, 307, 308:
		to, why := redirect(h.Header, from, redirects)
		if why != "" {
			return transport.Signal{Kind: transport.Refused, Cause: transport.BadRedirect, Status: h.Status, Detail: why}, nil
		}
		return s, to
	}
	return final(h, named), nil
}

func final(h transport.Head, named bool) transport.Signal {
	s := transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Status: h.Status, Detail: fmt.Sprintf("status %d", h.Status)}
	switch {
	case h.Status == 204:
		s.Kind, s.Cause = transport.Ended, transport.ServerStop
	case h.Status == 401 || h.Status == 403:
		s.Cause = transport.Unauthorized
	case h.Status == 410 && named:
		s.Kind, s.Cause, s.Reason = transport.Expired, transport.CauseNone, event.CursorExpired
	case h.Status == 429 || h.Status == 503:
		s.Kind, s.Cause, s.RetryAfter = transport.Ended, transport.Throttled, retryAfter(h)
	case h.Status >= 500 && h.Status <= 599:
		s.Kind, s.Cause = transport.Ended, transport.ConnectionLost
	}
	return s
}

// notAStream says why an answer is no event stream, empty if it is one: its one media type must be text/event-stream,
// whatever its case and parameters, and there must be no content coding, since none was asked for.
func notAStream(h transport.Header) string {
	types := h["Content-Type"]
	if len(types) == 0 {
		return "bad-content-type: none"
	}
	for _, value := range types {
		essence, _, _ := strings.Cut(value, ";")
		essence = strings.ToLower(strings.Trim(essence, " \t"))
		if essence != "text/event-stream" {
			return "bad-content-type" + wellKnown(essence)
		}
	}
	for _, value := range h["Content-Encoding"] {
		if coding := strings.ToLower(strings.Trim(value, " \t")); coding != "" && coding != "identity" {
			return "content-encoding not asked for"
		}
	}
	return ""
}

// wellKnown names a media type that people will recognise. Any other one is a server's own text, which is not repeated.
func wellKnown(essence string) string {
	switch essence {
	case "text/html", "text/plain", "application/json", "application/xml", "application/problem+json", "application/octet-stream":
		return ": " + essence
	}
	return ""
}

func redirect(h transport.Header, from *url.URL, redirects int) (to *url.URL, why string) {
	location := h["Location"]
	switch {
	case len(location) == 0 || location[0] == "":
		return nil, "redirect-without-location"
	case len(location) > 1:
		return nil, "redirect-with-two-locations"
	}
	to, err := from.Parse(location[0])
	switch {
	case err != nil:
		return nil, "redirect-unreadable"
	case to.User != nil:
		return nil, "redirect-with-userinfo"
	case !sameOrigin(from, to):
		return nil, "cross-origin-redirect"
	case redirects >= maxRedirects:
		return nil, fmt.Sprintf("too-many-redirects: limit %d", maxRedirects)
	}
	to.Fragment, to.RawFragment = "", ""
	return to, ""
}

// The three forms of an HTTP date, all in GMT (RFC 9110, 5.6.7).
var httpDates = [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC}

// retryAfter reads Retry-After: seconds, or a date seen from the moment the answer came. What is neither, or lies in the
// past, is no wish.
func retryAfter(h transport.Head) time.Duration {
	value := strings.Trim(h.Header.Get("Retry-After"), " \t")
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > maxRetryMs/1000 {
			seconds = maxRetryMs / 1000
		}
		return time.Duration(seconds) * time.Second
	}
	for _, form := range httpDates {
		if at, err := time.Parse(form, value); err == nil {
			ms := at.UnixMilli() - h.Wall
			return time.Duration(max(0, min(ms, int64(math.MaxInt64/time.Millisecond)))) * time.Millisecond
		}
	}
	return 0
}
