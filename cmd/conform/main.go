// Command conform proves that realtime delivery resumes honestly. This package holds flags and printing only; what the
// commands do lives in the rooms below it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/features/stage/storeproc"
)

// Exit codes (D-63). The first that applies wins.
const (
	exitOK           = 0
	exitFailed       = 1 // a claimed MUST row failed or was not exercised
	exitUsage        = 2 // usage, configuration, unknown tag or capability, empty selection
	exitHarness      = 3 // the harness itself broke
	exitInconclusive = 4
	exitInterrupted  = 130
)

// status is an error that names its exit code. The code decides nothing but the process's exit.
type status struct {
	code int
	err  error
}

func (s status) Error() string { return s.err.Error() }
func (s status) Unwrap() error { return s.err }

// silent is the error of a command that has already said everything.
var silent = errors.New("")

// usage makes an error of a user's mistake: exit code 2.
func usage(format string, args ...any) error { return status{exitUsage, fmt.Errorf(format, args...)} }

func main() {
	if storeproc.ServeArgs(os.Args[1:]) {
		return // a scenario wanted a store that it can kill
	}
	os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Main runs one command and returns its exit code. Errors go to stderr as one line that says what was wrong and what to do.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // the terminal was closed, and nohup did not say that this does not matter
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitUsage // what cobra itself refuses is a mistake in the call
	var s status
	if errors.As(err, &s) {
		code = s.code
	}
	if text := strings.Join(strings.Fields(err.Error()), " "); text != "" {
		fmt.Fprintf(stderr, "conform: %s\n", text)
	}
	return code
}

// help is what a command does that only groups others: without it cobra would answer a misspelt command with success.
func help(c *cobra.Command, _ []string) error { return c.Help() }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "conform",
		Short: "Prove that realtime delivery resumes honestly",
		Long: `conform runs one written contract (snapshot, delta, cursor, resume, expiry, liveness) over realtime wires and writes a
report that somebody else can check.

Exit codes of run: 0 all claimed MUST rows passed; 1 one failed or was not exercised; 2 the call or the configuration was wrong;
3 conform itself broke; 4 a MUST row was inconclusive; 130 interrupted (what was done is in the report).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          help,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newRun(), newList(), newLedger(), newSimulate(), newProxy(), newSubject(), newDoctor(), newPlugin(), newInspect(), newWatch(), newVersion())
	return root
}
