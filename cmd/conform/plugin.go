package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/fleetwake"
	"github.com/conform-dev/conform/plugins/odata"
	"github.com/conform-dev/conform/plugins/sse"
	"github.com/conform-dev/conform/plugins/websocket"
)

// bundled are the transports that this binary serves itself: it starts itself as `conform plugin serve NAME`.
var bundled = map[string]func() transport.Transport{
	"fleetwake": fleetwake.New,
	"odata":     odata.New,
	"sse":       sse.New,
	"websocket": websocket.New,
}

func bundledNames() []string {
	var out []string
	for name := range bundled {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

func newPlugin() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "List the bundled transports, or serve one",
		Args:  cobra.NoArgs,
		RunE:  help,
	}
	c.AddCommand(newPluginList(), newPluginServe())
	return c
}

func newPluginServe() *cobra.Command {
	return &cobra.Command{
		Use:   "serve NAME",
		Short: "Serve a bundled transport to the conform that started this process",
		Long: `Serve a bundled transport over the plugin protocol. conform starts itself this way; run by hand it only explains itself.
docs/plugins.md says how to write a plugin of your own.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			make, ok := bundled[args[0]]
			if !ok {
				return usage("no bundled transport is called %q; there are: %s", args[0], strings.Join(bundledNames(), ", "))
			}
			plugin.Serve(make())
			return nil
		},
	}
}

func newPluginList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the bundled transports with what they declare",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var list []transport.Descriptor
			for _, name := range bundledNames() {
				d, err := bundled[name]().Describe(c.Context())
				if err != nil {
					return status{exitHarness, fmt.Errorf("transport %s cannot describe itself: %w", name, err)}
				}
				list = append(list, d)
			}
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(list)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, d := range list {
				fmt.Fprintf(w, "%s %s\twire %s\t%s\torder %s\tbaseline %s\tresume %s, vouched by %s\n", d.Name, d.Version, d.Wire, d.Freshness, d.Order, d.Baseline, modes(d.Resume), d.Vouch)
				for _, o := range d.Options {
					fmt.Fprintf(w, "  %s\t%s\t%s\n", o.Name, optionRange(o), o.Doc)
				}
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func modes(list []transport.Mode) string {
	if len(list) == 0 {
		return "none"
	}
	words := make([]string, len(list))
	for i, m := range list {
		words[i] = string(m)
	}
	return strings.Join(words, ", ")
}

func optionRange(o transport.Option) string {
	switch {
	case o.Ceiling > 0:
		return fmt.Sprintf("default %s, at most %d", o.Default, o.Ceiling)
	case len(o.Values) > 0:
		return fmt.Sprintf("default %s, one of %s", o.Default, strings.Join(o.Values, ", "))
	}
	return "default " + o.Default
}
