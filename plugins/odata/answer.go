package odata

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// Head judges an answer (D-33, D-39).
func (m *Machine) Head(h transport.Head) {
	if m.stage != asked || m.pending() {
		return
	}
	m.silent = m.now + MaxSilence
	switch {
	case h.Status == 200:
		m.opens(h)
	case web.IsRedirect(h.Status):
		m.redirect(h)
	case h.Status == m.plan.set.expiredStatus && m.plan.set.expiredCode != "":
		m.stage, m.head, m.refusal = judging, h, nil
	case h.Status == 410 || h.Status == m.plan.set.expiredStatus:
		m.expired(h)
	case h.Status == 429 || h.Status == 503:
		m.throttled(h)
	default:
		if s := web.Final(h, false); s.Cause == transport.ConnectionLost {
			m.lost(s.Detail)
		} else {
			m.fail(s)
		}
	}
}

// opens begins to read a page.
func (m *Machine) opens(h transport.Head) {
	if why := notAPage(h.Header); why != "" {
		m.fail(transport.Signal{Kind: transport.Refused, Cause: transport.BadMediaType, Status: h.Status, Detail: why})
		return
	}
	if !m.opened {
		m.opened = true
		m.say(transport.Signal{Kind: transport.Open, Status: h.Status})
	}
	m.round.rollback(m.page)
	m.stage, m.dec = reading, NewDecoder(m.plan.set.maxPageBytes, m.plan.set.maxRowBytes)
}

// notAPage says why an answer is no page, empty if it is one.
func notAPage(header transport.Header) string {
	types := header["Content-Type"]
	if len(types) == 0 {
		return "bad-content-type: none"
	}
	for _, value := range types {
		essence, _, _ := strings.Cut(value, ";")
		if essence = strings.ToLower(strings.Trim(essence, " \t")); essence != "application/json" {
			return "bad-content-type" + web.WellKnown(essence)
		}
	}
	for _, value := range header["Content-Encoding"] {
		if coding := strings.ToLower(strings.Trim(value, " \t")); coding != "" && coding != "identity" {
			return "content-encoding not asked for"
		}
	}
	return ""
}

// redirect follows, within the collection, or does not (RED-01 to RED-07).
func (m *Machine) redirect(h transport.Head) {
	refuse := func(why string) {
		m.fail(transport.Signal{Kind: transport.Refused, Cause: transport.BadRedirect, Status: h.Status, Detail: why})
	}
	location := h.Header["Location"]
	switch {
	case len(location) == 0 || location[0] == "":
		refuse("redirect-without-location")
		return
	case len(location) > 1:
		refuse("redirect-with-two-locations")
		return
	case m.redirects >= MaxRedirects:
		refuse(fmt.Sprintf("too-many-redirects: limit %d", MaxRedirects))
		return
	}
	to, refused := m.plan.within.Follow(m.at, "", location[0])
	if refused != nil {
		refuse("redirect: " + m.shown(refused))
		return
	}
	m.redirects++
	m.at = to
	m.send()
}

// shown is a refusal for people, without the link where that holds a secret.
func (m *Machine) shown(r *Refusal) string {
	if m.plan.hides(r.Link, m.link) {
		return r.Why
	}
	return r.Error()
}

// expired: the position of this link is dead. It is not tried again (D-31); the service may say where to begin anew (D-39).
func (m *Machine) expired(h transport.Head) {
	detail, location := fmt.Sprintf("status %d", h.Status), (*url.URL)(nil)
	if all := h.Header["Location"]; h.Status == 410 && len(all) == 1 && !m.location {
		to, refused := m.plan.within.Follow(m.at, "", all[0])
		if location = to; refused != nil {
			detail += ", its Location is not followed: " + m.shown(refused)
		}
	}
	m.recover(event.CursorExpired, detail, location)
}

// judged looks for the declared error code in a refusal. Nothing else of it counts, and nothing of it is shown (P-OD-18).
func (m *Machine) judged() {
	h := m.head
	if errorCode(m.refusal) == m.plan.set.expiredCode {
		m.expired(h)
		return
	}
	if h.Status == 429 {
		m.throttled(h)
		return
	}
	m.fail(web.Final(h, false))
}

// errorCode is error.code of an OData error body, empty if it has none.
func errorCode(body []byte) string {
	if !valid(body) {
		return ""
	}
	for _, name := range []string{"error", "code"} {
		s := scanner{b: body}
		if s.next() != '{' {
			return ""
		}
		found := []byte(nil)
		for _, member := range members(nil, body[s.i:]) {
			if member.plain() == name {
				found = member.value
			}
		}
		body = found
	}
	code, _ := text(body)
	return code
}
