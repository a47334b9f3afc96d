package world

import (
	"errors"
	"fmt"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/fleetwake"
	"github.com/conform-dev/conform/plugins/odata"
	"github.com/conform-dev/conform/plugins/sse"
	"github.com/conform-dev/conform/plugins/websocket"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
)

// Wire is one way from the feed to a client: a transport's machine, and where the simulator serves it.
type Wire struct {
	Name     string
	Describe func() transport.Descriptor
	Machine  func() transport.Machine
	path     string
	// token says that this wire resumes by delta token, not by cursor.
	token bool
}

// strange is a position that another wire gave out, where this one's would stand.
func (w Wire) strange(version int, seq event.Seq) event.Position {
	other := simulator.SSE
	if w.Name == other {
		other = simulator.WebSocket
	}
	p := w.position(version, seq)
	if text := simulator.Position(other, version, seq); w.token {
		p.DeltaToken = text
	} else {
		p.Cursor = text
	}
	return p
}

// DefaultWire is the wire of a set-up that names none.
const DefaultWire = simulator.SSE

var wires = []Wire{
	{Name: simulator.SSE, path: "/stream", Describe: sse.Describe, Machine: func() transport.Machine { return sse.NewMachine() }},
	{Name: simulator.WebSocket, path: "/ws", Describe: websocket.Describe, Machine: func() transport.Machine { return websocket.NewMachine() }},
	{Name: simulator.OData, path: "/odata/" + Source, token: true, Describe: odata.Describe, Machine: func() transport.Machine { return odata.NewMachine() }},
	{Name: fleet.Wire, Describe: fleetwake.Describe, Machine: func() transport.Machine { return fleetwake.NewMachine() }},
}

// position is the stored form of seq on this wire.
func (w Wire) position(version int, seq event.Seq) event.Position {
	p := event.NoPosition
	p.Seq = seq
	if text := simulator.Position(w.Name, version, seq); w.token {
		p.DeltaToken = text
	} else {
		p.Cursor = text
	}
	return p
}

// WireNames are the wires that there are.
func WireNames() []string {
	var out []string
	for _, w := range wires {
		out = append(out, w.Name)
	}
	return out
}

// WireOf finds a wire by its name; the empty name is DefaultWire. An unknown name is an error that lists the known ones.
func WireOf(name string) (Wire, error) {
	if name == "" {
		name = DefaultWire
	}
	for _, w := range wires {
		if w.Name == name {
			return w, nil
		}
	}
	return Wire{}, fmt.Errorf("wire: %q is none of %s", name, strings.Join(WireNames(), ", "))
}

// errAbnormal is how a connection ends that nobody closed. Machines show a fixed word for it.
var errAbnormal = errors.New("abnormal-end")
