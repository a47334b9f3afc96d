package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/internal/inspect"
	"github.com/conform-dev/conform/plugins/websocket"
)

func newInspectWS() *cobra.Command {
	o := inspect.WSOptions{}
	c := &cobra.Command{
		Use:   "ws",
		Short: "Judge a server's WebSocket frames, given as hex: one JSON line per frame",
		Long: `Judge the frames that a WebSocket server sent (RFC 6455, RFC 7692), given as hex digits on stdin. Where lines end does not matter: one
frame per line reads best. What stands behind a # counts for nothing. Each frame is one JSON line with a verdict, written as soon
as it is complete; the last line sums up.

  echo '8105 48656c6c6f' | conform inspect ws

Exit code 1: a frame was one that a server must not send, or a message was above the limit; nothing behind it was read. Exit
code 2: a line was no hex.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.MaxMessageBytes < 1 || o.MaxMessageBytes > websocket.CeilingMaxMessageBytes {
				return usage("--max-message-bytes: %d is not between 1 and %d", o.MaxMessageBytes, websocket.CeilingMaxMessageBytes)
			}
			if o.NoTakeover && !o.Deflate {
				return usage("--no-context-takeover: says how --deflate was agreed, which is not set")
			}
			err := inspect.WS(interruptible(c.Context(), c.InOrStdin()), c.OutOrStdout(), o)
			var bad *inspect.Violation
			if errors.As(err, &bad) {
				return status{exitFailed, err}
			}
			return inspected(err)
		},
	}
	c.Flags().IntVar(&o.MaxMessageBytes, "max-message-bytes", websocket.DefaultMaxMessageBytes, fmt.Sprintf("longest message in bytes, on the wire and inflated, at most %d", websocket.CeilingMaxMessageBytes))
	c.Flags().BoolVar(&o.Deflate, "deflate", false, "permessage-deflate was agreed")
	c.Flags().BoolVar(&o.NoTakeover, "no-context-takeover", false, "with --deflate: the server starts each message with an empty window")
	return c
}
