// Package certify runs the contract on subjects: it picks scenarios, lets the features play them in each lane, has the
// judge read the traces and fills a report. It decides nothing itself.
package certify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/judge"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/report"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/features"
	"github.com/conform-dev/conform/features/probe"
)

// Subject is a transport or a server to certify.
type Subject struct {
	Name    string
	Command host.Command // how a transport's process is started
	Server  *Server      // a server: nothing is started for it but what it says itself
	Bundled bool         // one of ours: the virtual lane runs its machine in this process
	Default bool         // nobody named it: where nothing is to be run on it, it is left out
	Options string       // the command line words that name it, for the line that repeats a case
}

// Server is a server to examine.
type Server struct {
	Version string
	Wire    string
	Can     []string                                     // what can be examined: a row that requires more is not claimed
	Claims  []string                                     // profiles of the rows that it is held to; empty: all that it can
	Shared  bool                                         // it is one server for all scenarios: they are played one after the other
	Begin   func(context.Context) (*probe.Target, error) // for each scenario
	Timeout time.Duration                                // of one scenario, where the run names none and its windows are long; 0: none
}

// examines says whether s is held to row at all.
func (s *Server) examines(row *ledger.Row) bool {
	return row.Actor == "server" && probe.Missing(s.Can, row.Requires) == "" &&
		(len(s.Claims) == 0 || slices.ContainsFunc(row.Profiles, func(p string) bool { return slices.Contains(s.Claims, p) }))
}

// parallel is how many scenarios of the process lane are played at once. On two cores more gain nothing: starting a plugin
// is the only thing in them that computes.
const parallel = 3

// Options say what is run.
type Options struct {
	Subjects []Subject
	Own      fs.FS        // a user's own feature files instead of the shipped ones
	Tags     string       // tag expression, empty selects everything
	Rows     []string     // ledger rows, empty selects all
	Scenario string       // FILE:LINE of one scenario, empty selects all
	Lanes    []trace.Lane // empty means virtual and process
	Seed     uint64
	Timeout  time.Duration // per scenario; 0 means features.DefaultTimeout
	Strict   bool
	Version  string
	Command  string // repeats the whole run
	// Progress, if set, is told of each scenario when it begins (nil results) and of its results when it is over.
	Progress func(subject Subject, lane trace.Lane, s features.Scenario, results []report.Result)
}

// ErrSelection is wrapped by errors of what was asked for: an unknown row, tag, scenario or lane, a transport that cannot
// be started, a selection that is empty (exit code 2, D-63).
var ErrSelection = errors.New("selection")

// selection makes an ErrSelection of a sentence.
func selection(format string, args ...any) error {
	return selectionError{fmt.Sprintf(format, args...)}
}

type selectionError struct{ text string }

func (e selectionError) Error() string        { return e.text }
func (e selectionError) Is(target error) bool { return target == ErrSelection }

// Run runs what is asked for. When ctx ends it returns what is done, marked partial, and no error. An error wraps
// ErrSelection, or says that the harness could not run.
func Run(ctx context.Context, opt Options) (report.Run, error) {
	started := time.Now()
	r := &runner{opt: opt, run: report.Run{Version: opt.Version, Started: started, Command: opt.Command, Seed: opt.Seed, Strict: opt.Strict}}
	if err := r.prepare(); err != nil {
		return r.run, err
	}
	for _, s := range opt.Subjects {
		err := r.subject(ctx, s)
		if ctx.Err() != nil {
			r.run.Partial = true
			break
		}
		if err != nil {
			return r.run, err
		}
	}
	if !r.run.Partial && len(r.run.Results) == 0 {
		return r.run, selection("nothing to run: no scenario fits the transports, rows, tags and lanes asked for")
	}
	r.unproven()
	r.run.Duration = time.Since(started)
	return r.run, nil
}

// runner is one Run.
type runner struct {
	opt       Options
	ledger    *ledger.Ledger
	scenarios []features.Scenario
	tags      *ledger.TagExpr
	run       report.Run
}

func (r *runner) prepare() error {
	var err error
	if r.ledger, err = ledger.Load(); err != nil {
		return err
	}
	known := r.ledger.Tags()
	if r.opt.Own != nil {
		if r.scenarios, err = features.Own(r.opt.Own); err != nil {
			return selection("--features: %v", err)
		}
		known = r.own(known)
	} else if r.scenarios, err = features.Scenarios(); err != nil {
		return err
	}
	if r.opt.Tags != "" {
		if r.tags, err = ledger.ParseTags(r.opt.Tags, known); err != nil {
			return selection("--tags: %v", err)
		}
	}
	for _, id := range r.opt.Rows {
		if r.ledger.Find(id) == nil {
			return selection("--row: there is no row %s; `conform list` shows all", id)
		}
	}
	if len(r.opt.Lanes) == 0 {
		r.opt.Lanes = []trace.Lane{trace.Virtual, trace.Process}
	}
	if r.opt.Scenario != "" && !slices.ContainsFunc(r.scenarios, func(s features.Scenario) bool { return s.Where() == r.opt.Scenario }) {
		return selection("--scenario: there is none at %s; `conform list` shows all", r.opt.Scenario)
	}
	return nil
}

// own replaces the ledger by one row per scenario of a user's feature files: their authority is the file, they must hold,
// and what they expect is all there is to see. It returns the tags that the scenarios may be selected by.
func (r *runner) own(known []string) []string {
	rows := make([]ledger.Row, len(r.scenarios))
	for i := range r.scenarios {
		s := &r.scenarios[i]
		id := fmt.Sprintf("OWN-%03d", i+1)
		row := ledger.Row{ID: id, Title: s.Name, Surface: "own", Behaviour: s.Name, Level: ledger.Must, Actor: "transport",
			Profiles: []string{"own"}, Wires: s.Wires, Evidence: []string{s.Name}, File: s.File, Line: s.Line,
			Authority: []ledger.Authority{{Rule: s.Where()}}}
		for _, l := range s.Lanes {
			row.Lanes = append(row.Lanes, string(l))
		}
		rows[i], s.Rows = row, []string{id}
		known = append(known, s.Tags...)
	}
	r.ledger.Rows = rows
	return known
}

// selected says whether a scenario was asked for.
func (r *runner) selected(s features.Scenario) bool {
	return r.tags.Match(s.Tags) &&
		(r.opt.Scenario == "" || s.Where() == r.opt.Scenario) &&
		(len(r.opt.Rows) == 0 || slices.ContainsFunc(s.Rows, func(id string) bool { return slices.Contains(r.opt.Rows, id) }))
}

// subject certifies one transport in every lane that it has.
func (r *runner) subject(ctx context.Context, s Subject) error {
	d := transport.Descriptor{}
	if s.Server != nil {
		d.Wire, d.Version = s.Server.Wire, s.Server.Version
	} else {
		var err error
		if d, err = r.describe(ctx, s); err != nil {
			return err
		}
	}
	wire := d.Wire
	if claimed := r.claim(s, wire); claimed == 0 {
		if s.Default {
			return nil
		}
		return r.nothing(s, wire)
	}
	r.run.Subjects = append(r.run.Subjects, report.Subject{Name: s.Name, Version: d.Version, Wire: wire})
	for _, lane := range r.opt.Lanes {
		if lane == trace.Virtual && (!s.Bundled || s.Server != nil) {
			continue // the virtual lane runs our own machine: nothing of this subject would take part
		}
		if !slices.Contains(r.run.Lanes, lane) {
			r.run.Lanes = append(r.run.Lanes, lane)
		}
		opt := features.Options{Own: r.opt.Own, Filter: r.selected, Lane: lane, Wire: wire, Seed: r.opt.Seed, Timeout: r.opt.Timeout, Plugin: s.Command}
		if s.Server != nil {
			opt.Server, opt.Filter = s.Server.Begin, r.examined(s.Server)
			if opt.Timeout == 0 || opt.Timeout == features.DefaultTimeout {
				opt.Timeout = max(features.DefaultTimeout, s.Server.Timeout)
			}
		}
		if lane == trace.Process && (s.Server == nil || !s.Server.Shared) {
			opt.Parallel = parallel // such scenarios mostly wait; the others only compute
		}
		judged := map[string][]report.Result{}
		opt.Progress = func(sc features.Scenario, done *features.ScenarioRun) {
			if done != nil {
				judged[sc.Where()] = r.judge(s, done)
			}
			if r.opt.Progress != nil {
				r.opt.Progress(s, lane, sc, judged[sc.Where()])
			}
		}
		runs, err := features.Run(ctx, opt)
		for i := range runs {
			r.run.Results = append(r.run.Results, judged[runs[i].Scenario.Where()]...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// examined selects what a server is held to: of what was asked for, scenarios of a row that it can be held to.
func (r *runner) examined(s *Server) func(features.Scenario) bool {
	return func(sc features.Scenario) bool {
		return r.selected(sc) && slices.ContainsFunc(sc.Rows, func(id string) bool {
			row := r.ledger.Find(id)
			return row != nil && s.examines(row)
		})
	}
}

// plays says whether a scenario is for the subject in lane.
func (s *Subject) plays(sc features.Scenario, lane trace.Lane, wire string) bool {
	if s.Server != nil {
		return sc.Examines(lane, wire)
	}
	return sc.In(lane, wire)
}

// held says whether the subject is held to row.
func (s *Subject) held(row *ledger.Row) bool {
	return s.Server == nil && row.Actor != "server" || s.Server != nil && s.Server.examines(row)
}

// describe starts the subject once and asks what it is: a transport that cannot even be started is a mistake in the call.
func (r *runner) describe(ctx context.Context, s Subject) (d transport.Descriptor, err error) {
	p, err := host.Start(ctx, s.Command)
	if err != nil {
		if ctx.Err() != nil {
			return d, ctx.Err()
		}
		return d, selection("%v", err)
	}
	defer p.Close()
	if d, err = p.Describe(ctx); err != nil {
		return d, selection("%v", err)
	}
	return d, nil
}

// nothing is the error of a transport that somebody named and that nothing would be run on: a report that lists it beside
// others that passed would be read as if it had passed too.
func (r *runner) nothing(s Subject, wire string) error {
	var wires []string
	for _, sc := range r.scenarios {
		wires = append(wires, sc.Wires...)
	}
	slices.Sort(wires)
	wires = slices.Compact(wires)
	if !slices.Contains(wires, wire) {
		return selection("nothing to run: %s speaks %q; there are scenarios for: %s", s.Name, wire, strings.Join(wires, ", "))
	}
	return selection("nothing to run: no scenario on %s fits the rows, tags and lanes asked for (the virtual lane is for bundled transports)", s.Name)
}

// claim notes the rows that the selection promises an outcome for, and counts them: one without a result is not-exercised
// (D-61).
func (r *runner) claim(s Subject, wire string) (claimed int) {
	for i := range r.ledger.Rows {
		row := &r.ledger.Rows[i]
		if !row.On(wire) || !s.held(row) || row.Exclusion != "" || len(r.opt.Rows) > 0 && !slices.Contains(r.opt.Rows, row.ID) {
			continue
		}
		if slices.ContainsFunc(r.scenarios, func(sc features.Scenario) bool {
			return slices.Contains(sc.Rows, row.ID) && r.selected(sc) && slices.ContainsFunc(r.opt.Lanes, func(l trace.Lane) bool {
				return row.In(string(l)) && s.plays(sc, l, wire) && (l != trace.Virtual || s.Bundled && s.Server == nil)
			})
		}) {
			r.run.Claimed = append(r.run.Claimed, report.Claim{Row: row.ID, Level: row.Level, Subject: s.Name})
			claimed++
		}
	}
	return claimed
}

// judge reads the trace of one scenario for each row that it is evidence for.
func (r *runner) judge(s Subject, done *features.ScenarioRun) []report.Result {
	var out []report.Result
	for _, id := range r.rowsOf(done.Scenario) {
		row := r.ledger.Find(id)
		if row == nil || !row.On(done.Wire) || !s.held(row) || !row.In(string(done.Lane)) || len(r.opt.Rows) > 0 && !slices.Contains(r.opt.Rows, id) {
			continue
		}
		out = append(out, report.Result{
			Row: row, Scenario: done.Scenario.Name, File: done.Scenario.File, Line: done.Scenario.Line,
			Subject: s.Name, Wire: done.Wire, Lane: done.Lane, SelfCheck: done.Lane == trace.Virtual,
			Outcome: judge.Judge(done.Records, row, done.Lane), Seed: done.Seed, Duration: done.Took,
			Repeat:  r.repeat(s, done),
			Records: done.Records,
		})
	}
	return out
}

// rowsOf are the rows that a scenario is evidence for. The features do not know those that were made for a user's own ones.
func (r *runner) rowsOf(played features.Scenario) []string {
	for _, s := range r.scenarios {
		if s.Where() == played.Where() {
			return s.Rows
		}
	}
	return nil
}

// repeat is the command that runs just this case again.
func (r *runner) repeat(s Subject, done *features.ScenarioRun) string {
	return strings.Join([]string{"conform run", s.Options, "--scenario", done.Scenario.Where(), "--lane", string(done.Lane),
		"--seed", strconv.FormatUint(done.Seed, 10)}, " ")
}

// unproven lists the rows of this run that no known defect breaks (law 5).
func (r *runner) unproven() {
	if r.opt.Own != nil {
		return // nobody writes defects against a user's own scenarios
	}
	for _, id := range r.ledger.Unproven() {
		if slices.ContainsFunc(r.run.Results, func(res report.Result) bool { return res.Row.ID == id }) {
			r.run.Unproven = append(r.run.Unproven, id)
		}
	}
}
