package fleet

// State is what a server looks like from outside. It holds no secret.
type State struct {
	Requests   uint32         `json:"requests"`
	Streams    int            `json:"streams"`
	ByIdentity map[string]int `json:"byIdentity"`
	Queued     int            `json:"queued"` // bytes that streams owe their clients
	Armed      bool           `json:"armed"`
	Reason     string         `json:"reason"`
	Proven     string         `json:"proven,omitempty"` // login that the plane proved for the service
	Routes     []RouteState   `json:"routes"`
	LastPushAt int64          `json:"lastPushAt"` // unix milliseconds; -1 for none
	Disposed   bool           `json:"disposed"`
	LogID      int64          `json:"logId"`
	LogEntries int            `json:"logEntries"`
	Wakes      uint64         `json:"wakes"` // handed over
	Polls      uint64         `json:"polls"`
}

// RouteState is one armed subscription.
type RouteState struct {
	SubscriptionID string `json:"subscriptionId"`
	Identity       string `json:"identity"`
}

// State reads the server.
func (s *Server) State() State {
	st := State{Requests: s.requests, Streams: len(s.streams), ByIdentity: map[string]int{}, Armed: s.armed, Reason: s.reason, Proven: s.proven,
		Routes: []RouteState{}, LastPushAt: s.pushed, Disposed: s.disposed, LogID: s.plane.last, LogEntries: len(s.plane.log),
		Wakes: s.accepted, Polls: s.polls}
	for _, x := range s.streams {
		st.ByIdentity[x.identity]++
		st.Queued += x.queued
	}
	for _, r := range s.routes {
		st.Routes = append(st.Routes, RouteState{r.id, r.identity})
	}
	return st
}

// SigningKey is the key of an armed subscription, for a sender that posts to this server; empty if there is none. It is a secret.
func (s *Server) SigningKey(subscription string) string {
	for _, r := range s.routes {
		if r.id == subscription {
			return r.key
		}
	}
	return ""
}
