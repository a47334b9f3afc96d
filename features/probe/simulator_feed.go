package probe

import (
	"context"
	"fmt"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/serve"
)

// scaledHistory is how many changes the simulated feed keeps: few, so that some are forgotten soon.
const scaledHistory = 8

// SimulatorSocket starts conform's own WebSocket server as a target.
func SimulatorSocket(ctx context.Context) (*Target, error) {
	t, _, err := simulatedFeed(ctx, simulator.WebSocket)
	if err != nil {
		return nil, err
	}
	t.Events = "/ws?sourceId=incidents&mode=snapshot-then-delta"
	t.Feed = &Feed{Type: "/type", ID: "/cursor", Serial: "/sequence", Query: "cursor", Expired: []string{"event:error", "event:snapshot"}}
	return t, nil
}

// SimulatorOData starts conform's own OData service as a target.
func SimulatorOData(ctx context.Context) (*Target, error) {
	t, server, err := simulatedFeed(ctx, simulator.OData)
	if err != nil {
		return nil, err
	}
	t.Events, t.Can = "/odata/incidents", []string{"publish", "serial", "restart"}
	t.Feed = &Feed{Serial: "/version"}
	publish := t.Do
	t.Do = func(ctx context.Context, verb Verb, whom string, n int) error {
		if verb != Restart {
			return publish(ctx, verb, whom, n)
		}
		return server.Do(func(s *simulator.Simulator, now simulator.Now) error {
			return s.Restart(now, simulator.Restart{Head: event.NoSeq})
		})
	}
	return t, nil
}

// FeedCapabilities are the words that rows of a feed's server may require: changes can be made, told from each other, resumed, and are
// forgotten.
var FeedCapabilities = []string{"publish", "serial", "replay", "expiry"}

// SimulatorFeed starts conform's own Server-Sent Events server as a target: a fresh one, with a short history.
func SimulatorFeed(ctx context.Context) (*Target, error) {
	t, _, err := simulatedFeed(ctx, simulator.SSE)
	return t, err
}

func simulatedFeed(ctx context.Context, wire string) (*Target, *serve.Server, error) {
	server, err := serve.Start(ctx, serve.Options{Addr: "127.0.0.1:0", Simulator: simulator.Options{Retention: scaledHistory}})
	if err != nil {
		return nil, nil, err
	}
	t := &Target{Wire: wire, Base: "http://" + server.Addr(), Events: "/stream?sourceId=incidents&mode=snapshot-then-delta",
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
	return t, server, nil
}
