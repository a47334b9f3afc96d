package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator/fleet"
	"github.com/conform-dev/conform/simulator/fleetserve"
)

// simulated is the viewer of a simulated wake lane.
const simulated = "@viewer"

// wakeLane is the wake lane beside a simulated feed: each change of the feed is a message for its one viewer.
type wakeLane struct {
	server    *fleetserve.Server
	secrets   string // folder of the credentials
	admission string // files
	plane     string
	served    atomic.Bool // the feed's baseline is out: what follows is news
}

// newWakeLane serves the lane at addr. Its credentials are drawn for this run and stand in files that only their owner reads.
func newWakeLane(ctx context.Context, addr string) (l *wakeLane, err error) {
	l = &wakeLane{}
	if l.secrets, err = os.MkdirTemp("", "conform-fleet-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(l.secrets))
		}
	}()
	admission, plane := rand.Text(), rand.Text()
	l.admission, l.plane = filepath.Join(l.secrets, "admission"), filepath.Join(l.secrets, "plane")
	for path, secret := range map[string]string{l.admission: admission, l.plane: plane} {
		if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	l.server, err = fleetserve.Start(ctx, fleetserve.Options{Addr: addr, Fleet: fleet.Options{Service: simulated, Viewers: []fleet.Viewer{
		{ProviderUsername: "viewer", UserID: "1", Provider: "conform", ProviderUserID: "1", Subscription: "WAKE_SUB:viewer",
			Admission: []string{admission}, Plane: []string{plane}}}}})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// hear tells the viewer of what was published. The feed's server calls it under its own lock; the lane's is another.
func (l *wakeLane) hear(r trace.Record) {
	if l.served.Load() && r.Kind == trace.ServerPublish {
		_, _ = l.server.Publish(simulated, fleet.Event{Source: fmt.Sprintf("CHANGE:%d", r.Seq)}) // fails only when it was closed
	}
}

func (l *wakeLane) show(out io.Writer) {
	fmt.Fprintf(out, "%-10s %s\n%-10s %s\n%-10s %s\n", fleet.Wire, l.server.PlaneBase(), "fleet", l.server.ControlURL(), "secrets", l.secrets)
}

// follow is a line that can be pasted.
func (l *wakeLane) follow() string {
	return fmt.Sprintf("conform watch --transport fleetwake --admission-bearer 'file:%s' --plane-bearer 'file:%s' --poll-url %s %s",
		l.admission, l.plane, l.server.PollURL(), l.server.PlaneBase())
}

// Close ends the lane and removes its credentials.
func (l *wakeLane) Close() error { return errors.Join(l.server.Close(), os.RemoveAll(l.secrets)) }
