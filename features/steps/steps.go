// Package steps binds the phrases of the feature files to a stage. A step acts, waits or writes down what a scenario
// expects; it never decides whether that holds, and it returns an error only for what the harness could not do.
package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/features/stage"
	"github.com/conform-dev/conform/simulator/world"
)

// MaxPhrases bounds the vocabulary: a person who reads the features learns it once, for every wire.
const MaxPhrases = 40

// play is one scenario while it runs.
type play struct {
	stage  stage.Stage
	setup  stage.Setup
	served bool
}

// serve starts the server before the first step that needs it: what is given is complete by then.
func (p *play) serve(ctx context.Context) error {
	if p.served {
		return nil
	}
	p.served = true
	return p.stage.Serve(ctx, p.setup)
}

// on is a step that acts on the running world.
func (p *play) on(do func(ctx context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := p.serve(ctx); err != nil {
			return err
		}
		return do(ctx)
	}
}

// onNumber is the same with one number out of the step's text.
func (p *play) onNumber(do func(ctx context.Context, n event.Seq) error) func(context.Context, string) error {
	return func(ctx context.Context, text string) error {
		n, err := number(text)
		if err != nil {
			return err
		}
		return p.on(func(ctx context.Context) error { return do(ctx, n) })(ctx)
	}
}

// phrase is one step people can write.
type phrase struct {
	text string
	do   any
}

// Bind registers every phrase for one scenario that is played on s.
func Bind(sc *godog.ScenarioContext, s stage.Stage) {
	p := &play{stage: s, setup: world.DefaultSetup()}
	for _, ph := range slices.Concat(p.phrases(), p.laneWhen(), p.laneThen()) {
		sc.Step("^"+ph.text+"$", ph.do)
	}
}

// Phrases lists the vocabulary of a feed as patterns, for documentation and its test.
func Phrases() []string {
	var out []string
	for _, ph := range (&play{}).phrases() {
		out = append(out, ph.text)
	}
	return out
}

func (p *play) phrases() []phrase {
	return append(append(p.given(), p.when()...), p.then()...)
}

// expect records an expectation; args come in pairs of name and value, and an empty value is left out.
func (p *play) expect(e trace.Expectation, pairs ...string) error {
	args := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			args[pairs[i]] = pairs[i+1]
		}
	}
	return p.stage.Expect(e, args)
}

// number reads an exact number as the trace writes it.
func number(text string) (event.Seq, error) { return trace.ParseSeq(strings.ReplaceAll(text, ",", "")) }

// plain drops the commas of people from a number.
func plain(text string) string { return strings.ReplaceAll(text, ",", "") }

// events checks and unquotes a list of events.
func events(text string) (string, error) {
	if text == "nothing" {
		return "", nil
	}
	if _, err := trace.ParseEvents(text); err != nil {
		return "", err
	}
	return text, nil
}

// table reads a table whose first row names its columns.
func table(t *godog.Table, columns ...string) ([]map[string]string, error) {
	if t == nil || len(t.Rows) < 2 {
		return nil, fmt.Errorf("a table with the columns %s is missing", strings.Join(columns, ", "))
	}
	known := map[string]bool{}
	for _, c := range columns {
		known[c] = true
	}
	for _, c := range t.Rows[0].Cells {
		if !known[c.Value] {
			return nil, fmt.Errorf("unknown column %q, known are %s", c.Value, strings.Join(columns, ", "))
		}
	}
	var out []map[string]string
	for _, r := range t.Rows[1:] {
		row := map[string]string{}
		for i, c := range r.Cells {
			row[t.Rows[0].Cells[i].Value] = c.Value
		}
		out = append(out, row)
	}
	return out, nil
}
