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

// wakeLane is the wake lane beside a simulated feed: each change of the feed is a message for its viewer. The others are there to be
// examined with.
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
	l.admission, l.plane = filepath.Join(l.secrets, "admission"), filepath.Join(l.secrets, "plane")
	secret := func(name string) []string {
		if err != nil {
			return nil
		}
		text := rand.Text()
		err = l.keep(name, text)
		return []string{text}
	}
	viewers := []fleet.Viewer{
		{ProviderUsername: "viewer", UserID: "1", Provider: "conform", ProviderUserID: "1", Subscription: "WAKE_SUB:viewer",
			Admission: secret("admission"), Plane: secret("plane")},
		{ProviderUsername: "other", UserID: "2", Provider: "conform", ProviderUserID: "2", Subscription: "WAKE_SUB:other",
			Admission: secret("other-admission"), Plane: secret("other-plane")},
		{Username: "no subject", UserID: "3", Admission: secret("stranger-admission")},
		{ProviderUsername: "holder", Admission: secret("holder-admission")},
	}
	if err != nil {
		return nil, err
	}
	if l.server, err = fleetserve.Start(ctx, fleetserve.Options{Addr: addr, Fleet: fleet.Options{Service: simulated, Viewers: viewers}}); err != nil {
		return nil, err
	}
	if err := l.describe(); err != nil {
		return nil, errors.Join(err, l.server.Close())
	}
	return l, nil
}

// keep writes a secret into a file that only its owner reads.
func (l *wakeLane) keep(name, text string) error {
	return os.WriteFile(filepath.Join(l.secrets, name), []byte(text+"\n"), 0o600)
}

// describe writes the file that lets `conform run --subject` certify this server, and the signing key that it refers to.
func (l *wakeLane) describe() error {
	key := ""
	if err := l.server.Do(func(m *fleet.Server, _ fleet.Now) error { key = m.SigningKey("WAKE_SUB:viewer"); return nil }); err != nil {
		return err
	}
	if err := l.keep("key", key); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.secrets, subjectFile), fmt.Appendf(nil, described, l.server.PlaneBase()), 0o600)
}

// subjectFile describes the lane's server, in the folder of its secrets.
const subjectFile = "subject.yaml"

// described is its text. Rows about caps are not claimed: with the contract's own numbers they take minutes. So is no restart: it makes
// another signing key.
const described = `# conform's own fleet-wake server, as ` + "`conform simulate`" + ` serves it.
subject: simulated-fleet
wire: fleetwake
url: %s
endpoints: {poll: /fleet/poll-digest}
credentials:
  viewer: {login: "@viewer", subscription: "WAKE_SUB:viewer", bearer: {file: admission}, plane: {file: plane}, key: {file: key}}
  another-viewer: {login: "@other", subscription: "WAKE_SUB:other", bearer: {file: other-admission}, plane: {file: other-plane}}
  stranger: {bearer: {file: stranger-admission}}
  holder: {bearer: {file: holder-admission}}
claims: [admission, stream, wakes, polls]
limits: {attempts: 30, attemptWindow: 60s, heartbeat: 25s}
hooks:
  publish: {http: {url: /control/v1/publish, body: '{"identity": "{login}"}'}}
  lose: {http: {url: /control/v1/fail, body: '{"what": "hand-over"}'}}
`

// hear tells the viewer of what was published. The feed's server calls it under its own lock; the lane's is another.
func (l *wakeLane) hear(r trace.Record) {
	if l.served.Load() && r.Kind == trace.ServerPublish {
		_, _ = l.server.Publish(simulated, fleet.Event{Source: fmt.Sprintf("CHANGE:%d", r.Seq)}) // fails only when it was closed
	}
}

func (l *wakeLane) show(out io.Writer) {
	fmt.Fprintf(out, "%-10s %s\n%-10s %s\n%-10s %s\n%-10s conform run --subject %s\n", fleet.Wire, l.server.PlaneBase(), "fleet", l.server.ControlURL(), "secrets", l.secrets,
		"certify", filepath.Join(l.secrets, subjectFile))
}

// follow is a line that can be pasted.
func (l *wakeLane) follow() string {
	return fmt.Sprintf("conform watch --transport fleetwake --admission-bearer 'file:%s' --plane-bearer 'file:%s' --poll-url %s %s",
		l.admission, l.plane, l.server.PollURL(), l.server.PlaneBase())
}

// Close ends the lane and removes its credentials.
func (l *wakeLane) Close() error { return errors.Join(l.server.Close(), os.RemoveAll(l.secrets)) }
