package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary a conform of its own: scripts run it, and it starts itself as a plugin process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"conform": main})
}

// TestScripts runs the command as a person would. testdata/script is the reference for what it prints and how it exits.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("TERM", "dumb")
			e.Setenv("CANARY_TOKEN", "canary-of-the-environment")
			return os.MkdirAll(e.WorkDir, 0o755)
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
