package main

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/transport"
)

// tinCan is a transport whose wire no scenario is written for.
type tinCan struct{}

func (tinCan) Describe(context.Context) (transport.Descriptor, error) {
	return transport.Descriptor{Name: "tin-can", Version: "0.1.0", Wire: "string",
		Freshness: transport.Push, Order: transport.NoOrder, Baseline: transport.NoBaseline, Vouch: transport.NoVouch}, nil
}

func (tinCan) Open(_ context.Context, _ transport.Attempt, to transport.Sink) error {
	return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ServerStop})
}

// TestMain makes the test binary a conform of its own: scripts run it, and it starts itself as a plugin process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"conform": main, "tin-can": func() { plugin.Serve(tinCan{}) }})
}

// TestScripts runs the command as a person would. testdata/script is the reference for what it prints and how it exits.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			can, err := exec.LookPath("tin-can")
			if err != nil {
				return err
			}
			e.Setenv("TIN_CAN", can)
			conform, err := exec.LookPath("conform")
			if err != nil {
				return err
			}
			e.Setenv("CONFORM", conform)
			e.Setenv("TERM", "dumb")
			e.Setenv("CANARY_TOKEN", "canary-of-the-environment")
			return os.MkdirAll(e.WorkDir, 0o755)
		},
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"await": await, "until": until, "served": served, "post": post},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
