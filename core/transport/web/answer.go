// Package web holds what the machines of the HTTP wires share: which endpoint and credential can be used, what a status, a redirect
// and Retry-After mean (D-33), and in which words the end of a connection is told. It is pure.
package web

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

// MaxRedirects is how many redirects one connection follows (D-33).
const MaxRedirects = 5

// IsRedirect says whether a status asks to go elsewhere; Redirect says where.
func IsRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// Final is the signal for a status that opens no stream and is no redirect. named says whether the request named a position.
func Final(h transport.Head, named bool) transport.Signal {
	s := transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Status: h.Status, Detail: fmt.Sprintf("status %d", h.Status)}
	switch {
	case h.Status == 204:
		s.Kind, s.Cause = transport.Ended, transport.ServerStop
	case h.Status == 401 || h.Status == 403:
		s.Cause = transport.Unauthorized
	case h.Status == 410 && named:
		s.Kind, s.Cause, s.Reason = transport.Expired, transport.CauseNone, event.CursorExpired
	case h.Status == 429 || h.Status == 503:
		s.Kind, s.Cause, s.RetryAfter = transport.Ended, transport.Throttled, RetryAfter(h)
	case h.Status >= 500 && h.Status <= 599:
		s.Kind, s.Cause = transport.Ended, transport.ConnectionLost
	}
	return s
}

// WellKnown names a media type that people will recognise, behind a colon and a space. Any other one is a server's own text,
// which is not repeated: empty. essence is in small letters and without parameters.
func WellKnown(essence string) string {
	switch essence {
	case "text/html", "text/plain", "application/json", "application/xml", "application/problem+json", "application/octet-stream":
		return ": " + essence
	}
	return ""
}

// Follow judges a redirect, the redirects-th of this connection, counted from 0: its target, without fragment, or why it is not
// followed, which is Refused.
func Follow(h transport.Head, from *url.URL, redirects int) (to *url.URL, refused transport.Signal) {
	to, why := redirect(h.Header, from, redirects)
	if why != "" {
		return nil, transport.Signal{Kind: transport.Refused, Cause: transport.BadRedirect, Status: h.Status, Detail: why}
	}
	return to, refused
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
	case !SameOrigin(from, to):
		return nil, "cross-origin-redirect"
	case redirects >= MaxRedirects:
		return nil, fmt.Sprintf("too-many-redirects: limit %d", MaxRedirects)
	}
	to.Fragment, to.RawFragment = "", ""
	return to, ""
}

// SameOrigin compares scheme, host and port; the port of the scheme may be left out.
func SameOrigin(a, b *url.URL) bool {
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

// The three forms of an HTTP date, all in GMT (RFC 9110, 5.6.7).
var httpDates = [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC}

// RetryAfter reads Retry-After: seconds, or a date seen from the moment the answer came. What is neither, or lies in the
// past, is no wish: 0.
func RetryAfter(h transport.Head) transport.Delay {
	value := strings.Trim(h.Header.Get("Retry-After"), " \t")
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > transport.MaxDelayMs/1000 {
			seconds = transport.MaxDelayMs / 1000
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
