package world

import (
	"time"

	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
)

// peer is the machine at the server's end of the network: the simulator of the feed, or that of the wake lane.
type peer interface {
	Request(simulator.Now, simulator.Conn, simulator.Request)
	Received(simulator.Now, simulator.Conn, []byte)
	Written(simulator.Now, simulator.Conn, int)
	Gone(simulator.Now, simulator.Conn)
	Wake(simulator.Now)
	Deadline() (time.Duration, bool)
	Take() (simulator.Output, bool)
}

var _ peer = (*simulator.Simulator)(nil)

// plane is the fleet server as a peer: it wants to know which host a request is for.
type plane struct{ *fleet.Server }

// Request implements peer. A relay's stream has no body.
func (p plane) Request(now simulator.Now, c simulator.Conn, r simulator.Request) {
	p.Server.Request(now, c, fleet.Request{Method: r.Method, Target: r.Target, Host: originHost, Header: r.Header})
}

// Received implements peer: on this wire a client says nothing behind its request.
func (plane) Received(simulator.Now, simulator.Conn, []byte) {}

// serves makes the server of the set-up: one of the two is nil.
func (s *Setup) serves() (feed *simulator.Simulator, lane *fleet.Server, err error) {
	if s.Wire == fleet.Wire {
		lane, err = fleet.New(s.Plane())
		return nil, lane, err
	}
	feed, err = simulator.New(s.Simulator())
	return feed, nil, err
}
