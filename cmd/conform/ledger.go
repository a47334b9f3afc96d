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
			normative, excluded := 0, 0
			for _, s := range l.Sentences {
				if s.Normative {
					normative++
				}
			}
			for _, e := range l.Exclusions {
				excluded += len(e.Sentences)
			}
			fmt.Fprintf(out, "%d rows, %d scenarios; %d normative sentences: %d with a row, %d excluded with a reason\n", len(l.Rows), len(scenarios), normative, normative-excluded, excluded)
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
