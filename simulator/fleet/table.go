package fleet

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// Credential classes (fleet facts 1.3).
const (
	ClassAdmission = 1 // the fleet surface
	ClassPlane     = 3 // the plane's tool and the poll
)

// viewer is a row of the table with what follows from it.
type viewer struct {
	Viewer
	login string // @login; empty if the names make none
}

// credentials is the table of accepted bearers. It knows them by digest: how long a look-up takes says nothing about a secret.
type credentials map[[32]byte]held

type held struct {
	class int
	of    *viewer
	place string // for errors
}

// canonical is @name; a name with a space makes none (fleet facts 1.6).
func canonical(names ...string) string {
	for _, name := range names {
		if name == "" {
			continue
		}
		if strings.ContainsAny(name, " \t\r\n") {
			return ""
		}
		return "@" + strings.TrimPrefix(name, "@")
	}
	return ""
}

// newTable reads the viewers. One secret in two places is refused, naming both and no byte of it: the ledger of credential classes
// forbids it, and an identity must not depend on who is looked up first.
func newTable(list []Viewer) ([]*viewer, credentials, error) {
	known := credentials{}
	logins := map[string]string{}
	subscriptions := map[string]string{}
	var out []*viewer
	for i, row := range list {
		v := &viewer{Viewer: row, login: canonical(row.ProviderUsername, row.Username)}
		out = append(out, v)
		at := fmt.Sprintf("viewers[%d]", i)
		for _, text := range []string{row.ProviderUsername, row.Username, row.UserID, row.Provider, row.ProviderUserID, row.Subscription} {
			if len(text) > MaxText {
				return nil, nil, fmt.Errorf("%s: a text is longer than %d bytes", at, MaxText)
			}
		}
		if v.login != "" && len(row.Plane) > 0 {
			if logins[v.login] != "" {
				return nil, nil, fmt.Errorf("%s: the plane knows %s as %s already", at, v.login, logins[v.login])
			}
			logins[v.login] = at
		}
		if id := row.Subscription; id != "" {
			if subscriptions[id] != "" || strings.ContainsAny(id, "\r\n") {
				return nil, nil, fmt.Errorf("%s: its subscription id is no line of text, or is that of %s", at, subscriptions[id])
			}
			subscriptions[id] = at
		}
		if err := known.add(ClassAdmission, v, at+".admission", row.Admission); err != nil {
			return nil, nil, err
		}
		if err := known.add(ClassPlane, v, at+".plane", row.Plane); err != nil {
			return nil, nil, err
		}
	}
	return out, known, nil
}

func (c credentials) add(class int, v *viewer, at string, bearers []string) error {
	for i, b := range bearers {
		place := fmt.Sprintf("%s[%d]", at, i)
		if b == "" || len(b) > MaxText || strings.ContainsAny(b, " \t\r\n") {
			return fmt.Errorf("%s: a bearer is 1 to %d bytes without a space", place, MaxText)
		}
		sum := sha256.Sum256([]byte(b))
		if other, there := c[sum]; there {
			return fmt.Errorf("%s holds the same secret as %s; the credential-class ledger forbids one secret in two places: mint another one",
				place, other.place)
		}
		c[sum] = held{class, v, place}
	}
	return nil
}

// find is whose bearer it is; nil if it is none of that class.
func (c credentials) find(class int, bearer string) *viewer {
	h, there := c[sha256.Sum256([]byte(bearer))]
	if !there || h.class != class {
		return nil
	}
	return h.of
}

// carried notes which credentials a request brought: how many, of which class, and the names of other headers that are made for one
// (P-FW-01). No byte of any is kept.
func (s *Server) carried(h simulator.Header, args map[string]string) {
	values := h["Authorization"]
	args["bearers"], args["class"] = strconv.Itoa(len(values)), "none"
	if len(values) > 0 {
		if token, refused := bearer(h); refused == nil {
			if held, known := s.known[sha256.Sum256([]byte(token))]; known {
				args["class"] = strconv.Itoa(held.class)
			}
		}
	}
	var beside []string
	for name := range h {
		low := strings.ToLower(name)
		if name != "Authorization" && (strings.Contains(low, "authorization") || strings.Contains(low, "cookie") || strings.Contains(low, "token")) {
			beside = append(beside, low)
		}
	}
	if len(beside) > 0 {
		slices.Sort(beside)
		args["beside"] = trace.Clip(strings.Join(beside, ","))
	}
}

// key is the viewer stream key (fleet facts 1.6): the login if it is the one the plane proved, else the provider's tuple.
func (v *viewer) key(proven string) string {
	switch {
	case v.login != "" && v.login == proven:
		return v.login
	case v.Provider != "" && v.ProviderUserID != "":
		return "provider:" + v.Provider + ":" + v.ProviderUserID
	}
	return ""
}
