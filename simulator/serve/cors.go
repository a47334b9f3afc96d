package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	// anyOrigin lets every page read the stream.
	anyOrigin = "*"
	// preflightAge is how long a browser may remember an answer to its question.
	preflightAge = "600"
	// MaxOrigins bounds the origins that may be named.
	MaxOrigins = 64
)

// checkOrigins says whether origins are ones that a browser sends, or the one word for all of them.
func checkOrigins(origins []string) error {
	if len(origins) > MaxOrigins {
		return fmt.Errorf("cors: %d origins, the limit is %d", len(origins), MaxOrigins)
	}
	for _, o := range origins {
		u, err := url.Parse(o)
		if o == anyOrigin || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && o == u.Scheme+"://"+strings.ToLower(u.Host) {
			continue
		}
		return fmt.Errorf("cors: %q is no origin; one looks like http://localhost:5173, and * stands for all", o)
	}
	return nil
}

// foreign is what a page of an origin that was not named is told.
var foreign = refusal{status: http.StatusForbidden, detail: "origin: requests of other sites are not served"}

// welcome says whether r is of no page, of a page of this machine, or of one whose origin was named. A page of another site can
// send requests here, and some without asking first. It cannot choose its Origin.
func (s *Server) welcome(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (s.allowed(u.Host) || s.named(origin))
}

// anyPage says whether the pages of all origins may read the streams.
func (s *Server) anyPage() bool { return slices.Contains(s.opt.CORS, anyOrigin) }

// named says whether origin was named, which lets its pages use the control API too. The word for all of them does not: then
// any page that somebody happens to visit could.
func (s *Server) named(origin string) bool {
	return origin != anyOrigin && slices.Contains(s.opt.CORS, origin)
}

// share gives the headers that let a page of the request's origin read the answer; only Vary if it may not, or if there is no
// page.
func (s *Server) share(r *http.Request) map[string]string {
	if len(s.opt.CORS) == 0 {
		return nil
	}
	h := map[string]string{"Vary": "Origin"} // a cache must not give one page the answer to another
	switch origin := r.Header.Get("Origin"); {
	case origin != "" && s.named(origin):
		h["Access-Control-Allow-Origin"] = origin
		// A page of a named origin may send cookies (withCredentials); the simulator has none, but clients that do must work.
		h["Access-Control-Allow-Credentials"] = "true"
	case s.anyPage() && !isControl(r):
		h["Access-Control-Allow-Origin"] = anyOrigin
	default:
		return h
	}
	h["Access-Control-Expose-Headers"] = "Retry-After" // the one header of ours that a page does not see anyway
	return h
}

// preflight answers the question that a browser asks before a request with a header of its own, Last-Event-ID say, and reports
// whether r was one. It never reaches the simulator: nobody asked for the stream yet.
func (s *Server) preflight(w http.ResponseWriter, r *http.Request) bool {
	method := r.Header.Get("Access-Control-Request-Method")
	if len(s.opt.CORS) == 0 || r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || method == "" {
		return false
	}
	h := w.Header()
	if h.Get("Access-Control-Allow-Origin") != "" {
		allow := http.MethodGet
		if isControl(r) {
			allow = "GET, POST, DELETE"
		}
		h.Set("Access-Control-Allow-Methods", allow)
		// Whatever the page wants to send: the simulator has nothing that a header could get at.
		if headers := r.Header.Get("Access-Control-Request-Headers"); headers != "" {
			h.Set("Access-Control-Allow-Headers", headers)
		}
		h.Set("Access-Control-Max-Age", preflightAge)
	}
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
	return true
}

func isControl(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/control/") }
