package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/strict"
)

// The control API, version 1. Every answer is the state after the call; every refusal is problem details.
const (
	controlRoot = "/control/v1"
	// MaxBody bounds the body of a control request: a few of the largest features.
	MaxBody = 4 << 20
)

// call does what one control request asks. body is never nil.
type call func(body *strict.Node, sim *simulator.Simulator, now simulator.Now) error

// calls are the control requests by path and method. A nil call only reads.
var calls = map[string]map[string]call{
	"/state":     {http.MethodGet: nil},
	"/publish":   {http.MethodPost: publish},
	"/trim":      {http.MethodPost: trim},
	"/retention": {http.MethodPost: retention},
	"/jump":      {http.MethodPost: jump},
	"/restart":   {http.MethodPost: restart},
	"/pause":     {http.MethodPost: pause},
	"/resume":    {http.MethodPost: resume},
	"/fault":     {http.MethodPost: fault, http.MethodDelete: clearFaults},
}

// ServeHTTP is the server's handler: the control API, and everything else goes to the simulator.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(r.Host) {
		problem(w, refusal{status: http.StatusMisdirectedRequest, detail: "host: requests for this name are not served"})
		return
	}
	share := s.share(r)
	if isControl(r) || r.Method == http.MethodOptions {
		for name, value := range share {
			w.Header().Set(name, value)
		}
	}
	if s.preflight(w, r) {
		return
	}
	if !isControl(r) {
		if r.URL.Path == s.sim.Path(simulator.WebSocket) && !s.anyPage() && !s.welcome(r) {
			problem(w, foreign) // nothing else keeps a page from reading a WebSocket of another origin
			return
		}
		s.stream(w, r)
		return
	}
	state, err := s.control(w, r)
	if err != nil {
		problem(w, refusalOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(state)
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) (state simulator.State, err error) {
	methods, known := calls[strings.TrimPrefix(r.URL.Path, controlRoot)]
	if !known || !strings.HasPrefix(r.URL.Path, controlRoot) {
		return state, refusal{status: http.StatusNotFound, detail: "no such control request"}
	}
	do, known := methods[r.Method]
	if !known {
		var allow []string
		for m := range methods {
			allow = append(allow, m)
		}
		slices.Sort(allow)
		return state, refusal{status: http.StatusMethodNotAllowed, detail: "method: allowed are " + strings.Join(allow, ", "), allow: strings.Join(allow, ", ")}
	}
	if !s.welcome(r) {
		return state, foreign
	}
	body, err := s.readBody(w, r)
	if err != nil {
		return state, err
	}
	err = s.Do(func(sim *simulator.Simulator, now simulator.Now) error {
		if do != nil {
			if err := do(body, sim, now); err != nil {
				return err
			}
		}
		state = sim.State()
		return nil
	})
	return state, err
}

// readBody reads a JSON body; an empty one is an empty object.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (*strict.Node, error) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(s.opt.BodyTimeout)) // a connection that cannot have one is bounded by its client
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, refusal{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("body: larger than %d bytes", MaxBody)}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, refusal{status: http.StatusRequestTimeout, detail: fmt.Sprintf("body: not whole within %v", s.opt.BodyTimeout)}
	}
	if err != nil {
		return nil, refusal{status: http.StatusBadRequest, detail: "body: it broke off"}
	}
	_ = c.SetReadDeadline(time.Time{})
	if len(text) == 0 {
		return &strict.Node{Kind: strict.Object, Line: 1, Column: 1}, nil
	}
	if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "application/json" {
		return nil, refusal{status: http.StatusUnsupportedMediaType, detail: "content-type: must be application/json"}
	}
	return strict.ParseJSON(text, MaxBody)
}

// allowed says whether a request for host may be answered: a name that an attacker's DNS points here is not (DNS rebinding).
func (s *Server) allowed(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return loopback(host) || s.hosts[strings.ToLower(host)]
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}
