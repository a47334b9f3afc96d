package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/bolt"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// watchFlags are the flags of `conform watch`.
type watchFlags struct {
	transport  string
	store      string
	source     string
	credential string
	headers    []string
	options    []string
	files      endpoint.Files
	maxAge     time.Duration
	count      uint64
	json       bool
	lane       laneFlags
}

// watchGrace is how long a stream may take to end after Ctrl-C, before the command leaves without it: its output may be a
// pipe that nobody reads.
const watchGrace = 2 * time.Second

// The parts of the context that a watch makes up itself.
const (
	watchSchema  = "conform-watch-1"
	watchUnnamed = "unnamed" // the source version until a server has named one
)

func newWatch() *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:   "watch URL",
		Short: "Follow a live stream through the gate, and resume it after a restart",
		Long: `Follow a live source through the delivery gate, one line per decision, and keep the accepted position in a file: a stream of
Server-Sent Events, a WebSocket (ws:// and wss://), or a collection that is polled for changes (--transport odata). Started
again, also after a crash, it goes on from there, or says why it begins with a snapshot. It runs until Ctrl-C. docs/watch.md
explains the lines.

With --transport fleetwake the URL is a plane's, and what is printed is whether its wake lane is alive, and why: see
docs/fleet-wake.md. Nothing is delivered there, and nothing is stored.

Exit code 1: the stream ended for good, for a reason that the last line names. What the rows hold is never printed, nor a
credential, nor a position; those are read from where their flags point, never from the command line.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return watch(c, args[0], f) },
	}
	c.Flags().StringVar(&f.transport, "transport", "", "which bundled transport follows (default: websocket for ws:// and wss://, otherwise sse)")
	c.Flags().StringVar(&f.store, "store", "conform-watch.db", "file for the position; several watches that run one after the other may share it")
	c.Flags().StringVar(&f.source, "source", "incidents", "id of the source to ask for")
	c.Flags().StringVar(&f.credential, "credential", "", "where the credential is: HEADER=env:VARIABLE or HEADER=file:PATH")
	c.Flags().StringArrayVar(&f.headers, "header", nil, "where an extra header is, in the same form; repeatable")
	c.Flags().StringArrayVar(&f.options, "option", nil, "NAME=VALUE of an option of the transport, like idIs=eventId for sse; repeatable")
	c.Flags().StringVar(&f.files.CA, "ca", "", "file with certificates to trust instead of the system's, PEM")
	c.Flags().StringVar(&f.files.Certificate, "cert", "", "file with a client certificate, PEM")
	c.Flags().StringVar(&f.files.Key, "key", "", "file with its key, PEM")
	c.Flags().DurationVar(&f.maxAge, "max-age", store.DefaultMaxAge, fmt.Sprintf("older positions are not resumed from, at most %v", store.CeilingMaxAge))
	c.Flags().Uint64Var(&f.count, "count", 0, "end after so many accepted events (default: never)")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object per line")
	f.lane.add(c)
	return c
}

func watch(c *cobra.Command, address string, f watchFlags) error {
	shown, err := showAddress(address)
	if err != nil {
		return usage("%v", err)
	}
	follow, err := watchTransport(address, f.transport)
	if err != nil {
		return usage("%v", err)
	}
	if f.transport == transport.FleetWake {
		return watchLane(c, address, shown, follow, f)
	}
	if err := f.lane.check(c, false); err != nil {
		return usage("%v", err)
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	p := &watchLines{out: c.OutOrStdout(), json: f.json, now: time.Now, stop: cancel, most: f.count}
	kept, err := bolt.Open(f.store, store.Config{MaxAge: f.maxAge, OnDiagnostic: p.diagnostic}, bolt.Options{})
	if err != nil {
		return usage("--store: %v", err)
	}
	defer kept.Close()
	scope, err := watchScope(ctx, kept, address, f)
	if err != nil {
		return usage("%v", err)
	}
	opts, err := watchOptions(f)
	if err != nil {
		return usage("%v", err)
	}
	options, err := parseOptions(f.options)
	if err != nil {
		return usage("%v", err)
	}
	p.say(watchLine{What: "watch", Text: fmt.Sprintf("%s, source %s, position in %s", shown, odd(scope.SourceID), odd(f.store))})
	opts = append(opts,
		subscription.WithEndpoint(address), subscription.WithTransportOptions(options), subscription.WithContext(scope), subscription.WithStore(kept), subscription.WithObserver(p.record),
		subscription.WithQuery(transport.Query{SourceID: scope.SourceID, Mode: "snapshot-then-delta"}))
	nothing := func(context.Context, *event.Event) error { return nil } // the gate's decision is what is shown
	sub, err := subscription.Open(ctx, follow, nothing, opts...)
	if err != nil {
		return usage("%v", err)
	}
	return ended(ctx, sub, p)
}

// ended waits for the end: nil if it was asked for.
func ended(ctx context.Context, sub *subscription.Subscription, p *watchLines) error {
	over := make(chan error, 1)
	go func() { over <- sub.Wait() }()
	var err error
	select {
	case err = <-over:
	case <-ctx.Done():
		select {
		case err = <-over:
		case <-time.After(watchGrace):
		}
	}
	if failed := p.failure(); failed != nil {
		return status{exitHarness, fmt.Errorf("the output: %w", failed)}
	}
	var end *subscription.EndError
	if errors.As(err, &end) && ctx.Err() == nil {
		return status{exitFailed, err}
	}
	return nil
}

// showAddress is the address for people: without user, query and fragment, which may hold secrets.
func showAddress(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil: // its text repeats the address
		return "", errors.New("the address is not a URL")
	case !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) || u.Host == "":
		return "", errors.New("the address is not a URL with http, https, ws or wss and a host")
	case u.User != nil:
		return "", errors.New("the address holds a user: give a credential with --credential instead")
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), nil
}

// watchTransport is the transport that was named, or the one that the address speaks of.
func watchTransport(address, name string) (transport.Transport, error) {
	socket := strings.HasPrefix(address, "ws:") || strings.HasPrefix(address, "wss:")
	switch {
	case name == "" && socket:
		name = "websocket"
	case name == "":
		name = "sse"
	}
	make, ok := bundled[name]
	if !ok {
		return nil, fmt.Errorf("--transport: no bundled transport is called %q; there are: %s", name, strings.Join(bundledNames(), ", "))
	}
	if socket && name != "websocket" {
		return nil, fmt.Errorf("--transport: %s does not follow a WebSocket address", name)
	}
	return make(), nil
}

// watchScope is what positions belong to. The source version is that of the record which is stored for it, if there is
// one: the server then says whether it is still the same.
func watchScope(ctx context.Context, kept *bolt.Store, address string, f watchFlags) (checkpoint.Context, error) {
	scope := checkpoint.Context{
		SourceID: f.source, QueryFingerprint: digest("query", address), SourceVersion: watchUnnamed,
		SchemaVersion: watchSchema, AuthorizationScopeFingerprint: digest("access", append([]string{f.credential}, f.headers...)...),
	}
	if _, err := scope.Validate(); err != nil {
		return scope, fmt.Errorf("--source: %w", err)
	}
	key, err := checkpoint.ScopeKey(scope)
	if err != nil {
		return scope, err
	}
	records, err := kept.Records(ctx)
	if err != nil {
		return scope, nil // the load that follows says so
	}
	for _, r := range records {
		if r.Key == key {
			scope.SourceVersion = r.SourceVersion
		}
	}
	return scope, nil
}

func digest(what string, parts ...string) string {
	h := sha256.Sum256([]byte("conform-watch:" + what + "\x00" + strings.Join(parts, "\x00")))
	return "sha256:" + hex.EncodeToString(h[:])
}

func watchOptions(f watchFlags) ([]subscription.Option, error) {
	opts := []subscription.Option{subscription.WithProxy(endpoint.ProxyFromEnvironment)}
	if f.credential != "" {
		source, err := endpoint.Credential(f.credential)
		if err != nil {
			return nil, err
		}
		opts = append(opts, subscription.WithCredentials(source))
	}
	if len(f.headers) > 0 {
		source, err := endpoint.Headers(f.headers...)
		if err != nil {
			return nil, err
		}
		opts = append(opts, subscription.WithHeaders(source))
	}
	if f.files != (endpoint.Files{}) {
		source, err := f.files.Source()
		if err != nil {
			return nil, err
		}
		opts = append(opts, subscription.WithTLS(source))
	}
	return opts, nil
}
