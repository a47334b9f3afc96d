package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// modelLives is how many random gate lives the comparison runs per mutant. A life is about 100 inputs, so this stays below
// 100,000 inputs.
const modelLives = "990"

// patience bounds one build, test or run: a mutant may make the product wait for something that never comes.
const patience = 3 * time.Minute

func main() {
	only := flag.String("only", "", "name of one mutant")
	flag.Parse()
	if err := prove(*only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

// prove runs every mutant, or one, and prints a table. An error names the mutants that somebody did not find.
func prove(only string, out io.Writer) error {
	mutants, err := Mutants()
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "conform-prove-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(out, "%-30s %-28s %s\n", "mutant", "model comparison", "conform run")
	var missed []string
	ran, twice := 0, 0
	for _, m := range mutants {
		if only != "" && m.Name != only {
			continue
		}
		ran++
		overlay, err := m.Apply(root, dir)
		if err != nil {
			return err
		}
		model, ok1 := "-", true
		if m.ByModel() {
			model, ok1 = byModel(overlay)
		}
		row, ok2 := byRow(m, overlay, dir)
		fmt.Fprintf(out, "%-30s %-28s %s\n", m.Name, model, row)
		if m.ByModel() {
			twice++
		}
		if !ok1 || !ok2 {
			missed = append(missed, m.Name)
		}
	}
	if ran == 0 {
		return fmt.Errorf("no mutant is called %q", only)
	}
	if len(missed) > 0 {
		return fmt.Errorf("not found: %s", strings.Join(missed, ", "))
	}
	fmt.Fprintf(out, "%d mutants, each found by its row; %d of them are in the gate, each found by the model as well\n", ran, twice)
	return nil
}

var after = regexp.MustCompile(`failed after ([0-9]+) tests`)

// byModel runs the comparison with the reference model on the broken gate.
func byModel(overlay string) (said string, found bool) {
	text, err := command("go", "test", "-overlay", overlay, "-count=1", "-run", "^TestAgreesWithOracle$", "./core/gate", "-lives", modelLives, "-rapid.nofailfile")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "NOT FOUND", false
	case !errors.As(err, &exit) || !strings.Contains(text, "--- FAIL: TestAgreesWithOracle"):
		return "broken: " + first(text, err), false
	}
	if m := after.FindStringSubmatch(text); m != nil {
		return "found in life " + m[1], true
	}
	return "found", true
}

// byRow runs the scenarios of the mutant's row with a binary that has the broken gate in it, and wants that row to fail.
func byRow(m Mutant, overlay, dir string) (said string, found bool) {
	binary := filepath.Join(dir, m.Name)
	if text, err := command("go", "build", "-overlay", overlay, "-o", binary, "./cmd/conform"); err != nil {
		return "broken: " + first(text, err), false
	}
	text, err := command(binary, "run", "--row", m.Row, "--out", filepath.Join(dir, "out-"+m.Name))
	var exit *exec.ExitError
	switch {
	case err == nil:
		return m.Row + " PASSED", false
	case !errors.As(err, &exit) || exit.ExitCode() != 1:
		return "broken: " + first(text, err), false
	case !strings.Contains(text, m.Row):
		return "failed without naming " + m.Row, false
	}
	return m.Row + " failed, exit 1", true
}

func command(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = 5 * time.Second
	text, err := c.CombinedOutput()
	return string(text), err
}

func first(text string, err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line == "" {
		return err.Error()
	}
	return line
}
