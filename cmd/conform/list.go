package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/features"
)

// listing is what `conform list --json` prints.
type listing struct {
	Rows       []listedRow      `json:"rows"`
	Scenarios  []listedScenario `json:"scenarios"`
	Profiles   []string         `json:"profiles"`
	Transports []string         `json:"transports"`
	Tags       []string         `json:"tags"`
}

type listedRow struct {
	ID        string   `json:"id"`
	Level     string   `json:"level"`
	Title     string   `json:"title"`
	Authority []string `json:"authority"`
	Profiles  []string `json:"profiles"`
	Lanes     []string `json:"lanes"`
	Wires     []string `json:"wires"`
	Scenarios int      `json:"scenarios"`
}

type listedScenario struct {
	Name  string   `json:"name"`
	Where string   `json:"where"`
	Tags  []string `json:"tags"`
}

func newList() *cobra.Command {
	var asJSON, steps bool
	var tags string
	c := &cobra.Command{
		Use:   "list",
		Short: "List rows, scenarios, profiles and transports without running anything",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if steps {
				return listSteps(c.OutOrStdout(), asJSON)
			}
			l, scenarios, err := contract()
			if err != nil {
				return err
			}
			var match *ledger.TagExpr
			if tags != "" {
				if match, err = ledger.ParseTags(tags, l.Tags()); err != nil {
					return usage("--tags: %v", err)
				}
			}
			scenarios = slices.DeleteFunc(scenarios, func(s ledger.Scenario) bool { return !match.Match(s.Tags) })
			if len(scenarios) == 0 {
				return usage("--tags %q selects no scenario", tags)
			}
			list := listed(l, scenarios)
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				return e.Encode(list)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, r := range list.Rows {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Level, strings.Join(r.Lanes, ","), r.Title)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout())
			for _, s := range list.Scenarios {
				fmt.Fprintf(w, "%s\t%s\t%s\n", s.Where, s.Name, strings.Join(s.Tags, " "))
			}
			if err := w.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "\n%d rows, %d scenarios; profiles: %s; transports: %s\n", len(list.Rows), len(list.Scenarios), strings.Join(list.Profiles, ", "), strings.Join(list.Transports, ", "))
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().BoolVar(&steps, "steps", false, "list the steps that a feature file may use instead, each with an example")
	c.Flags().StringVar(&tags, "tags", "", "only what this tag expression selects: and, or, not, parentheses")
	return c
}

// listSteps prints the vocabulary of the feature files.
func listSteps(w io.Writer, asJSON bool) error {
	phrases, err := features.Phrases()
	if err != nil {
		return status{exitHarness, err}
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(phrases)
	}
	for _, p := range phrases {
		fmt.Fprintf(w, "%-5s %s\n      e.g. %s  (%s)\n", p.Keyword, p.Pattern, p.Example, p.Where)
	}
	fmt.Fprintf(w, "\n%d steps; And and But stand for any of the three words\n", len(phrases))
	return nil
}

func listed(l *ledger.Ledger, scenarios []ledger.Scenario) listing {
	out := listing{Transports: bundledNames(), Tags: l.Tags()}
	for i := range l.Rows {
		r := &l.Rows[i]
		n := 0
		for _, s := range scenarios {
			if slices.Contains(s.Tags, r.Tag()) {
				n++
			}
		}
		if n == 0 && r.Exclusion == "" {
			continue
		}
		row := listedRow{ID: r.ID, Level: string(r.Level), Title: r.Title, Profiles: r.Profiles, Lanes: r.Lanes, Wires: r.Wires, Scenarios: n}
		for _, a := range r.Authority {
			row.Authority = append(row.Authority, a.String())
		}
		out.Rows = append(out.Rows, row)
		out.Profiles = append(out.Profiles, r.Profiles...)
	}
	slices.Sort(out.Profiles)
	out.Profiles = slices.Compact(out.Profiles)
	for _, s := range scenarios {
		out.Scenarios = append(out.Scenarios, listedScenario{s.Name, fmt.Sprintf("%s:%d", s.File, s.Line), s.Tags})
	}
	return out
}
