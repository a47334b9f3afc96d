package fleetserve

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
	"github.com/conform-dev/conform/simulator/strict"
)

const (
	controlRoot = "/control/v1"
	// MaxControlBody bounds the body of a control request: raw bytes of the largest form, escaped.
	MaxControlBody = 8 << 20
)

// call does what one control request asks; the result stands in its answer. body is never nil.
type call func(body *strict.Node, m *fleet.Server, now fleet.Now) (any, error)

// calls are the control requests; a nil one reads.
var calls = map[string]call{
	"GET /state": nil, "POST /publish": publish, "POST /read": read, "POST /arm": arm, "POST /disarm": disarm, "POST /restart": restart,
	"POST /dispose": dispose, "POST /revoke": revoke, "POST /silence": silence, "POST /cut": cut, "POST /raw": raw, "POST /fail": fail,
	"POST /reset-log": resetLog,
}

// reply is the answer of every control request that did something.
type reply struct {
	Result any         `json:"result,omitempty"`
	State  fleet.State `json:"state"`
}

// control answers one control request: the state after it, or problem details (RFC 9457).
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	name := r.Method + " " + strings.TrimPrefix(r.URL.Path, controlRoot)
	do, known := calls[name]
	switch {
	case !s.machine.HostAdmitted(r.Host):
		problem(w, http.StatusMisdirectedRequest, "host: requests for this name are not served", nil)
		return
	case r.Header.Get("Origin") != "":
		problem(w, http.StatusForbidden, "origin: no page may use the control API", nil)
		return
	case !known:
		problem(w, http.StatusNotFound, "no such control request", nil)
		return
	}
	request := s.request(w, r, MaxControlBody)
	if request.State != fleet.BodyWhole {
		problem(w, http.StatusBadRequest, "body: it broke off, came too late or is too large", nil)
		return
	}
	body := &strict.Node{Kind: strict.Object, Line: 1, Column: 1}
	if len(request.Body) > 0 {
		var err error
		if body, err = strict.ParseJSON(request.Body, MaxControlBody); err != nil {
			problem(w, http.StatusBadRequest, err.Error(), err)
			return
		}
	}
	var out reply
	err := s.Do(func(m *fleet.Server, now fleet.Now) (err error) {
		if do != nil {
			out.Result, err = do(body, m, now)
		}
		out.State = m.State()
		return err
	})
	if err != nil {
		problem(w, http.StatusConflict, err.Error(), err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(out)
}

// problem writes problem details; a fault in the body is 400 with its place.
func problem(w http.ResponseWriter, status int, detail string, err error) {
	p := struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Member string `json:"member,omitempty"`
		Line   int    `json:"line,omitempty"`
		Column int    `json:"column,omitempty"`
	}{Type: "about:blank", Status: status, Detail: detail}
	var place *strict.Error
	if errors.As(err, &place) {
		p.Status, p.Detail, p.Member, p.Line, p.Column = http.StatusBadRequest, place.Detail, place.Member, place.Line, place.Column
	}
	p.Title = http.StatusText(p.Status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

func publish(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	identity := ""
	if err := errors.Join(b.Only("identity", "events"), b.String("identity", &identity)); err != nil {
		return nil, err
	}
	items, err := b.Array("events", fleet.MaxPublish)
	if err != nil {
		return nil, err
	}
	var events []fleet.Event
	for _, item := range items {
		var e fleet.Event
		kind := ""
		if err := errors.Join(item.Only("kind", "source", "priority"), item.String("kind", &kind), item.String("source", &e.Source),
			item.String("priority", &e.Priority)); err != nil {
			return nil, err
		}
		e.Kind = fleet.EventKind(kind)
		events = append(events, e)
	}
	return m.Publish(now, identity, events)
}

func read(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	id := int64(0)
	if err := errors.Join(b.Only("logId"), b.Int("logId", &id, 1, fleet.MaxLogID)); err != nil {
		return nil, err
	}
	return nil, m.Read(now, id)
}

func resetLog(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	id := int64(0)
	if err := errors.Join(b.Only("logId"), b.Int("logId", &id, 0, fleet.MaxLogID)); err != nil {
		return nil, err
	}
	return nil, m.ResetLog(now, id)
}

func arm(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	identity, fault := "", ""
	if err := errors.Join(b.Only("identity", "fault"), b.String("identity", &identity), b.String("fault", &fault)); err != nil {
		return nil, err
	}
	_, reason, err := m.Arm(now, identity, fleet.ArmFault(fault))
	return reason, err
}

func disarm(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	identity := ""
	if err := errors.Join(b.Only("identity"), b.String("identity", &identity)); err != nil {
		return nil, err
	}
	m.Disarm(now, identity)
	return nil, nil
}

func restart(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	how := string(simulator.EOF)
	if err := errors.Join(b.Only("how"), b.String("how", &how)); err != nil {
		return nil, err
	}
	return nil, m.Restart(now, simulator.CloseKind(how))
}

func dispose(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	if err := b.Only(); err != nil {
		return nil, err
	}
	m.Dispose(now)
	return nil, nil
}

func revoke(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	viewer, class := int64(0), int64(fleet.ClassAdmission)
	if err := errors.Join(b.Only("viewer", "class"), b.Int("viewer", &viewer, 0, fleet.MaxViewers), b.Int("class", &class, 1, 3)); err != nil {
		return nil, err
	}
	return nil, m.Revoke(now, int(viewer), int(class))
}

func silence(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	identity, on := "", true
	if err := errors.Join(b.Only("identity", "on"), b.String("identity", &identity), b.Flag("on", &on)); err != nil {
		return nil, err
	}
	m.Silence(now, identity, on)
	return nil, nil
}

func cut(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	identity, how := "", string(simulator.Cut)
	if err := errors.Join(b.Only("identity", "how"), b.String("identity", &identity), b.String("how", &how)); err != nil {
		return nil, err
	}
	return m.Cut(now, identity, simulator.CloseKind(how))
}

func raw(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	identity, text := "", ""
	if err := errors.Join(b.Only("identity", "text"), b.String("identity", &identity), b.String("text", &text)); err != nil {
		return nil, err
	}
	return nil, m.Raw(now, identity, []byte(text))
}

func fail(b *strict.Node, m *fleet.Server, now fleet.Now) (any, error) {
	what, times := "", int64(1)
	if err := errors.Join(b.Only("what", "times"), b.String("what", &what), b.Int("times", &times, 0, fleet.MaxAttempts)); err != nil {
		return nil, err
	}
	return nil, m.Fail(now, what, int(times))
}
