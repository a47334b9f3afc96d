package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/report"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/features"
	"github.com/conform-dev/conform/internal/certify"
)

// The limits of --timeout: below, no honest scenario ends; above, a run that hangs is not noticed in a CI job.
const (
	minTimeout = 100 * time.Millisecond
	maxTimeout = 10 * time.Minute
)

// runFlags are the flags of `conform run`.
type runFlags struct {
	transports []string
	plugins    []string
	subjects   []string
	baseline   string
	newBase    string
	features   string
	tags       string
	rows       []string
	scenario   string
	lanes      []string
	seed       uint64
	timeout    time.Duration
	out        string
	asJSON     bool
	strict     bool
}

func newRun() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the contract over transports and write a report",
		Long: `Run the contract ledger. Each transport is a process of its own, the simulator serves it over loopback; rows that need exact
times run in virtual time besides. Without flags every bundled transport is certified.

The report folder gets envelope.json, junit.xml, summary.md and one trace per scenario. On failure the row, what was expected
and seen, the trace around it and the command that repeats just that case are printed.`,
		Example: `  conform run
  conform run --plugin mine=./my-plugin
  conform run --subject my-server.yaml --baseline known.yaml
  conform run --row GATE-001 --seed 42
  conform run --tags '@sse and not @SESS-004'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c, f) },
	}
	c.Flags().StringSliceVar(&f.transports, "transport", nil, "bundled transports, separated by commas (default all: "+strings.Join(bundledNames(), ",")+")")
	c.Flags().StringArrayVar(&f.plugins, "plugin", nil, "NAME=PATH of a transport plugin; may be repeated; then bundled ones run only if --transport names them")
	c.Flags().StringArrayVar(&f.subjects, "subject", nil, "`FILE` that describes a server to certify, or simulator for conform's own; may be repeated; then transports run only if they are named")
	c.Flags().StringVar(&f.baseline, "baseline", "", "`FILE` of known deviations: what it knows fails no run, and an entry that does not hold any more does")
	c.Flags().StringVar(&f.newBase, "baseline-new", "", "write the failures of this run to a new `FILE`, to be filled in")
	c.Flags().StringVar(&f.features, "features", "", "`DIR` of your own feature files, run instead of the shipped ones; conform list --steps has the vocabulary")
	c.Flags().StringVar(&f.tags, "tags", "", "only scenarios that this expression selects: @tags, and, or, not, parentheses")
	c.Flags().StringSliceVar(&f.rows, "row", nil, "only these ledger rows")
	c.Flags().StringVar(&f.scenario, "scenario", "", "only the scenario at FILE:LINE")
	c.Flags().StringSliceVar(&f.lanes, "lane", nil, "only these lanes: virtual, process (default both)")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "makes the schedule of every scenario; the same seed gives the same run")
	c.Flags().DurationVar(&f.timeout, "timeout", features.DefaultTimeout, "longest time for one scenario")
	c.Flags().StringVar(&f.out, "out", "out", "folder of the report; an earlier report in it is replaced, anything else is left alone")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the envelope to standard output instead of the summary")
	c.Flags().BoolVar(&f.strict, "strict", false, "SHOULD rows count for the exit code as well")
	return c
}

func run(c *cobra.Command, f runFlags) error {
	opt, err := f.options()
	if err != nil {
		return err
	}
	if err := report.Check(f.out); err != nil {
		return usage("--out: %v", err)
	}
	base, err := f.known()
	if err != nil {
		return err
	}
	end, err := f.servers(c.Context(), &opt)
	defer end()
	if err != nil {
		return err
	}
	// A reader that has seen enough (`conform run | head`) does not end the run: writing fails, and the report is made. The
	// signal is only taken, never read; ignoring it would be inherited by plugins.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stdout, stderr := c.OutOrStdout(), c.ErrOrStderr()
	p := newProgress(stdout)
	if f.asJSON {
		p = newProgress(stderr)
	}
	opt.Progress = p.scenario
	result, err := certify.Run(c.Context(), opt)
	p.end()
	switch {
	case errors.Is(err, certify.ErrSelection):
		return status{exitUsage, err}
	case err != nil:
		return status{exitHarness, err}
	}
	if base != nil {
		base.Know(&result, time.Now(), !f.partly() && !result.Partial)
	}
	// The report first: whoever reads the output may be gone.
	written := report.Write(f.out, result, nil)
	if err := f.print(stdout, result); err != nil && !errors.Is(err, syscall.EPIPE) {
		return status{exitHarness, err}
	}
	if written != nil {
		return status{exitHarness, fmt.Errorf("the report could not be written: %w", written)}
	}
	if err := f.starter(&result); err != nil {
		return status{exitHarness, err}
	}
	if !f.asJSON {
		fmt.Fprintf(stdout, "report: %s\n", filepath.Join(f.out, "summary.md"))
	}
	if code := report.ExitCode(result, f.strict); code != exitOK {
		return status{code, silent}
	}
	return nil
}

// print writes failures and the summary, or the envelope.
func (f runFlags) print(w io.Writer, result report.Run) error {
	if f.asJSON {
		doc, err := report.Envelope(result, nil)
		if err != nil {
			return err
		}
		_, err = w.Write(append(doc, '\n'))
		return err
	}
	for i := range result.Results {
		if res := &result.Results[i]; !report.Good(res.Outcome.Verdict) {
			fmt.Fprintln(w)
			if err := report.Failure(w, res, nil); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(w)
	return report.Summary(w, result, nil)
}

// options checks the flags and turns them into what certify takes.
func (f runFlags) options() (certify.Options, error) {
	opt := certify.Options{Tags: f.tags, Rows: f.rows, Scenario: f.scenario, Seed: f.seed, Timeout: f.timeout, Strict: f.strict,
		Version: version().Version, Command: f.command()}
	if f.timeout < minTimeout || f.timeout > maxTimeout {
		return opt, usage("--timeout: %v is not between %v and %v", f.timeout, minTimeout, maxTimeout)
	}
	if f.features != "" {
		info, err := os.Stat(f.features)
		if err != nil {
			return opt, usage("--features: %v", err)
		}
		if !info.IsDir() {
			return opt, usage("--features: %s is not a folder", f.features)
		}
		opt.Own = os.DirFS(f.features)
	}
	for _, l := range f.lanes {
		lane := trace.Lane(l)
		if lane != trace.Virtual && lane != trace.Process {
			return opt, usage("--lane: %q is neither virtual nor process", l)
		}
		if !slices.Contains(opt.Lanes, lane) {
			opt.Lanes = append(opt.Lanes, lane)
		}
	}
	names, byDefault := f.transports, len(f.transports)+len(f.plugins)+len(f.subjects) == 0
	if byDefault {
		names = bundledNames()
	}
	seen := map[string]bool{}
	for _, name := range names {
		if bundled[name] == nil {
			return opt, usage("--transport: no bundled transport is called %q; there are: %s", name, strings.Join(bundledNames(), ", "))
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		command, err := host.Self(name)
		if err != nil {
			return opt, status{exitHarness, err}
		}
		opt.Subjects = append(opt.Subjects, certify.Subject{Name: name, Command: command, Bundled: true, Default: byDefault, Options: f.source("--transport " + name)})
	}
	if byDefault {
		opt.Subjects = append(opt.Subjects, simulators(true)...)
	}
	for _, p := range f.plugins {
		name, path, ok := strings.Cut(p, "=")
		if !ok || name == "" || path == "" {
			return opt, usage("--plugin: %q is not NAME=PATH", p)
		}
		if seen[name] {
			return opt, usage("--plugin: there is another transport called %q", name)
		}
		seen[name] = true
		if _, err := os.Stat(path); err != nil {
			return opt, usage("--plugin %s: %v", name, err)
		}
		opt.Subjects = append(opt.Subjects, certify.Subject{Name: name, Command: host.Command{Name: name, Path: path}, Options: f.source("--plugin " + quoted(p))})
	}
	return opt, nil
}

// source adds to the words that name a subject those that name the feature files.
func (f runFlags) source(words string) string {
	if f.features != "" {
		words += " --features " + quoted(f.features)
	}
	return words
}

// command is the line that repeats the whole run.
func (f runFlags) command() string {
	words := []string{"conform", "run"}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, quoted(value))
		}
	}
	add("--transport", strings.Join(f.transports, ","))
	for _, p := range f.plugins {
		add("--plugin", p)
	}
	for _, s := range f.subjects {
		add("--subject", s)
	}
	add("--baseline", f.baseline)
	add("--features", f.features)
	add("--tags", f.tags)
	add("--row", strings.Join(f.rows, ","))
	add("--scenario", f.scenario)
	add("--lane", strings.Join(f.lanes, ","))
	add("--seed", strconv.FormatUint(f.seed, 10))
	if f.strict {
		words = append(words, "--strict")
	}
	return strings.Join(words, " ")
}

// quoted makes a word of a shell command line.
func quoted(word string) string {
	plain := strings.IndexFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=,:@+", r))
	}) < 0
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
