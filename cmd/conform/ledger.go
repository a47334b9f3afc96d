package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/features"
)

func newLedger() *cobra.Command {
	c := &cobra.Command{
		Use:   "ledger",
		Short: "Check the contract ledger",
		Args:  cobra.NoArgs,
		RunE:  help,
	}
	c.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Fail on a row without evidence, a scenario without a row, an unknown tag, a sentence that nothing answers for",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, scenarios, err := contract()
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			problems := l.Check(scenarios)
			for _, p := range problems {
				fmt.Fprintln(out, p)
			}
			fmt.Fprintln(out, sums(l.Count(), len(scenarios)))
			if u := l.Unproven(); len(u) > 0 {
				fmt.Fprintf(out, "%d rows are unproven (no deliberate defect is known to break them): %s\n", len(u), strings.Join(u, " "))
			}
			if len(problems) > 0 {
				return status{exitFailed, fmt.Errorf("the ledger has %d problems", len(problems))}
			}
			return nil
		},
	})
	return c
}

// sums says in one line how the contract's sentences are answered.
func sums(c ledger.Counts, scenarios int) string {
	line := fmt.Sprintf("%d rows, %d scenarios; %d normative sentences: %d with a row, %d excluded with a reason", c.Rows, scenarios, c.Normative, c.WithRow, c.Excluded)
	if len(c.Later) > 0 {
		var topics []string
		for _, t := range c.Later {
			topics = append(topics, fmt.Sprintf("%s %d", t.Name, t.Sentences))
		}
		line += fmt.Sprintf(", %d left to later work (%s)", c.Waiting(), strings.Join(topics, ", "))
	}
	if c.Open > 0 {
		line += fmt.Sprintf(", %d open", c.Open)
	}
	return line
}

// contract loads the ledger and the scenarios. An error is a defect of the build.
func contract() (*ledger.Ledger, []ledger.Scenario, error) {
	l, err := ledger.Load()
	if err != nil {
		return nil, nil, status{exitHarness, fmt.Errorf("the built-in ledger: %w", err)}
	}
	found, err := features.Scenarios()
	if err != nil {
		return nil, nil, status{exitHarness, fmt.Errorf("the built-in features: %w", err)}
	}
	scenarios := make([]ledger.Scenario, len(found))
	for i, s := range found {
		scenarios[i] = ledger.Scenario{Name: s.Name, File: s.File, Line: s.Line, Tags: s.Tags}
	}
	return l, scenarios, nil
}
