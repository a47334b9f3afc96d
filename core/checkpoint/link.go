package checkpoint

import (
	"net/netip"
	"strings"
)

// link says whether a form of a text is a link that may not be stored, or a piece of one (facts 4.6 step 4): an absolute
// URL with a user, a password, a query or a fragment; no absolute URL, and yet one of `? # @` in it; or, further than the
// reference, a user in a URL that stands inside something else, as in `blob:https://user@host/`.
func link(form string) bool {
	if !strings.ContainsAny(form, "?#@") {
		return false
	}
	if holdsUser(form) {
		return true
	}
	u, ok := parseURL(form)
	return !ok || u.user || u.query || u.fragment
}

// holdsUser says whether somewhere in the text an authority (what stands between `://` and the next slash) has a user.
func holdsUser(form string) bool {
	const mark = "://"
	for {
		_, rest, ok := strings.Cut(form, mark)
		if !ok {
			return false
		}
		authority := rest
		if end := strings.IndexFunc(rest, func(r rune) bool { return strings.ContainsRune(`/\?#`, r) || isScriptSpace(r) }); end >= 0 {
			authority = rest[:end]
		}
		if user, _, found := cutLast(authority, '@'); found && user != "" && user != ":" {
			return true
		}
		form = rest
	}
}

// absolute is what the screen wants to know of an absolute URL: which of its parts are there and not empty.
type absolute struct{ user, query, fragment bool }

// parseURL recognises an absolute URL without a base, as the URL Standard (WHATWG) does. Where that standard needs tables
// or repairs what is odd, the text counts as no URL: hosts that are not ASCII, are percent-coded or have an xn-- label, IPv4
// in other notations than four decimal numbers, files on a drive or with an `@`. In the screen that is always the strict side, since what is no URL is refused for
// every `?`, `#` and `@` in it.
func parseURL(text string) (u absolute, ok bool) {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || !isScheme(scheme) {
		return u, false
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	u.query, u.fragment = query != "", fragment != ""

	authority, slashes := rest, "/"
	special := true
	switch strings.ToLower(scheme) {
	case "http", "https", "ws", "wss", "ftp":
		// Any number of slashes of either kind stands before the authority, none included.
		authority, slashes = strings.TrimLeft(rest, `/\`), `/\`
	case "file":
		return u, isFile(rest)
	default:
		special = false
		if authority, ok = strings.CutPrefix(rest, "//"); !ok {
			return u, true // a path, opaque or not, may hold anything
		}
	}
	if end := strings.IndexAny(authority, slashes); end >= 0 {
		authority = authority[:end]
	}
	user, host, found := cutLast(authority, '@')
	u.user = found && user != "" && user != ":"
	host, ok = cutPort(host)
	if host == "" {
		return u, ok && !special && !found && authority == ""
	}
	return u, ok && isHost(host, special)
}

// isFile says whether what follows `file:` is a path, or a host and a path. A drive in the place of the host is in doubt.
func isFile(rest string) bool {
	slash := func(c byte) bool { return c == '/' || c == '\\' }
	if strings.Contains(rest, "@") || len(rest) < 2 || !slash(rest[0]) || !slash(rest[1]) {
		return !strings.Contains(rest, "@")
	}
	host := rest[2:]
	if end := strings.IndexAny(host, `/\`); end >= 0 {
		host = host[:end]
	}
	return host == "" || isHost(host, true)
}

func isScheme(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i] | 0x20; {
		case c >= 'a' && c <= 'z':
		case i > 0 && (s[i] >= '0' && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// cutLast cuts at the last mark; without one everything is after it.
func cutLast(s string, mark byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, mark); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return "", s, false
}

// cutPort takes the port off a host. It fails for a port that is none.
func cutPort(s string) (host string, ok bool) {
	end := 0 // of a bracketed address, whose colons are its own
	if strings.HasPrefix(s, "[") {
		end = strings.IndexByte(s, ']') + 1
	}
	i := strings.IndexByte(s[end:], ':')
	if i < 0 {
		return s, true
	}
	port, number := s[end+i+1:], 0
	for _, c := range []byte(port) {
		if c < '0' || c > '9' {
			return "", false
		}
		if number = number*10 + int(c-'0'); number > 0xFFFF {
			return "", false
		}
	}
	return s[:end+i], true
}

// isHost says whether a host is one beyond doubt.
func isHost(host string, special bool) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		return ok && err == nil && addr.Is6() && addr.Zone() == ""
	}
	// No host, special or not, has one of these. A percent sign is allowed in some, and in doubt here.
	for _, c := range []byte(host) {
		if c <= ' ' || c >= 0x7F || strings.IndexByte(`#/:<>?@[\]^|%`, c) >= 0 {
			return false
		}
	}
	if !special {
		return true
	}
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	for _, l := range labels {
		if strings.HasPrefix(l, "xn--") {
			return false
		}
	}
	// A host whose last label begins with a digit may be an IPv4 address: then it has to be one.
	if last := labels[len(labels)-1]; last != "" && last[0] >= '0' && last[0] <= '9' {
		addr, err := netip.ParseAddr(host)
		return err == nil && addr.Is4()
	}
	return true
}
