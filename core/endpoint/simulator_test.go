package endpoint_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/sse"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/serve"
)

// TestSimulatorOverTLS: the simulator's certificate file is all that a subscription needs; a cut in the middle of an event is
// resumed from, over TLS as without.
func TestSimulatorOverTLS(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	sim, err := serve.Start(t.Context(), serve.Options{TLS: true, CAFile: ca})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	if err := sim.Add(simulator.Fault{Name: "cut", At: simulator.At{Sequence: 2}, With: map[string]string{"as": "reset", "keep": "40"}}); err != nil {
		t.Fatal(err)
	}
	certificates, err := endpoint.Files{CA: ca}.Source()
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	var numbers []event.Seq
	ctx, done := context.WithCancel(t.Context())
	sub, err := subscription.Open(ctx, sse.New(), func(_ context.Context, ev *event.Event) error {
		once.Do(func() { // the snapshot
			if err := sim.Publish(simulator.AutoUpsert, 3); err != nil {
				t.Error(err)
			}
		})
		if numbers = append(numbers, ev.Pos.Seq); ev.Pos.Seq == 3 {
			done()
		}
		return nil
	}, subscription.WithEndpoint(sim.URL()), subscription.WithQuery(transport.Query{SourceID: "incidents"}),
		subscription.WithTLS(certificates), subscription.WithPolicy(session.Policy{Attempts: 5}))
	if err != nil {
		t.Fatal(err)
	}
	_ = sub.Wait() // the end is ours
	if len(numbers) != 4 || numbers[3] != 3 || sim.State().Struck["cut"] != 1 || sim.State().Requests != 2 {
		t.Errorf("seen %v after %d requests, %d cuts", numbers, sim.State().Requests, sim.State().Struck["cut"])
	}
}
