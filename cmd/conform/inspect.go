package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/internal/inspect"
	"github.com/conform-dev/conform/plugins/sse"
)

func newInspect() *cobra.Command {
	c := &cobra.Command{
		Use:   "inspect",
		Short: "See what a part of conform makes of what is on stdin",
		Long: `See what the SSE, WebSocket and OData decoders make of bytes on stdin, the delivery gate of inputs, or a checkpoint store of documents and texts.
The answers are JSON lines. docs/inspect.md describes them.`,
		Args: cobra.NoArgs,
		RunE: help,
	}
	c.AddCommand(newInspectSSE(), newInspectWS(), newInspectOData(), newInspectGate(), newInspectCheckpoint(), newInspectScreen())
	return c
}

func newInspectSSE() *cobra.Command {
	var maxEventBytes int
	c := &cobra.Command{
		Use:   "sse",
		Short: "Decode an event stream: one JSON line per event",
		Long: `Decode an event stream (WHATWG HTML 9.2) from stdin. Each event is one JSON line, written as soon as it is complete; the last
line has the id and the retry time that a reconnect would use.

  curl -sSN -H 'Accept: text/event-stream' URL | conform inspect sse

Exit code 1: an event was above the limit, and nothing behind it was read.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if maxEventBytes < 1 || maxEventBytes > sse.CeilingMaxEventBytes {
				return usage("--max-event-bytes: %d is not between 1 and %d", maxEventBytes, sse.CeilingMaxEventBytes)
			}
			return inspected(inspect.SSE(interruptible(c.Context(), c.InOrStdin()), c.OutOrStdout(), maxEventBytes))
		},
	}
	c.Flags().IntVar(&maxEventBytes, "max-event-bytes", sse.DefaultMaxEventBytes, fmt.Sprintf("longest line and event in bytes, at most %d", sse.CeilingMaxEventBytes))
	return c
}

func newInspectGate() *cobra.Command {
	var auto bool
	c := &cobra.Command{
		Use:   "gate",
		Short: "Drive a delivery gate by hand: one JSON line in, one out",
		Long: `Drive a delivery gate by hand. Each line on stdin is one input, each line on stdout what came of it: the deliveries that
were decided, the state, and what the driver owes.

  {"op":"new","context":{..},"options":{..}}    make a gate; also in mid-stream
  {"op":"enqueue","event":{..}}                 offer an event
  {"op":"applied"}  {"op":"applied","error":"x"}  what came of the apply that is due
  {"op":"saved"}    {"op":"saved","error":"x"}    what came of the save that is due
  {"op":"requireResnapshot","reason":"cursor-expired"}
  {"op":"fail","reason":"delivery-failed"}
  {"op":"close"}

Exit code 2: a line was no input, or none that can come at this point. What was written before it stays.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return inspected(inspect.Gate(interruptible(c.Context(), c.InOrStdin()), c.OutOrStdout(), auto))
		},
	}
	c.Flags().BoolVar(&auto, "auto", false, "the consumer and the store answer at once, without error")
	return c
}

// inspected gives an error its exit code (D-63): what was inspected failed, the input was a mistake, or the reading broke.
func inspected(err error) error {
	var large *inspect.TooLarge
	var line *inspect.LineError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return status{exitFailed, err}
	case errors.As(err, &line):
		return status{exitUsage, err}
	case errors.Is(err, context.Canceled):
		return status{exitInterrupted, silent}
	}
	return status{exitHarness, err}
}
