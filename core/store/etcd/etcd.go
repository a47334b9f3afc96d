// Package etcd keeps checkpoints in an etcd cluster: they outlive the process and the machine, and relays on several hosts
// share them. It follows the rules of every shipped store and is safe for concurrent use. A save returns after a majority of
// the members has it.
//
// Several stores may write one scope. Each write is a compare-and-swap: a store replaces what it wrote or loaded itself, in
// whatever direction, and what another store put there only by a position that is not lower. So two relays that
// follow one scope at once never move it backwards; the one that is behind hears ErrMoved in a diagnostic.
//
// What goes wrong below, a member that is killed, a cluster without a majority, a refused password, is an error of the one
// call that met it, and so a diagnostic and a snapshot for the subscription, never a panic.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/conform-dev/conform/core/store"
)

// Limits of a store.
const (
	// DefaultPrefix is where the records lie.
	DefaultPrefix = "conform/checkpoints"
	// MaxPrefix is the longest Prefix, in bytes.
	MaxPrefix = 256
	// DefaultTimeout is how long one call takes at most: an election takes one to two seconds with etcd's own settings, and
	// the call is made again after it.
	DefaultTimeout = 5 * time.Second
	// CeilingTimeout is the largest Timeout: a save holds up the subscription that makes it.
	CeilingTimeout = time.Minute
)

var (
	// ErrMoved is in the error of a write that lost to another store: the record in place is further than what was to be
	// written, or cannot be compared with it since its versions are others. Nothing was written. It takes the place of
	// bolt.ErrLocked, since nobody holds a lock here.
	ErrMoved = errors.New("another store has moved the scope")
	// ErrNoAnswer is in the error of a call that was not done in Options.Timeout. A write may have happened all the same, or
	// happen a little later; it never replaces what was written after it.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrClosed is the error of a call after Close.
	ErrClosed = errors.New("etcd: the store is closed")
	// ErrCorrupt is in the error of a call that met bytes which nobody wrote.
	ErrCorrupt = errors.New("corrupt")
	// ErrTooLarge is in the error of a write whose document has more than MaxDocument bytes, or does not fit into MaxValue.
	ErrTooLarge = errors.New("too large")
)

// Options say where the records lie and how long a call may take. The zero Options are valid.
type Options struct {
	// Prefix is where the records lie, default DefaultPrefix; 1 to MaxPrefix bytes that neither begin nor end with a slash.
	// Stores with one prefix share their records and the limit on how many there are. Who authenticates needs the right to
	// read and write all keys that begin with Prefix and a slash.
	Prefix  string
	Timeout time.Duration // for one call with all its attempts, default DefaultTimeout, at most CeilingTimeout
}

func (o Options) withDefaults() (Options, error) {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	switch {
	case len(o.Prefix) > MaxPrefix:
		return o, fmt.Errorf("etcd: prefix cannot exceed %d bytes, got %d", MaxPrefix, len(o.Prefix))
	case strings.HasPrefix(o.Prefix, "/") || strings.HasSuffix(o.Prefix, "/"):
		return o, errors.New("etcd: prefix must not begin or end with a slash")
	case o.Timeout < 0:
		return o, fmt.Errorf("etcd: timeout must be above zero, got %v", o.Timeout)
	case o.Timeout > CeilingTimeout:
		return o, fmt.Errorf("etcd: timeout cannot exceed %v, got %v", CeilingTimeout, o.Timeout)
	}
	return o, nil
}

// Store is a store.Store in an etcd cluster.
type Store struct {
	*store.Keeper
	under *storage
}

// Open connects to a cluster and makes the store in it. It fails for a setting out of range, for a file of credentials that
// cannot be read, and when the cluster does not answer one read within the timeout; the error names the endpoints, never
// a secret. Close it.
func Open(ctx context.Context, c Cluster, cfg store.Config, opt Options) (*Store, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if _, err := keep(nil, cfg, opt); err != nil { // before anything is dialled
		return nil, err
	}
	client, err := c.connect(ctx, opt.Timeout)
	if err != nil {
		return nil, err
	}
	s, err := keep(client, cfg, opt)
	if err == nil {
		s.under.own = true
		_, err = s.under.Read(ctx, "probe")
	}
	if err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("etcd: %s: %w", strings.Join(c.Endpoints, " "), err)
	}
	return s, nil
}

// Over makes a store with a client that the application has for its own data. The client stays the application's: Close
// leaves it open. Its keep-alive settings decide how fast a member that hangs is noticed.
func Over(client *clientv3.Client, cfg store.Config, opt Options) (*Store, error) {
	if client == nil {
		return nil, errors.New("etcd: no client")
	}
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	return keep(client, cfg, opt)
}

func keep(client *clientv3.Client, cfg store.Config, opt Options) (*Store, error) {
	age := cfg.MaxAge
	if age == 0 {
		age = store.DefaultMaxAge
	}
	under := newStorage(client, opt, age)
	k, err := store.Keep(under, cfg)
	if err != nil {
		return nil, err
	}
	return &Store{Keeper: k, under: under}, nil
}

// Close ends the store: what is under way is finished first, which takes Options.Timeout at most, and later calls fail. The
// records stay until they are too old.
func (s *Store) Close() error { return s.under.close() }
