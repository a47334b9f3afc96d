package probe

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
	"github.com/conform-dev/conform/simulator/fleetserve"
	"github.com/conform-dev/conform/simulator/world"
)

// Scaled limits of the simulator under examination; the others are the contract's own. They stand in the setup of each trace.
const (
	scaledWindow    = 1500 * time.Millisecond
	scaledHeartbeat = 200 * time.Millisecond
)

// visitors is how many people it takes to fill the simulator, each with as many streams as one may have, and one more to be refused.
const visitors = fleet.DefaultStreams/fleet.DefaultViewerStreams + 1

// Simulator starts conform's own fleet-wake server as a target: a fresh one, with scaled times and the contract's counts.
func Simulator(ctx context.Context) (*Target, error) {
	secret := func() string { return rand.Text() }
	viewers := []fleet.Viewer{
		{ProviderUsername: "viewer", UserID: "1", Provider: "conform", ProviderUserID: "1", Subscription: "WAKE_SUB:relay",
			Admission: []string{secret()}, Plane: []string{world.Canary}},
		{ProviderUsername: "other", UserID: "2", Provider: "conform", ProviderUserID: "2", Subscription: "WAKE_SUB:other",
			Admission: []string{secret()}, Plane: []string{secret()}},
		{Username: "a b", UserID: "3", Admission: []string{secret()}},
		{ProviderUsername: "holder", Admission: []string{secret()}},
	}
	names := []string{Viewer, Other, Stranger, Holder}
	for i := range visitors {
		n := strconv.Itoa(i + 1)
		viewers = append(viewers, fleet.Viewer{ProviderUsername: "visitor" + n, UserID: "v" + n, Provider: "conform", ProviderUserID: "v" + n,
			Admission: []string{secret()}})
		names = append(names, Visitor+" "+n)
	}
	server, err := fleetserve.Start(ctx, fleetserve.Options{Fleet: fleet.Options{Service: "@viewer", Viewers: viewers,
		AttemptWindow: scaledWindow, Heartbeat: scaledHeartbeat}})
	if err != nil {
		return nil, err
	}
	t := &Target{Wire: fleet.Wire, Base: server.PlaneBase(), Events: fleet.EventsPath, Wake: fleet.WakePath, Poll: fleet.PollPath, Tool: fleet.ToolPath,
		Limits: Limits{Attempts: fleet.DefaultAttempts, AttemptWindow: scaledWindow, ViewerStreams: fleet.DefaultViewerStreams,
			Streams: fleet.DefaultStreams, WakeRequests: fleet.DefaultWakeRequests, WakeWindow: fleet.DefaultWakeWindow, WakeBody: fleet.DefaultWakeBody, Heartbeat: scaledHeartbeat},
		Can: Capabilities, People: map[string]Person{}, Canaries: map[string]string{"canary": world.Canary}, Close: server.Close}
	var secrets []string
	for i, name := range names {
		v := viewers[i]
		person := Person{Login: "@" + v.ProviderUsername, Subscription: v.Subscription, Admission: func() (string, error) { return v.Admission[0], nil }}
		if len(v.Plane) > 0 {
			person.Plane = func() (string, error) { return v.Plane[0], nil }
			person.Key = func() (string, error) { return signingKey(server, v.Subscription), nil }
		}
		if v.Plane == nil || v.Plane[0] != world.Canary { // the canary is masked by nobody: it must not come up at all
			secrets = append(secrets, v.Plane...)
		}
		secrets = append(secrets, v.Admission...)
		t.People[name] = person
	}
	t.Secrets = func() []string {
		return append(secrets[:len(secrets):len(secrets)], signingKey(server, "WAKE_SUB:relay"), signingKey(server, "WAKE_SUB:other"))
	}
	t.Do = func(_ context.Context, verb Verb, whom string, n int) error {
		return server.Do(func(m *fleet.Server, now fleet.Now) error { return do(m, now, verb, t.People[whom].Login, n) })
	}
	return t, nil
}

func signingKey(server *fleetserve.Server, subscription string) (key string) {
	_ = server.Do(func(m *fleet.Server, _ fleet.Now) error { // fails only when it was closed
		key = m.SigningKey(subscription)
		return nil
	})
	return key
}

// do is a hook of the simulator.
func do(m *fleet.Server, now fleet.Now, verb Verb, login string, n int) error {
	switch verb {
	case Publish:
		_, err := m.Publish(now, login, make([]fleet.Event, n))
		return err
	case Restart:
		return m.Restart(now, simulator.Cut)
	case ShutDown:
		m.Dispose(now)
	case Lose:
		return m.Fail(now, fleet.FailHandOver, n)
	case Arm:
		_, _, err := m.Arm(now, login, fleet.ArmWell)
		return err
	case Disarm:
		m.Disarm(now, login)
	default:
		return fmt.Errorf("the simulator has no hook %s", verb)
	}
	return nil
}
