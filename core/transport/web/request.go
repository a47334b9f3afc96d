package web

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/conform-dev/conform/core/transport"
)

// MaxPositionBytes is the longest position that is taken and sent. Servers refuse requests whose head is much larger, and such a
// refusal would end the session; a position that cannot be named is a resume that is not supported.
const MaxPositionBytes = 64 << 10

// maxParameterName is the longest name of a query parameter that is accepted: longer ones are slips, not names.
const maxParameterName = 128

// BadParameterName is what an option's error says of a name that IsParameterName refuses.
const BadParameterName = "must be 1 to 128 letters, digits or any of - _ . and no parameter of the query"

// IsParameterName says whether name can stand for a query parameter that names a position: it needs no escaping, and the query
// itself does not use it.
func IsParameterName(name string) bool {
	switch name {
	case "", "sourceId", "layerId", "requestId", "mode", "where", "fields", "spatialFilter", "metadata":
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return len(name) <= maxParameterName
}

// ParseEndpoint reads an absolute http or https URL; the schemes of also stand for one of them each ("ws" for "http"), and are
// written as that. Its text is not repeated in the error: a query may hold a secret.
func ParseEndpoint(endpoint string, also map[string]string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, errors.New("endpoint: not a URL")
	}
	words := "http or https"
	if len(also) > 0 {
		words = "ws, wss, http or https"
	}
	if plain := also[u.Scheme]; plain != "" {
		u.Scheme = plain
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("endpoint: must be an absolute %s URL", words)
	case u.Hostname() == "":
		return nil, errors.New("endpoint: has no host")
	case u.User != nil:
		return nil, errors.New("endpoint: must not hold user or password; use the credential")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// AddCredential lays the credential of an attempt into header. No error holds its value.
func AddCredential(header transport.Header, c transport.Credential) error {
	if c == (transport.Credential{}) {
		return nil
	}
	name := transport.CanonicalHeader(c.Header)
	why, credential := transport.Reserved(name)
	switch {
	case name == "":
		return errors.New("credential: its header is no header name")
	case why != "" && !credential:
		return fmt.Errorf("credential: header %s %s", name, why)
	case c.Value == "":
		return errors.New("credential: its value is empty")
	case !transport.IsHeaderValue(c.Value.Reveal()):
		return errors.New("credential: its value holds a byte that no header may hold, or begins or ends with white space")
	}
	header[name] = []string{c.Value.Reveal()}
	return nil
}
