package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/internal/inspect"
	"github.com/conform-dev/conform/plugins/odata"
)

func newInspectOData() *cobra.Command {
	o := inspect.ODataOptions{}
	c := &cobra.Command{
		Use:   "odata",
		Short: "Read a page of an OData collection or of its changes: one JSON line per entry",
		Long: `Read one page of an OData collection, or of its changes, from stdin (OData JSON 4.0 and 4.01). Each entry is one JSON line with what
it does to which key, written as soon as it is complete; the last line has the links and what a client does next.

  curl -sS -H 'Prefer: odata.track-changes' URL | conform inspect odata --key Id --collection URL

With --collection the links are judged too: a client follows one only within the collection.

Exit code 1: the page has something that no client may take, and nothing behind it was read, or a link leads out of the
collection.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !odata.CheckKey(o.Key) {
				return usage("--key: must be 1 to %d different property names, joined by commas", odata.MaxKeyParts)
			}
			for _, limit := range []struct {
				flag     string
				is, most int64
			}{{"--max-page-bytes", o.MaxPageBytes, odata.CeilingMaxPageBytes}, {"--max-row-bytes", o.MaxRowBytes, odata.CeilingMaxRowBytes}} {
				if limit.is < 1 || limit.is > limit.most {
					return usage("%s: %d is not between 1 and %d", limit.flag, limit.is, limit.most)
				}
			}
			if o.Collection != "" {
				if _, err := odata.NewCollection(o.Collection); err != nil {
					return usage("--collection: %v", err)
				}
			}
			err := inspect.OData(interruptible(c.Context(), c.InOrStdin()), c.OutOrStdout(), o)
			var flaw *inspect.PageFlaw
			var link *inspect.LinkRefused
			if errors.As(err, &flaw) || errors.As(err, &link) {
				return status{exitFailed, err}
			}
			return inspected(err)
		},
	}
	c.Flags().StringVar(&o.Key, "key", "id", "key properties of a row, joined by commas")
	c.Flags().StringVar(&o.Collection, "collection", "", "URL of the collection that the page is of: judge its links")
	c.Flags().StringVar(&o.DeltaToken, "delta-token-option", "$deltatoken", "with --collection: the query option of a delta link that holds its token")
	c.Flags().Int64Var(&o.MaxPageBytes, "max-page-bytes", odata.DefaultMaxPageBytes, fmt.Sprintf("longest page in bytes, at most %d", odata.CeilingMaxPageBytes))
	c.Flags().Int64Var(&o.MaxRowBytes, "max-row-bytes", odata.DefaultMaxRowBytes, fmt.Sprintf("longest entry in bytes, at most %d", odata.CeilingMaxRowBytes))
	return c
}
