package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/core/container"
	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/internal/need"
)

// finding is one thing that this machine can do, or cannot.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Says string `json:"says"`           // what is there, or why it is not
	Need string `json:"need,omitempty"` // what would change that
	For  string `json:"for"`
}

func newDoctor() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this machine can run, and why not",
		Long: `Tell which lanes this machine can run and which tools the tests of conform find. Nothing that is missing keeps conform run from working: what
needs it is not claimed, or is skipped and says so.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			all := examineMachine(c.Context())
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(all)
			}
			return showMachine(c.OutOrStdout(), all)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func examineMachine(ctx context.Context) []finding {
	v := version()
	out := []finding{
		{What: "conform", OK: true, Says: fmt.Sprintf("%s, %s, %s/%s", v.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH), For: "everything"},
		{What: "virtual lane", OK: true, Says: "runs in this process", For: "rows with exact times"},
		processLane(ctx), containers(ctx),
	}
	for _, t := range []struct{ name, command, what string }{
		{"curl", "curl", "tests of the simulator's pages"}, {"cgo", "gcc", "the race detector, go-odata in peers/"}, {"strace", "strace", "a test that a save is on the disk"},
		{"chromium", "chromium", "a browser as an independent client, in peers/"}, {"nchan", "nginx", "nchan as a server, in peers/"},
	} {
		f := finding{What: t.name, Need: need.Known[t.name], For: t.what}
		if path, err := exec.LookPath(t.command); err == nil {
			f.OK, f.Says, f.Need = true, path, ""
		} else {
			f.Says = "there is no " + t.command
		}
		out = append(out, f)
	}
	proc := finding{What: "procfs", OK: true, Says: "/proc", For: "looking at a plugin's environment; telling a dead run from a live one"}
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		proc.OK, proc.Says, proc.Need = false, "there is no /proc", need.Known["procfs"]
	}
	return append(out, proc)
}

// processLane starts a plugin process and asks it what it is.
func processLane(ctx context.Context) finding {
	f := finding{What: "process lane", For: "rows over real sockets, with a plugin in a process of its own"}
	command, err := host.Self("sse")
	if err == nil {
		var p *host.Plugin
		if p, err = host.Start(ctx, command); err == nil {
			_, err = p.Describe(ctx)
			p.Close()
		}
	}
	if err != nil {
		f.Says, f.Need = err.Error(), "leave to start processes and to listen on 127.0.0.1"
		return f
	}
	f.OK, f.Says = true, "a plugin process was started and answered"
	return f
}

func containers(ctx context.Context) finding {
	f := finding{What: "docker", For: "subjects with image or build"}
	e, err := container.Connect(ctx)
	if err != nil {
		f.Says, f.Need = err.Error(), need.Known["docker"]
		return f
	}
	defer e.Close()
	v, err := e.Version(ctx)
	if err != nil {
		f.Says, f.Need = err.Error(), need.Known["docker"]
		return f
	}
	f.OK, f.Says = true, fmt.Sprintf("engine %s, API %s", v.Engine, v.API)
	return f
}

func showMachine(w io.Writer, all []finding) error {
	for _, f := range all {
		word := "ok"
		if !f.OK {
			word = "missing"
		}
		if _, err := fmt.Fprintf(w, "%-8s%-14s%s (for: %s)\n", word, f.What, f.Says, f.For); err != nil {
			return err
		}
		if f.Need != "" {
			if _, err := fmt.Fprintf(w, "%-22sneeds %s\n", "", f.Need); err != nil {
				return err
			}
		}
	}
	return nil
}
