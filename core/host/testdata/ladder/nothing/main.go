// Command nothing is the smallest transport plugin: it says what it is and connects to nobody.
package main

import (
	"context"

	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/transport"
)

type nothing struct{}

func (nothing) Describe(context.Context) (transport.Descriptor, error) {
	return transport.Descriptor{
		Name: "nothing", Version: "0.1.0", Wire: "none",
		Freshness: transport.Push, Order: transport.NoOrder, Baseline: transport.NoBaseline, Vouch: transport.NoVouch,
	}, nil
}

func (nothing) Open(_ context.Context, _ transport.Attempt, to transport.Sink) error {
	return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ServerStop, Detail: "there is no server"})
}

func main() { plugin.Serve(nothing{}) }
