package features

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cucumber/godog"

	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/features/probe"
	"github.com/conform-dev/conform/features/stage"
	"github.com/conform-dev/conform/features/steps"
	"github.com/conform-dev/conform/simulator/world"
)

// DefaultTimeout bounds one scenario in real time. The slowest honest one waits for a Retry-After of one second; a broken
// subject makes several waits of stage.Patience run out.
const DefaultTimeout = 20 * time.Second

// MaxParallel bounds Options.Parallel: a scenario of the process lane is a plugin, a server and their sockets.
const MaxParallel = 16

// Options says what Run runs.
type Options struct {
	Own     fs.FS               // a user's feature files; nil runs the shipped ones
	Filter  func(Scenario) bool // nil runs every scenario of the lane
	Lane    trace.Lane
	Wire    string
	Seed    uint64        // makes the schedule of every scenario (law 2)
	Timeout time.Duration // per scenario, in real time; DefaultTimeout
	Plugin  host.Command  // how the transport's process is started: process lane
	// Server, if set, is what makes the server to examine, for each scenario: those that play a client are left out then.
	Server func(context.Context) (*probe.Target, error)
	// Parallel is how many scenarios are played at once: 1, at most MaxParallel. They share nothing but the machine.
	Parallel int
	// Progress, if set, is told of every scenario when it begins (nil run) and when it is over, one call at a time.
	Progress func(Scenario, *ScenarioRun)
}

// ScenarioRun is what one scenario left behind. There is no verdict in it.
type ScenarioRun struct {
	Scenario   Scenario
	Lane       trace.Lane
	Wire       string
	Seed       uint64
	Records    []trace.Record
	Started    time.Time
	Took       time.Duration
	StepErrors []string // what the harness could not do; any makes the outcome an error
	// Schedule is the run as data, in the virtual lane: world.Run plays it again without its seed and without the scenario.
	Schedule *world.Schedule
}

// running keeps suites apart: godog keeps state of a run in the environment of the process.
var running sync.Mutex

// Run runs the scenarios of one lane and returns one run for each that is over, in the order of their files and lines. When
// ctx ends it returns those that are done, and ctx's error. Any other error is a harness that could not run at all.
func Run(ctx context.Context, opt Options) ([]ScenarioRun, error) {
	if opt.Own != nil {
		return runFrom(ctx, opt.Own, parseOwn, opt)
	}
	return runFrom(ctx, files, parse, opt)
}

func runFrom(ctx context.Context, from fs.FS, read reader, opt Options) ([]ScenarioRun, error) {
	all, err := listAs(from, read)
	if err != nil {
		return nil, err
	}
	if opt.Timeout == 0 {
		opt.Timeout = DefaultTimeout
	}
	if opt.Parallel == 0 {
		opt.Parallel = 1
	}
	if opt.Parallel < 1 || opt.Parallel > MaxParallel {
		return nil, fmt.Errorf("parallel: %d is not in 1 to %d", opt.Parallel, MaxParallel)
	}
	r := &runner{opt: opt, stopped: func() bool { return ctx.Err() != nil }, chosen: map[string]Scenario{}}
	for _, s := range all {
		fits := s.In
		if opt.Server != nil {
			fits = s.Examines
		}
		if fits(opt.Lane, opt.Wire) && (opt.Filter == nil || opt.Filter(s)) {
			r.chosen[s.Where()] = s
		}
	}
	if len(r.chosen) == 0 {
		return nil, nil
	}
	if r.contents, err = contents(from, r.chosen); err != nil {
		return nil, err
	}
	running.Lock()
	defer running.Unlock()
	// The status that godog answers is no verdict: an undefined step or a skip may read as success there.
	godog.TestSuite{
		Name:                "conform",
		ScenarioInitializer: r.scenario,
		Options: &godog.Options{Format: "progress", Output: io.Discard, NoColors: true, Strict: true, Concurrency: opt.Parallel,
			FeatureContents: r.contents, DefaultContext: ctx},
	}.Run()
	slices.SortFunc(r.runs, func(a, b ScenarioRun) int {
		return cmp.Or(cmp.Compare(a.Scenario.File, b.Scenario.File), cmp.Compare(a.Scenario.Line, b.Scenario.Line))
	})
	if err := ctx.Err(); err != nil {
		return r.runs, err
	}
	if len(r.runs) != len(r.chosen) {
		return r.runs, fmt.Errorf("%d of %d scenarios ran", len(r.runs), len(r.chosen))
	}
	return r.runs, nil
}

// contents are the feature files that hold a chosen scenario.
func contents(from fs.FS, chosen map[string]Scenario) ([]godog.Feature, error) {
	texts, err := sources(from)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, s := range chosen {
		used[s.File] = true
	}
	var out []godog.Feature
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if used[name] {
			out = append(out, godog.Feature{Name: name, Contents: texts[name]})
		}
	}
	return out, nil
}

// runner is one run of godog.
type runner struct {
	opt      Options
	chosen   map[string]Scenario
	contents []godog.Feature
	stopped  func() bool // the run was interrupted; a step's own context need not show it

	mu   sync.Mutex // scenarios end when they like
	runs []ScenarioRun
}

// tell reports progress, one call at a time.
func (r *runner) tell(s Scenario, done *ScenarioRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if done != nil {
		r.runs = append(r.runs, *done)
	}
	if r.opt.Progress != nil {
		r.opt.Progress(s, done)
	}
}

// scenario wires up one scenario. godog calls it for each, also for those that were not chosen.
func (r *runner) scenario(sc *godog.ScenarioContext) {
	one := &scene{runner: r}
	sc.Before(one.begin)
	sc.StepContext().Before(one.step)
	sc.StepContext().After(one.stepped)
	sc.After(one.end)
	if r.opt.Server != nil {
		examiner := probe.New(r.opt.Server)
		one.stage = examiner
		probe.Bind(sc, examiner)
		return
	}
	played, err := stage.New(r.opt.Lane, stage.Options{Wire: r.opt.Wire, Seed: r.opt.Seed, Plugin: r.opt.Plugin})
	one.stage, one.broken = played, err
	steps.Bind(sc, played)
}

// player is what a scenario is played on.
type player interface {
	Step(text string)
	Records() []trace.Record
	Close() error
}

// scene is one scenario while it runs.
type scene struct {
	*runner
	stage  player
	broken error // there is no stage
	run    ScenarioRun
	active bool
	cancel context.CancelFunc
}

// errLeftOut makes godog skip a scenario that was not asked for. Nothing is recorded of it.
var errLeftOut = fmt.Errorf("not selected: %w", godog.ErrSkip)

func (s *scene) begin(ctx context.Context, p *godog.Scenario) (context.Context, error) {
	sc, ok := s.chosen[p.Uri+":"+strconv.FormatInt(p.Location.Line, 10)]
	if !ok || ctx.Err() != nil {
		return ctx, errLeftOut
	}
	if s.broken != nil {
		return ctx, s.broken
	}
	s.active = true
	s.run = ScenarioRun{Scenario: sc, Lane: s.opt.Lane, Wire: s.opt.Wire, Seed: s.opt.Seed, Started: time.Now()}
	s.tell(sc, nil)
	ctx, s.cancel = context.WithTimeout(ctx, s.opt.Timeout)
	if p, ok := s.stage.(*probe.Probe); ok {
		if err := p.Begin(ctx); err != nil {
			s.run.StepErrors = append(s.run.StepErrors, "the server to examine: "+err.Error())
			return ctx, err
		}
	}
	return ctx, nil
}

func (s *scene) step(ctx context.Context, st *godog.Step) (context.Context, error) {
	if s.active {
		s.stage.Step(st.Text)
	}
	return ctx, nil
}

// stepped keeps what went wrong with a step. A step that did not pass for any reason is a fault of the harness: steps
// never judge.
func (s *scene) stepped(ctx context.Context, st *godog.Step, status godog.StepResultStatus, err error) (context.Context, error) {
	if !s.active || status == godog.StepPassed {
		return ctx, nil
	}
	if status == godog.StepSkipped && len(s.run.StepErrors) > 0 && err == nil {
		return ctx, nil // behind the step that broke
	}
	why := status.String()
	if err != nil && !errors.Is(err, godog.ErrUndefined) {
		why = err.Error()
	}
	s.run.StepErrors = append(s.run.StepErrors, fmt.Sprintf("step %q: %s", st.Text, why))
	return ctx, nil
}

func (s *scene) end(ctx context.Context, _ *godog.Scenario, _ error) (context.Context, error) {
	if !s.active {
		return ctx, nil
	}
	interrupted := s.stopped()
	s.cancel()
	if err := s.stage.Close(); err != nil {
		s.run.StepErrors = append(s.run.StepErrors, "close: "+err.Error())
	}
	if v, ok := s.stage.(interface{ Schedule() *world.Schedule }); ok {
		s.run.Schedule = v.Schedule()
	}
	s.run.Took = time.Since(s.run.Started)
	s.run.Records = s.stage.Records()
	for _, text := range s.run.StepErrors { // in the trace as well: it alone is judged, now and later
		r := trace.New(trace.Stage, trace.StageBroken)
		r.N, r.Detail = len(s.run.Records)+1, text
		s.run.Records = append(s.run.Records, r)
	}
	if interrupted {
		return ctx, nil // a scenario that was cut off proves nothing: it is left out
	}
	s.tell(s.run.Scenario, &s.run)
	return ctx, nil
}
