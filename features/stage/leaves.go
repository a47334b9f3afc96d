package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/conform-dev/conform/core/credential"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator/world"
)

// leavesDir stands in traces for the folder of a scenario's secret files.
const leavesDir = "SECRETS"

// leaves is what the relay's configuration declares, written into files where it names some.
type leaves struct {
	dir string
	env map[string]string
}

// declare writes the files of a set-up. The secrets themselves stand in no argument and no variable of this process.
func declare(s *Setup) (l leaves, err error) {
	if l.dir, err = os.MkdirTemp("", "conform-leaves-"); err != nil {
		return l, err
	}
	l.env = map[string]string{}
	for leaf, word := range s.Lane.Leaves {
		name := credential.Variable(leaf)
		if name == "" {
			return l, errors.Join(fmt.Errorf("%q is no leaf", leaf), l.remove())
		}
		value, ok := world.Secret(word)
		if !strings.HasSuffix(leaf, "File") {
			if !ok {
				return l, errors.Join(fmt.Errorf("%s holds no file, and cannot be %s", leaf, word), l.remove())
			}
			l.env[name] = value
			continue
		}
		path := filepath.Join(l.dir, leaf)
		switch {
		case ok:
			err = os.WriteFile(path, []byte(value), 0o600)
		case word == "a folder":
			err = os.Mkdir(path, 0o700)
		}
		if err != nil {
			return l, errors.Join(err, l.remove())
		}
		l.env[name] = path
	}
	return l, nil
}

func (l leaves) remove() error {
	if l.dir == "" {
		return nil
	}
	return os.RemoveAll(l.dir)
}

// boot resolves the credential chain as a relay does at its start, and writes down what came of it: started, unarmed or refused.
func (l leaves) boot(b *book) (relay credential.Relay, started bool) {
	relay, err := credential.Resolve(credential.Sources{Lookup: func(name string) (string, bool) {
		value, ok := l.env[name]
		return value, ok
	}})
	r := trace.New(trace.Plugin, trace.PluginMeasured)
	r.Args = map[string]string{"boot": "started"}
	plain := func(text string) string { return strings.ReplaceAll(text, l.dir, leavesDir) }
	switch {
	case err != nil:
		r.Args = map[string]string{"boot": "refused", "refusal": plain(err.Error())}
	case !relay.Declared():
		r.Args = map[string]string{"boot": "unarmed"}
	}
	b.add(r)
	if r.Args["boot"] == "unarmed" { // no consumer is built: what the lane shows is the chain's reason
		shown := trace.New(trace.Session, trace.SessionLane)
		shown.Status, shown.Detail = "unknown", trace.Clip(plain(relay.Reason()))
		delivery := session.RoutesAxis(session.Verdict{Reason: plain(relay.Reason())}.Resolve(), nil)
		shown.Args = map[string]string{"delivery": delivery.State, "delivery-reason": delivery.Reason, "mark": "0", "wakes": "0"}
		b.add(shown)
	}
	return relay, r.Args["boot"] == "started"
}
