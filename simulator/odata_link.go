package simulator

import (
	"net/url"
	"path"
	"strings"
	"unicode"
)

// link writes a link as the cycle wants it; which is next or delta. A fault in the next link is in the one of the first page.
func (o *odata) link(c *cycle, which string, start int, query string) string {
	if f := c.foreign; f != nil && f.link == which && (which == "delta" || start == 0) {
		return o.foreign(f, c.origin) + "?" + query
	}
	origin := c.origin
	switch c.form {
	case "absolute":
		return origin + o.path + "?" + query
	case "upper":
		return strings.ToUpper(origin) + o.path + "?" + query
	case "default-port":
		return origin + defaultPort(origin) + o.path + "?" + query
	case "relative":
		return o.set + "?" + query
	case "query":
		return "?" + query
	}
	return o.path + "?" + query
}

// defaultPort is the port that an origin without one has.
func defaultPort(origin string) string {
	scheme, host, _ := strings.Cut(origin, "://")
	switch {
	case hasPort(host):
		return ""
	case scheme == "https":
		return ":443"
	}
	return ":80"
}

func hasPort(host string) bool {
	return strings.Contains(host[strings.LastIndex(host, "]")+1:], ":") // the colons of an IPv6 address stand in brackets
}

// The links that a client must not follow. Those of the first list are made of the origin that the client called.
var (
	foreignOfOrigin = []string{"scheme", "port", "userinfo", "host-suffix", "host-behind-at"}
	foreignLinks    = append([]string{"origin", "network", "path", "longer-path", "dot-path", "case"}, foreignOfOrigin...)
)

// foreign is a link of the given kind, without a query.
func (o *odata) foreign(f *foreignLink, origin string) string {
	scheme, host, _ := strings.Cut(origin, "://")
	switch f.as {
	case "origin":
		return "https://" + f.host + o.path
	case "network":
		return "//" + f.host + o.path
	case "path":
		return path.Join(path.Dir(o.path), "secrets")
	case "longer-path":
		return o.path + "archive"
	case "dot-path":
		return o.path + "/../secrets"
	case "case":
		return path.Join(path.Dir(o.path), swapCase(o.set))
	case "scheme":
		other := "https"
		if scheme == "https" {
			other = "http"
		}
		return other + "://" + host + o.path
	case "port":
		return scheme + "://" + otherPort(host) + o.path
	case "userinfo":
		return scheme + "://user:pw@" + host + o.path
	case "host-suffix":
		return scheme + "://" + withoutPort(host) + "." + f.host + o.path
	}
	return scheme + "://" + withoutPort(host) + "@" + f.host + o.path // host-behind-at
}

func withoutPort(host string) string {
	if hasPort(host) {
		return host[:strings.LastIndex(host, ":")]
	}
	return host
}

// otherPort is host at a port where the client did not call.
func otherPort(host string) string {
	port := ":8"
	if strings.HasSuffix(host, port) {
		port = ":9"
	}
	return withoutPort(host) + port
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s[:1]) + s[1:]
}

// queryValue is text as a value in a query; a space is %20, which every reader knows.
func queryValue(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
