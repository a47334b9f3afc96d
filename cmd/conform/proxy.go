package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/simulator/proxy"
)

func newProxy() *cobra.Command {
	var listen, to, file string
	c := &cobra.Command{
		Use:   "proxy",
		Short: "Stand between a client and a server, and do to their connections what networks do",
		Long: `Hand TCP connections on to a server and do what a schedule says: cut at a byte, stall, delay, drip, reset, forget one side, refuse. Neither
side is changed, and no protocol is known. The first line is the address; then one JSON line for each thing that happens.`,
		Example: `  conform proxy --to 127.0.0.1:8080 --schedule faults.yaml
  conform watch http://127.0.0.1:PORT/stream`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := readSchedule(file)
			if err != nil {
				return err
			}
			if _, _, err := net.SplitHostPort(to); err != nil {
				return usage("--to: %q is not host:port", to)
			}
			out := json.NewEncoder(c.OutOrStdout())
			p, err := proxy.Start(c.Context(), listen, to, *s, func(e proxy.Event) { _ = out.Encode(e) }) // whoever reads may have gone
			if err != nil {
				return usage("--listen: %v", err)
			}
			if _, err := fmt.Fprintf(c.OutOrStdout(), "proxy      %s to %s\n", p.Addr(), to); err != nil {
				return errors.Join(err, p.Close())
			}
			<-c.Context().Done()
			return p.Close()
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`HOST:PORT` to listen at")
	c.Flags().StringVar(&to, "to", "", "`HOST:PORT` of the server")
	c.Flags().StringVar(&file, "schedule", "", "`FILE` of the faults, by connection; without one nothing is done")
	_ = c.MarkFlagRequired("to")
	return c
}

func readSchedule(path string) (*proxy.Schedule, error) {
	if path == "" {
		return &proxy.Schedule{}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("--schedule: %s cannot be read: %v", path, errors.Unwrap(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, proxy.MaxFile+1))
	if err != nil {
		return nil, usage("--schedule: %s cannot be read: %v", path, err)
	}
	s, err := proxy.Parse(path, data)
	if err != nil {
		return nil, usage("--schedule: %v", err)
	}
	return s, nil
}
