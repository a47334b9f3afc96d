package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/subject"
	"github.com/conform-dev/conform/features/probe"
)

func newSubject() *cobra.Command {
	c := &cobra.Command{
		Use:   "subject",
		Short: "Describe a server to certify",
		Long: `A subject file says what a server under test is: where it listens or how it is started, the wire it speaks, what it claims,
which credentials the examiner may use, and how it can be made to do things. Unknown keys are refused.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	check := &cobra.Command{
		Use:     "check FILE",
		Short:   "Explain a subject file: what would be run, and what is missing for the rest",
		Example: "  conform subject check my-server.yaml",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return checkSubject(c.OutOrStdout(), args[0]) },
	}
	var wire string
	create := &cobra.Command{
		Use:     "new",
		Short:   "Write a commented subject file to standard output",
		Example: "  conform subject new --wire fleetwake > my-server.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := subject.New(wire)
			if err != nil {
				return usage("--wire: %v", err)
			}
			_, err = io.WriteString(c.OutOrStdout(), text)
			return err
		},
	}
	create.Flags().StringVar(&wire, "wire", "sse", "one of "+strings.Join(subject.Wires, ", "))
	c.AddCommand(check, create, &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of subject files, for editors",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := io.WriteString(c.OutOrStdout(), subject.Schema())
			return err
		},
	})
	return c
}

func checkSubject(w io.Writer, path string) error {
	s, err := subject.Load(path)
	if err != nil {
		return usage("%v", err)
	}
	l, err := ledger.Load()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s over %s\n", path, s.Name, s.Wire)
	for _, line := range s.Explain() {
		fmt.Fprintln(w, "  "+line)
	}
	if _, err := s.Secrets(os.LookupEnv); err != nil {
		return usage("%v", err)
	}
	can, claims := probe.Able(s), probe.Claimed(s)
	held, missing := 0, map[string][]string{}
	for i := range l.Rows {
		row := &l.Rows[i]
		if row.Actor != "server" || !row.On(s.Wire) || row.Exclusion != "" {
			continue
		}
		if len(claims) > 0 && !slices.ContainsFunc(row.Profiles, func(p string) bool { return slices.Contains(claims, p) }) {
			missing["claims"] = append(missing["claims"], row.ID)
			continue
		}
		if what := probe.Missing(can, row.Requires); what != "" {
			missing[what] = append(missing[what], row.ID)
			continue
		}
		held++
	}
	fmt.Fprintf(w, "held to %d rows\n", held)
	for _, what := range slices.Concat([]string{"claims"}, probe.Capabilities, probe.FeedCapabilities[1:]) {
		if ids := missing[what]; len(ids) > 0 {
			fmt.Fprintf(w, "  not to %s: %s\n", strings.Join(ids, ", "), probe.Means(what))
		}
	}
	if held == 0 {
		return usage("%s: nothing can be examined: add what is named above", path)
	}
	return nil
}
