package probe

import (
	"context"
	"fmt"

	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/serve"
)

// scaledHistory is how many changes the simulated feed keeps: few, so that some are forgotten soon.
const scaledHistory = 8

// FeedCapabilities are the words that rows of a feed's server may require: changes can be made, told from each other, resumed, and are
// forgotten.
var FeedCapabilities = []string{"publish", "serial", "replay", "expiry"}

// SimulatorFeed starts conform's own Server-Sent Events server as a target: a fresh one, with a short history.
func SimulatorFeed(ctx context.Context) (*Target, error) {
	server, err := serve.Start(ctx, serve.Options{Addr: "127.0.0.1:0", Simulator: simulator.Options{Retention: scaledHistory}})
	if err != nil {
		return nil, err
	}
	t := &Target{Wire: simulator.SSE, Base: "http://" + server.Addr(), Events: "/stream?sourceId=incidents&mode=snapshot-then-delta",
		Limits: Limits{History: scaledHistory}, Can: FeedCapabilities, People: map[string]Person{}, Close: server.Close,
		Secrets: func() []string { return nil },
		Feed:    &Feed{Serial: "/sequence", Header: "Last-Event-ID", Expired: []string{"event:error", "event:snapshot"}}}
	t.serial = int(server.State().Head) // the simulator numbers its changes itself
	t.Do = func(_ context.Context, verb Verb, _ string, n int) error {
		if verb != Publish {
			return fmt.Errorf("the simulated feed has no hook %s", verb)
		}
		return server.Publish("", n)
	}
	return t, nil
}
