package features

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/features/steps"
	"github.com/conform-dev/conform/simulator/world"
)

// Limits of a folder of a user's own feature files: far above any suite that people write by hand, and low enough that a
// wrong folder is noticed at once.
const (
	MaxOwnFiles = 1000
	MaxOwnBytes = 1 << 20 // one file
	// MaxOwnLine bounds a line: the parser reads no longer ones, and panics over them.
	MaxOwnLine = bufio.MaxScanTokenSize - 1
)

// Own lists the scenarios of a user's feature files: every *.feature file in dir and its folders. They need no tags: one
// that names no wire runs on every wire with a feed or, with a step of the wake lane, there; one that names no lane in the virtual and the process lane, and any other tag is
// the user's. An error names the file, and the line where there is one: a file that does not parse, a scenario without a
// step, no scenario at all, more than MaxOwnFiles, a file above MaxOwnBytes, a line above
// MaxOwnLine.
func Own(dir fs.FS) ([]Scenario, error) {
	all, err := listAs(dir, parseOwn)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("no *.feature file has a scenario")
	}
	return all, nil
}

// parseOwn reads one file of a user.
func parseOwn(name string, text []byte) ([]Scenario, error) {
	return scenarios(name, text, func(s *Scenario, tag string) error {
		word := strings.TrimPrefix(tag, "@")
		for _, w := range wires {
			if w == word {
				s.Wires = append(s.Wires, word)
			}
		}
		for _, l := range ownLanes {
			if string(l) == word {
				s.Lanes = append(s.Lanes, l)
			}
		}
		return nil
	}, func(s *Scenario) error {
		if len(s.Wires) == 0 {
			s.Wires = feeds // or, where a step is about a wake lane, that
			if s.lane {
				s.Wires = []string{transport.FleetWake}
			}
		}
		if len(s.Lanes) == 0 {
			s.Lanes = ownLanes
		}
		return nil
	})
}

// feeds are the wires that bring a feed: each phrase of one fits every such wire.
var feeds = slices.DeleteFunc(world.WireNames(), func(wire string) bool { return wire == transport.FleetWake })

// ownLanes are the lanes that this package has a stage for.
var ownLanes = []trace.Lane{trace.Virtual, trace.Process}

// sources reads every feature file below dir, by its path there.
func sources(dir fs.FS) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || !strings.HasSuffix(path, ".feature") {
			return nil
		}
		if len(out) == MaxOwnFiles {
			return fmt.Errorf("more than %d feature files", MaxOwnFiles)
		}
		if info, err := d.Info(); err != nil {
			return err
		} else if info.Size() > MaxOwnBytes {
			return fmt.Errorf("%s: %d bytes, limit %d", path, info.Size(), MaxOwnBytes)
		}
		if out[path], err = fs.ReadFile(dir, path); err != nil {
			return err
		}
		n := 0
		for line := range bytes.Lines(out[path]) {
			if n++; len(line) > MaxOwnLine {
				return fmt.Errorf("%s:%d: a line of %d bytes, limit %d", path, n, len(line), MaxOwnLine)
			}
		}
		return nil
	})
	return out, err
}

// Phrase is one step that a scenario may use, with a real use of it.
type Phrase struct {
	Keyword string `json:"keyword"` // Given, When or Then
	Pattern string `json:"pattern"` // regular expression
	Example string `json:"example"`
	Where   string `json:"where"` // of the example: file and line
}

// Phrases lists the vocabulary, each phrase with its first use in the shipped features.
func Phrases() ([]Phrase, error) {
	texts, err := sources(files)
	if err != nil {
		return nil, err
	}
	var out []Phrase
	for _, w := range steps.Words() {
		p := Phrase{Keyword: w.Keyword, Pattern: w.Pattern}
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			if p.Example == "" {
				p.Example, p.Where = use(w, name, texts[name])
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// use finds the first line of a feature file that uses w.
func use(w steps.Word, name string, text []byte) (example, where string) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		keyword, step, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && slices.Contains([]string{"Given", "When", "Then", "And", "But"}, keyword) && !strings.Contains(step, "<") && w.Match(step) {
			return step, name + ":" + strconv.Itoa(n)
		}
	}
	return "", ""
}
