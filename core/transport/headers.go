package transport

import (
	"fmt"
	"strings"
)

// Why a header is nobody's to set.
const (
	ofTheConnection = "belongs to the connection, which the transport manages"
	ofTheRequest    = "is written by the transport itself"
	ofTheProxy      = "is for a proxy; name user and password in the proxy's URL"
	aCredential     = "is a credential; hand it over as one"
)

// reserved are the headers that no extra header may set (RFC 9110 7.6.1 and 9113 8.2.2 for the connection's). Names are
// canonical.
var reserved = map[string]string{
	"Connection": ofTheConnection, "Keep-Alive": ofTheConnection, "Proxy-Connection": ofTheConnection, "Te": ofTheConnection,
	"Trailer": ofTheConnection, "Transfer-Encoding": ofTheConnection, "Upgrade": ofTheConnection, "Http2-Settings": ofTheConnection,
	"Content-Length": ofTheConnection, "Expect": ofTheConnection,
	"Sec-Websocket-Key": ofTheConnection, "Sec-Websocket-Version": ofTheConnection, "Sec-Websocket-Extensions": ofTheConnection,
	"Sec-Websocket-Protocol": ofTheConnection, "Sec-Websocket-Accept": ofTheConnection,
	"Host": "would send the request to another site than the endpoint names",

	"Accept": ofTheRequest, "Accept-Encoding": ofTheRequest, "Cache-Control": ofTheRequest,
	"Last-Event-Id": "names a position, and positions are the gate's alone",

	"Proxy-Authorization": ofTheProxy, "Proxy-Authenticate": ofTheProxy,
	"Authorization": aCredential, "Cookie": aCredential,
}

// Reserved says why an extra header of that canonical name is refused, empty if it is not. A credential may use those that
// are refused for being credentials.
func Reserved(name string) (why string, credential bool) {
	why = reserved[name]
	return why, why == aCredential
}

// CheckHeaders says whether headers can be sent beside c: not more than MaxHeaders, each with a name that is one, is not
// reserved, not the credential's and not there twice, and with a value that arrives as it is. The error names header and
// reason, and never a value.
func CheckHeaders(headers []ExtraHeader, c Credential) error {
	if len(headers) > MaxHeaders {
		return fmt.Errorf("headers: %d of them, the limit is %d", len(headers), MaxHeaders)
	}
	seen := map[string]bool{}
	for i, h := range headers {
		name := CanonicalHeader(h.Name)
		if name == "" {
			return fmt.Errorf("headers: the name of header %d is no header name", i+1)
		}
		why, _ := Reserved(name)
		switch {
		case why != "":
		case seen[name]:
			why = "is there twice"
		case c.Header != "" && name == CanonicalHeader(c.Header):
			why = "is the credential's"
		case h.Value == "":
			why = "has no value"
		case len(h.Value) > MaxHeaderValue:
			why = fmt.Sprintf("has a value of %d bytes, the limit is %d", len(h.Value), MaxHeaderValue)
		case !IsHeaderValue(h.Value.Reveal()):
			why = "has a value with a byte that no header may hold, or with white space around it"
		}
		if why != "" {
			return fmt.Errorf("headers: %s %s", name, why)
		}
		seen[name] = true
	}
	return nil
}

// CanonicalHeader writes a header name as net/http does, empty if it is none (RFC 9110, token) or longer than MaxHeaderName.
func CanonicalHeader(name string) string {
	if len(name) > MaxHeaderName {
		return ""
	}
	b := []byte(name)
	upper := true
	for i, c := range b {
		switch letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; {
		case letter && upper:
			b[i] = c &^ 0x20
		case letter:
			b[i] = c | 0x20
		case c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return ""
		}
		upper = c == '-'
	}
	return string(b)
}

// IsHeaderValue says whether v arrives as it is when it is sent as a header: no control byte, and no white space around it,
// which receivers take off.
func IsHeaderValue(v string) bool {
	for i := range len(v) {
		if c := v[i]; c < ' ' && c != '\t' || c == 0x7F {
			return false
		}
	}
	return strings.Trim(v, " \t") == v
}
