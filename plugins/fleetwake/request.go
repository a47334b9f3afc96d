package fleetwake

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// plan is what an attempt comes to, checked.
type plan struct {
	set     settings
	request transport.Request
	mark    event.Seq        // held by the client; NoSeq if none is
	mcp     string           // URL
	bearer  transport.Secret // Authorization of the poll; empty for none
}

// Check says whether an attempt can be made at all: its options, plane, credentials and mark. The error names what is wrong and holds
// no secret and no position.
func Check(a transport.Attempt) error {
	_, err := newPlan(a)
	return err
}

func newPlan(a transport.Attempt) (p plan, err error) {
	if p.set, err = parseSettings(a.Options); err != nil {
		return p, err
	}
	base, err := planeBase(a.Endpoint)
	if err != nil {
		return p, err
	}
	if err := a.CheckAccess(); err != nil {
		return p, err
	}
	if err := checkBearer("credential", a.Credential.Value); err != nil {
		return p, err
	}
	header := transport.Header{
		"Accept":          {"text/event-stream"},
		"Accept-Encoding": {"identity"}, // a coder between us and the server would hold frames back to fill its blocks
		"Cache-Control":   {"no-store"},
	}
	if err := web.AddCredential(header, a.Credential); err != nil {
		return p, err
	}
	if transport.CanonicalHeader(a.Credential.Header) != "Authorization" {
		return p, errors.New("credential: a wake stream takes it in Authorization only")
	}
	if p.bearer, err = pollBearer(a); err != nil {
		return p, err
	}
	if p.mark, err = parseMark(a.Resume.Watermark); err != nil {
		return p, err
	}
	p.request = transport.Request{Method: "GET", URL: base + EventsPath, Header: header}
	p.mcp = base + MCPPath
	return p, nil
}

// planeBase is the plane's URL without slashes at its end.
func planeBase(endpoint string) (string, error) {
	u, err := web.ParseEndpoint(endpoint, nil)
	switch {
	case err != nil:
		return "", err
	case u.RawQuery != "" || u.ForceQuery:
		return "", errors.New("endpoint: the plane's base URL must not have a query")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// checkBearer: a credential of the lane is a bearer token (fleet facts 1.2). The scheme's name has no case.
func checkBearer(what string, value transport.Secret) error {
	if value == "" {
		return fmt.Errorf("%s: there is none, and a wake stream is never asked for without one", what)
	}
	if token(value) == "" {
		return fmt.Errorf("%s: must be a bearer: Bearer, a space and the token", what)
	}
	return nil
}

// token is the token of a bearer; empty if value is none.
func token(value transport.Secret) string {
	scheme, rest, _ := strings.Cut(value.Reveal(), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(rest)
}

// pollBearer is the poll's credential among the extra headers. There may be no other header: the stream's request carries one
// credential and nothing that was made up beside it. The same token in both places is refused: it would have crossed into
// another class (D-56).
func pollBearer(a transport.Attempt) (bearer transport.Secret, err error) {
	for _, h := range a.Headers {
		if name := transport.CanonicalHeader(h.Name); name != transport.PollCredential {
			return "", fmt.Errorf("headers: %s is not sent: a wake stream has no header beside its credential", name)
		}
		bearer = h.Value
	}
	if bearer == "" {
		return "", nil
	}
	if err := checkBearer(transport.PollCredential, bearer); err != nil {
		return "", err
	}
	stream, poll := sha256.Sum256([]byte(token(a.Credential.Value))), sha256.Sum256([]byte(token(bearer)))
	if subtle.ConstantTimeCompare(stream[:], poll[:]) == 1 {
		return "", fmt.Errorf("%s: holds the same token as the stream's credential; the two are of different classes", transport.PollCredential)
	}
	return bearer, nil
}

// parseMark reads the mark that the client holds: decimal, as the session writes it.
func parseMark(text string) (event.Seq, error) {
	if text == "" {
		return event.NoSeq, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if mark := event.Seq(n); err == nil && len(text) <= MaxWatermarkDigits && strings.Trim(text, "0123456789") == "" && mark.Valid() {
		return mark, nil
	}
	return event.NoSeq, errors.New("watermark: is no decimal number from 0 to 9007199254740991")
}

// sameOrigin says whether the poll goes to where the stream is.
func sameOrigin(endpoint string, to *url.URL) bool {
	from, err := web.ParseEndpoint(endpoint, nil)
	return err == nil && web.SameOrigin(from, to)
}
