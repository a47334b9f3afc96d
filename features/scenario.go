// Package features holds the scenarios: Gherkin for people, run over the real parts of conform in one of its lanes. A
// scenario acts and records; whether what it recorded is right is decided later, by a judge that this package does not
// know.
package features

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	gherkin "github.com/cucumber/gherkin/go/v42"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/features/steps"
	"github.com/conform-dev/conform/simulator/world"
)

//go:embed *.feature
var files embed.FS

// Scenario is one scenario of a feature file, known without running anything. An outline gives one per example row.
type Scenario struct {
	Name    string
	Feature string // title of its feature
	File    string // name of the feature file
	Line    int    // of the scenario, or of the example row; with File it names the scenario
	Tags    []string
	Rows    []string     // ledger rows that the tags name, for example GATE-001
	Wires   []string     // wires that the tags name, for example sse
	Lanes   []trace.Lane // lanes that give evidence, in the order of trace.Lanes

	Server bool // it examines a server; every other one a client

	lane bool // a step is one of the wake lane's
}

// only is how a tag begins that takes a scenario off the other wires of its feature: what it tells has no meaning there.
const only = "only-"

// Where is the place of s as people write it: gate.feature:12.
func (s Scenario) Where() string { return s.File + ":" + strconv.Itoa(s.Line) }

// server is the tag of a scenario that examines a server.
const server = "server"

// In says whether s plays a client in lane over wire.
func (s Scenario) In(lane trace.Lane, wire string) bool { return !s.Server && s.fits(lane, wire) }

// Examines says whether s examines a server of wire in lane.
func (s Scenario) Examines(lane trace.Lane, wire string) bool { return s.Server && s.fits(lane, wire) }

func (s Scenario) fits(lane trace.Lane, wire string) bool {
	return slices.Contains(s.Lanes, lane) && slices.Contains(s.Wires, wire)
}

// wires are the wires that a tag may name.
var wires = world.WireNames()

// rowTag is a tag that names a ledger row.
var rowTag = regexp.MustCompile(`^@([A-Z]+-[0-9]{3})$`)

// Scenarios lists every scenario in the order of file and line. An error is a fault of the feature files: one that does
// not parse, an unknown tag, a scenario without a row, wire, lane or step.
func Scenarios() ([]Scenario, error) { return list(files) }

// Sources is the text of every feature file by name: a report points at its lines.
func Sources() (map[string][]byte, error) { return sources(files) }

func list(from fs.FS) ([]Scenario, error) { return listAs(from, parse) }

// reader turns the text of one feature file into its scenarios.
type reader func(name string, text []byte) ([]Scenario, error)

func listAs(from fs.FS, read reader) ([]Scenario, error) {
	texts, err := sources(from)
	if err != nil {
		return nil, err
	}
	var out []Scenario
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		found, err := read(name, texts[name])
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	sort.SliceStable(out, func(i, k int) bool {
		return out[i].File < out[k].File || out[i].File == out[k].File && out[i].Line < out[k].Line
	})
	return out, nil
}

// parse reads one shipped file: every scenario names its row, wire and lanes.
func parse(name string, text []byte) ([]Scenario, error) {
	return scenarios(name, text, (*Scenario).tag, func(s *Scenario) error {
		for what, missing := range map[string]bool{"ledger row": len(s.Rows) == 0, "wire": len(s.Wires) == 0, "lane": len(s.Lanes) == 0} {
			if missing {
				return fmt.Errorf("%s: scenario %q has no tag that names a %s", s.Where(), s.Name, what)
			}
		}
		return nil
	})
}

// scenarios reads one feature file; tag files each tag of a scenario, once, and whole has the last word on it.
func scenarios(name string, text []byte, tag func(*Scenario, string) error, whole func(*Scenario) error) ([]Scenario, error) {
	n := 0
	id := func() string { n++; return strconv.Itoa(n) }
	doc, err := gherkin.ParseGherkinDocument(bytes.NewReader(text), id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []Scenario
	for _, p := range gherkin.Pickles(*doc, name, id) {
		s := Scenario{Name: p.Name, Feature: doc.Feature.Name, File: name, Line: int(p.Location.Line)}
		if len(p.Steps) == 0 {
			return nil, fmt.Errorf("%s: scenario %q has no steps", s.Where(), s.Name)
		}
		for _, st := range p.Steps {
			s.lane = s.lane || steps.OfLane(st.Text)
		}
		for _, t := range p.Tags {
			if slices.Contains(s.Tags, t.Name) {
				continue
			}
			s.Tags = append(s.Tags, t.Name)
			if err := tag(&s, t.Name); err != nil {
				return nil, err
			}
		}
		s.narrow()
		if err := whole(&s); err != nil {
			return nil, err
		}
		slices.SortFunc(s.Lanes, func(a, b trace.Lane) int {
			return slices.Index(trace.Lanes, a) - slices.Index(trace.Lanes, b)
		})
		out = append(out, s)
	}
	return out, nil
}

// narrow keeps of the wires those that the tags say the scenario is only about, if there are any.
func (s *Scenario) narrow() {
	about := func(wire string) bool { return slices.Contains(s.Tags, "@"+only+wire) }
	if slices.ContainsFunc(wires, about) {
		s.Wires = slices.DeleteFunc(slices.Clone(wires), func(wire string) bool { return !about(wire) })
	}
}

// tag files one tag. Whether its row exists is for the ledger check to say.
func (s *Scenario) tag(name string) error {
	word := strings.TrimPrefix(name, "@")
	switch {
	case rowTag.MatchString(name):
		s.Rows = append(s.Rows, word)
	case slices.Contains(wires, word):
		s.Wires = append(s.Wires, word)
	case word == server:
		s.Server = true
	case slices.Contains(wires, strings.TrimPrefix(word, only)): // narrow reads it when all tags are known
	case slices.Contains(trace.Lanes, trace.Lane(word)):
		s.Lanes = append(s.Lanes, trace.Lane(word))
	default:
		return fmt.Errorf("%s: unknown tag %s", s.Where(), name)
	}
	return nil
}
