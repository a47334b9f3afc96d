package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/serve"
)

// simulateFlags are the flags of `conform simulate`.
type simulateFlags struct {
	addr      string
	rows      int
	retention int
	faults    string
	every     time.Duration
	vouch     string
	expiry    string
	tls       bool
	caOut     string
	cors      []string
	hosts     []string
	protocols []string
	deflate   string
	fleet     string
	odata     odataFlags
}

// odataFlags are those of the OData server.
type odataFlags struct {
	version, removed, rejected, location, annotations string
	pageSize                                          int
}

func newSimulate() *cobra.Command {
	var f simulateFlags
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Serve the simulator for client developers, with a control API",
		Long: `Serve one feed on 127.0.0.1 over Server-Sent Events, WebSocket and OData delta at once, and a wake lane beside it, with a control
API: publish changes, which are seen on every wire, trim the history, restart, pause, add faults. docs/simulator.md lists the
faults and shows the API. It runs until Ctrl-C.

The wake lane is a server of its own, with a control API of its own (docs/fleet-wake.md): each change is a message for its one
viewer. Its credentials are drawn for this run and stand in files that are named and that only their owner can read; they are
removed at the end. With --tls there is no wake lane: a plane has one scheme, and this one has no certificate.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return simulate(c, f) },
	}
	c.Flags().StringVar(&f.addr, "addr", "127.0.0.1:8080", "address and port; port 0 takes a free one; anything but a loopback address needs --host")
	c.Flags().StringArrayVar(&f.hosts, "host", nil, "name that requests may come for beside loopback ones, like that of a container; repeatable")
	c.Flags().StringVar(&f.fleet, "fleet-addr", "127.0.0.1:0", "loopback address and port of the wake lane; none serves no lane")
	c.Flags().IntVar(&f.rows, "rows", 0, "records that the feed begins with (default 3)")
	c.Flags().IntVar(&f.retention, "retention", 0, "changes that can be resumed from (default 1024)")
	c.Flags().StringVar(&f.faults, "faults", "", "file with a fault schedule, YAML or JSON")
	c.Flags().DurationVar(&f.every, "publish-every", 0, "publish one change this often (default: only over the control API)")
	c.Flags().StringVar(&f.vouch, "vouch", "", "frame: say connected first; none: a foreign server that does not (default frame)")
	c.Flags().StringVar(&f.expiry, "expiry", "", "how an expired position is answered: frame, gone, rejected (default frame)")
	c.Flags().BoolVar(&f.tls, "tls", false, "serve https with a certificate made for this run; clients have to trust the file that is named")
	c.Flags().StringVar(&f.caOut, "ca-out", "", "with --tls: file for the certificate to trust, PEM (default: one in the temporary folder, for this run)")
	c.Flags().StringArrayVar(&f.cors, "cors", nil, "origin whose pages may use the simulator, like http://localhost:5173; repeatable; * lets all pages read the streams")
	c.Flags().StringArrayVar(&f.protocols, "subprotocol", nil, "WebSocket subprotocol that the simulator knows; repeatable")
	c.Flags().StringVar(&f.deflate, "deflate", "", "compress WebSocket messages where a client offers it: none, each, takeover (default none)")
	c.Flags().StringVar(&f.odata.version, "odata-version", "", "OData version: negotiate, 4.0, 4.01 (default negotiate: 4.01 for clients that know it)")
	c.Flags().StringVar(&f.odata.removed, "odata-removed", "", "how OData 4.0 says that a row is gone: context, annotation (default context)")
	c.Flags().StringVar(&f.odata.rejected, "odata-rejected", "", "status for a delta token that was never given out: gone, bad-request (default gone)")
	c.Flags().StringVar(&f.odata.location, "odata-location", "", "Location where a snapshot begins, on 410: fresh, none (default none)")
	c.Flags().StringVar(&f.odata.annotations, "odata-annotations", "", "all: those of the contract; none: a foreign service without them (default all)")
	c.Flags().IntVar(&f.odata.pageSize, "page-size", 0, "entries on an OData page (default 100)")
	return c
}

func simulate(c *cobra.Command, f simulateFlags) error {
	opt := simulator.Options{Rows: f.rows, Retention: f.retention, Vouch: f.vouch, Expiry: f.expiry,
		Subprotocols: f.protocols, Deflate: f.deflate, ODataVersion: f.odata.version, ODataRemoved: f.odata.removed, ODataRejected: f.odata.rejected,
		ODataLocation: f.odata.location, ODataAnnotations: f.odata.annotations, ODataPageSize: f.odata.pageSize}
	if f.every != 0 && (f.every < time.Millisecond || f.every > time.Hour) {
		return usage("--publish-every: %v is not between 1ms and 1h", f.every)
	}
	if f.faults != "" {
		data, err := readBounded(f.faults, simulator.MaxScheduleBytes)
		if err != nil {
			return usage("--faults: %v", err)
		}
		if opt.Schedule, err = simulator.ParseSchedule(data); err != nil {
			return usage("--faults: %s: %v", f.faults, err)
		}
	}
	if f.tls && f.caOut == "" {
		dir, err := os.MkdirTemp("", "conform-simulate-")
		if err != nil {
			return status{exitHarness, err}
		}
		defer os.RemoveAll(dir)
		f.caOut = filepath.Join(dir, "ca.pem")
	}
	var busy *net.OpError
	var lane *wakeLane
	options := serve.Options{Addr: f.addr, Simulator: opt, TLS: f.tls, CAFile: f.caOut, CORS: f.cors, Hosts: f.hosts}
	if f.fleet != "none" && !f.tls {
		var err error
		if lane, err = newWakeLane(c.Context(), f.fleet); err != nil {
			return usage("--fleet-addr: %v", err)
		}
		defer lane.Close()
		options.Observe = lane.hear
	}
	s, err := serve.Start(c.Context(), options)
	if errors.As(err, &busy) {
		return usage("--addr: %v; port 0 takes a free one", err)
	}
	if err != nil {
		return usage("%v", err)
	}
	defer s.Close()
	if lane != nil {
		lane.served.Store(true)
	}
	showServer(c.OutOrStdout(), s, lane, f)
	if f.every == 0 {
		<-c.Context().Done()
		return nil
	}
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for {
		select {
		case <-c.Context().Done():
			return nil
		case <-tick.C:
			if err := s.Publish("", 1); err != nil {
				return status{exitHarness, err}
			}
		}
	}
}

// showServer prints where everything is, and lines that can be pasted.
func showServer(out io.Writer, s *serve.Server, lane *wakeLane, f simulateFlags) {
	urls, follow := s.URLs(), s.Follow()
	for _, wire := range simulator.WireNames() {
		fmt.Fprintf(out, "%-10s %s\n", wire, urls[wire])
	}
	fmt.Fprintf(out, "%-10s %s\n", "control", s.ControlURL())
	if f.tls {
		fmt.Fprintf(out, "%-10s %s\n", "trust", f.caOut)
	}
	if lane != nil {
		lane.show(out)
	}
	fmt.Fprint(out, "\nfollow it:\n")
	for _, wire := range simulator.WireNames() {
		fmt.Fprintf(out, "  %s\n", follow[wire])
	}
	if lane != nil {
		fmt.Fprintf(out, "  %s\n", lane.follow())
	}
	fmt.Fprintf(out, "publish a change:\n  curl -sS %s-X POST -H 'Content-Type: application/json' -d '{\"count\":1}' %s/publish\n", s.CurlTrust(), s.ControlURL())
}

// readBounded reads a regular file of at most limit bytes: what is longer, or has no end, is no file that people wrote.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, err
}
