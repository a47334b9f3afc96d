// Command signal connects and tells how that went, and nothing else.
package main

import (
	"context"
	"net"

	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/transport"
)

type dialer struct{}

func (dialer) Describe(context.Context) (transport.Descriptor, error) {
	return transport.Descriptor{
		Name: "signal", Version: "0.1.0", Wire: "tcp",
		Freshness: transport.Push, Order: transport.NoOrder, Baseline: transport.NoBaseline, Vouch: transport.NoVouch,
	}, nil
}

func (dialer) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.Endpoint)
	if err != nil {
		// What the network did is a signal. The session decides when to try again.
		return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: "cannot connect"})
	}
	defer conn.Close()
	if err := to.Signal(transport.Signal{Kind: transport.Open}); err != nil {
		return err
	}
	return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: "hung up"})
}

func main() { plugin.Serve(dialer{}) }
