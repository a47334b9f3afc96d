package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/internal/inspect"
)

func newInspectCheckpoint() *cobra.Command {
	var file, now string
	var maxAge time.Duration
	c := &cobra.Command{
		Use:   "checkpoint",
		Short: "Judge checkpoints and stored records as a load would",
		Long: `Judge each checkpoint or stored record on stdin as a load would: one JSON line with the verdict, what is wrong by the path of
the member, the digests, and the canonical and the redacted form. A form with a text in it that the screen refuses is not
shown.

  conform inspect checkpoint --context scope.json --now now < record.json

Without --context nothing is compared, without --now there is no age. The exit code is 0 whatever the verdicts are.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			with := inspect.Stored{MaxAge: maxAge.Milliseconds()}
			if maxAge < time.Millisecond || maxAge > store.CeilingMaxAge || maxAge%time.Millisecond != 0 {
				return usage("--max-age: %v is not between 1ms and %v, in whole milliseconds", maxAge, store.CeilingMaxAge)
			}
			var err error
			if with.Now, err = instant(now); err != nil {
				return err
			}
			if with.Context, err = contextFile(file); err != nil {
				return err
			}
			return inspected(inspect.Checkpoint(interruptible(c.Context(), c.InOrStdin()), c.OutOrStdout(), with))
		},
	}
	c.Flags().StringVar(&file, "context", "", "a file with the resume context to compare with")
	c.Flags().StringVar(&now, "now", "", "the time at which age is judged: unix milliseconds, an ISO date with a zone, or now")
	c.Flags().DurationVar(&maxAge, "max-age", store.DefaultMaxAge, fmt.Sprintf("a record that is older is expired, at most %v", store.CeilingMaxAge))
	return c
}

func newInspectScreen() *cobra.Command {
	return &cobra.Command{
		Use:   "screen",
		Short: "Say of each line whether a store would keep it",
		Long: `Say of each line on stdin whether a checkpoint store would keep it as part of a record: raw text, line by line, the last one
without a line end included. The answers are JSON lines and never repeat the text.

  {"verdict":"accepted"}
  {"verdict":"refused","reason":"credential-shaped"}
  {"verdict":"refused","reason":"url-shaped"}

The exit code is 0 whatever the verdicts are.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return inspected(inspect.Screen(interruptible(c.Context(), c.InOrStdin()), c.OutOrStdout()))
		},
	}
}

// instant reads --now; nil without it.
func instant(text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	ms, ok := checkpoint.ParseTime(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		ms, ok = n, true
	}
	if text == "now" {
		ms, ok = time.Now().UnixMilli(), true
	}
	if !ok || !checkpoint.ValidTime(ms) {
		return nil, usage("--now: %q is neither unix milliseconds, nor an ISO date with a zone, nor now", text)
	}
	return &ms, nil
}

// maxContextFile is far above five texts of checkpoint.MaxText, escaped.
const maxContextFile = 4 << 20

// contextFile reads --context; nil without it.
func contextFile(path string) (*checkpoint.Context, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("--context: %v", err)
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, maxContextFile+1))
	if err == nil && len(doc) > maxContextFile {
		err = errors.New("longer than " + strconv.Itoa(maxContextFile) + " bytes")
	}
	if err != nil {
		return nil, usage("--context: %s: %v", path, err)
	}
	ctx, err := inspect.ReadContext(doc)
	if err != nil {
		return nil, usage("--context: %s: %v", path, err)
	}
	return &ctx, nil
}
