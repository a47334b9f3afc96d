package fleet

import (
	"net/url"
	"slices"
	"strings"

	"github.com/conform-dev/conform/simulator"
)

// front is what every request but a signed wake passes first: the Host allow-list, then the origin (D-58).
func (s *Server) front(r *Request) *refusal {
	if refused := s.host(r.Host); refused != nil {
		return refused
	}
	if origin := first(r.Header, "Origin"); origin != "" && !s.welcome(origin) {
		return wired(403, originRefused)
	}
	return nil
}

// host refuses a name that another's DNS may point here. Ports do not matter.
func (s *Server) host(host string) *refusal {
	if host == "" {
		return misdirected("Missing Host header", "missing host")
	}
	u, err := url.Parse("http://" + host)
	if err != nil || u.Host != host || u.Hostname() == "" {
		return misdirected("Invalid Host header: "+host, "malformed host")
	}
	name := strings.ToLower(u.Hostname())
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if !slices.ContainsFunc(s.opt.Hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return misdirected("Invalid Host: "+name, "host not admitted")
	}
	return nil
}

// HostAdmitted says whether requests for host are answered.
func (s *Server) HostAdmitted(host string) bool { return s.host(host) == nil }

func (s *Server) welcome(origin string) bool { return slices.Contains(s.opt.Origins, origin) }

// bearer reads the Authorization header as the reference's check does: two words, the first of which is Bearer in any case.
func bearer(h simulator.Header) (string, *refusal) {
	value := first(h, "Authorization")
	if value == "" {
		return "", unauthorized("Missing Authorization header")
	}
	words := strings.Split(value, " ")
	if len(words) < 2 || !strings.EqualFold(words[0], "bearer") || words[1] == "" {
		return "", unauthorized("Invalid Authorization header format, expected 'Bearer TOKEN'")
	}
	return words[1], nil
}

// admit turns the class-1 bearer into a viewer.
func (s *Server) admit(h simulator.Header) (*viewer, *refusal) {
	token, refused := bearer(h)
	if refused != nil {
		return nil, refused
	}
	v := s.known.find(ClassAdmission, token)
	switch {
	case v == nil:
		return nil, unauthorized("Token is not admitted on this surface")
	case v.UserID == "":
		return nil, wired(401, identityMissing)
	}
	return v, nil
}

// unidentified is the key that all viewers without a stable subject share.
const unidentified = "unidentified"

// events answers GET /fleet/events for a viewer that was admitted: limiter, subject, arming, caps, handshake, in this order.
func (s *Server) events(c Conn, r *Request, v *viewer) {
	key := v.key(s.proven)
	counts := key
	if key == "" {
		counts = unidentified
	}
	refuse := func(f *refusal) { s.refuse(c, r, EventsPath, f.counting(counts)) }
	if ok, left := s.attempts.attempt(counts, s.now.Mono.Milliseconds()); !ok {
		refuse(s.after(wired(429, tooManyAttempts), left))
		return
	}
	if key == "" {
		refuse(wired(403, noSubject))
		return
	}
	identity := key
	if own := s.armViewer(r.Header); own != "" {
		identity = own
	}
	if why := s.full(identity); why != "" {
		refuse(s.after(wired(429, why), s.opt.Retry.Milliseconds()))
		return
	}
	if s.fails(FailHandshake) {
		refuse(s.after(wired(429, rejected), s.opt.Retry.Milliseconds()))
		return
	}
	s.asked(r, 200, "admitted", map[string]string{"path": EventsPath, "counted": "yes", "key": counts, "identity": identity})
	s.open(c, r, identity)
}

// full says why identity may not have one more stream. The newcomer is refused; no open stream is touched (P-FW-09).
func (s *Server) full(identity string) string {
	switch {
	case s.disposed:
		return disposed
	case len(s.streams) >= s.opt.Streams:
		return capTotal
	case s.held(identity) >= s.opt.ViewerStreams:
		return capViewer
	}
	return ""
}
