package odata

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/conform-dev/conform/core/transport/web"
)

// Collection is what is polled, and the bound of every request: a link is followed only to the same scheme, host, port and path (D-39,
// D-42). Next links, delta links, redirects, the Location of an expiry and a resume link are all judged by Follow.
type Collection struct{ at *url.URL }

// NewCollection takes the endpoint of an attempt, an absolute http or https URL without userinfo.
func NewCollection(endpoint string) (Collection, error) {
	u, err := web.ParseEndpoint(endpoint, nil)
	return Collection{u}, err
}

// Refusal is why a link is not followed.
type Refusal struct {
	Why  string // a fixed word
	Link string // where it leads: origin and path, nothing else of it; empty if it is no URL
}

// The words of a Refusal.
const (
	LinkEmpty    = "link-empty"
	LinkTooLong  = "link-too-long"
	LinkBad      = "link-unreadable"
	LinkUserinfo = "link-with-userinfo"
	LinkOrigin   = "link-to-another-origin"
	LinkPath     = "link-to-another-path"
)

// Error names the reason and where the link leads.
func (r *Refusal) Error() string {
	if r.Link == "" {
		return r.Why
	}
	return fmt.Sprintf("%s: %s", r.Why, r.Link)
}

// Follow resolves a link that came with the page or answer of from, and judges it. A relative link is meant relative to the page's context
// URL (OData JSON 4.01, 4.5.1) or, as services write them, to the page's own: whichever stays in the collection. context may be empty.
func (c Collection) Follow(from *url.URL, context, link string) (*url.URL, *Refusal) {
	switch {
	case link == "":
		return nil, &Refusal{Why: LinkEmpty}
	case len(link) > MaxLinkBytes:
		return nil, &Refusal{Why: LinkTooLong}
	}
	to, refused := c.judge(from, link)
	if refused == nil || context == "" {
		return to, refused
	}
	base, err := from.Parse(context)
	if err != nil || base.Opaque != "" {
		return nil, refused
	}
	if to, again := c.judge(base, link); again == nil {
		return to, nil
	}
	return nil, refused
}

func (c Collection) judge(from *url.URL, link string) (*url.URL, *Refusal) {
	to, err := from.Parse(link)
	if err != nil || to.Opaque != "" || to.Host == "" && to.Scheme != "" {
		return nil, &Refusal{Why: LinkBad}
	}
	to.Fragment, to.RawFragment = "", ""
	why := ""
	switch {
	case to.User != nil:
		why = LinkUserinfo
	case !web.SameOrigin(c.at, to):
		why = LinkOrigin
	case samePath(to) != samePath(c.at):
		why = LinkPath
	default:
		return to, nil
	}
	return nil, &Refusal{why, shown(to)}
}

// samePath is the path of u in the form in which two that are the same are equal: without one slash at its end, and without the escapes
// of characters that need none and divide nothing. Dots and slashes stay escaped, so that no other path looks like this one.
func samePath(u *url.URL) string {
	in := u.EscapedPath()
	var b strings.Builder
	for i := 0; i < len(in); i++ {
		if in[i] == '%' && i+2 < len(in) {
			c := byte(hexDigit(in[i+1])<<4 | hexDigit(in[i+2]))
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_~'(),", c) >= 0 {
				b.WriteByte(c)
			} else {
				b.WriteString(strings.ToUpper(in[i : i+3]))
			}
			i += 2
			continue
		}
		b.WriteByte(in[i])
	}
	return strings.TrimSuffix(b.String(), "/")
}

// maxShown bounds what is shown of a link.
const maxShown = 200

// shown is a link for people: its origin and path. What follows may be a position, what stands before the host a password.
func shown(u *url.URL) string {
	s := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return s
}

// Token takes the delta token out of a delta link, in the very form in which it stands there. ok is false if the query holds anything
// beside the one option, since the link could then not be built again from the token (D-22).
func (c Collection) Token(link *url.URL, option string) (token string, ok bool) {
	name, token, _ := strings.Cut(link.RawQuery, "=")
	if plain, err := url.PathUnescape(name); err != nil || plain != option || strings.ContainsAny(token, "&;") || escapeToken(token) != token {
		return "", false
	}
	return token, token != ""
}

// Resume is the delta link of a token: the collection with that one option.
func (c Collection) Resume(option, token string) *url.URL {
	to := *c.at
	to.RawQuery = option + "=" + escapeToken(token)
	return &to
}

// escapeToken writes a token so that it can stand in a query. One that Token gave stays as it is.
func escapeToken(token string) string { return escape(token, "%+") }

// escape writes s as the value of a query option, and leaves those of the characters of keep as they are: a percent sign only in front of
// two hex digits.
func escape(s, keep string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~!$'()*,:@/?=", c) >= 0
		if strings.IndexByte(keep, c) >= 0 {
			plain = c != '%' || i+2 < len(s) && hexDigit(s[i+1]) >= 0 && hexDigit(s[i+2]) >= 0
		}
		if plain {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}
