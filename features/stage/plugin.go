package stage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator/world"
)

// canaryVariable is put into this program's environment before a transport is started, and stays there, since scenarios are
// played side by side: nothing of it may be seen there.
const canaryVariable = "CONFORM_CANARY_TOKEN"

// launch starts the transport's process and looks at the environment that it got.
func (p *process) launch(ctx context.Context) (err error) {
	if err := os.Setenv(canaryVariable, world.Canary); err != nil {
		return err
	}
	command, err := program(p.opt.Plugin, p.setup.Plugin)
	if err != nil {
		return err
	}
	command.OnEvent = func(e host.Event) { heard(p.book, e) }
	if p.plugin, err = host.Start(ctx, command); err != nil {
		return p.unstarted(err)
	}
	r := trace.New(trace.Plugin, trace.PluginMeasured)
	r.Args = map[string]string{"environment-canary": environment(p.plugin.PID())}
	p.book.add(r)
	return nil
}

// heard writes what happens to the transport's process. What it printed last is part of it when it died by itself.
func heard(b *book, e host.Event) {
	kind, ok := map[host.EventKind]trace.Kind{host.Started: trace.PluginStarted, host.Exited: trace.PluginExited,
		host.Refused: trace.PluginRefused}[e.Kind]
	if !ok {
		return
	}
	r := trace.New(trace.Plugin, kind)
	r.Detail = e.Status
	if e.Detail != "" {
		r.Detail = e.Detail
	}
	if e.Kind == host.Refused {
		r.Detail, _, _ = strings.Cut(r.Detail, " (it printed") // what follows may hold the name of its run directory
	}
	if e.PID != 0 {
		r.Args = map[string]string{"pid": strconv.Itoa(e.PID)}
	}
	b.add(r)
}

// KillPlugin waits until the process is gone and the session knows.
func (p *process) KillPlugin(ctx context.Context) error { return killPlugin(ctx, p.plugin, p.book) }

func killPlugin(ctx context.Context, plugin *host.Plugin, b *book) error {
	proc, err := os.FindProcess(plugin.PID())
	if err != nil {
		return err
	}
	var exits, waits int
	b.look(func(v *View) bool { exits, waits = v.Exits, v.Waits; return true })
	if err := proc.Kill(); err != nil {
		return fmt.Errorf("kill the plugin: %w", err)
	}
	return b.wait(ctx, "the plugin's process to be gone", func(v *View) bool {
		return v.Exits > exits && (v.Waits > waits || v.Ended)
	})
}

// environment says whether the canary of this program's environment stands in that of process pid, as the system shows it:
// absent, present, or why it cannot be told.
func environment(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	switch {
	case err != nil:
		return "unknown: this system does not show it"
	case bytes.Contains(env, []byte(world.Canary)):
		return "present"
	}
	return "absent"
}
