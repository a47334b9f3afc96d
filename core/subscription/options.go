package subscription

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// Option sets one thing about a subscription.
type Option func(*config)

// CredentialSource gives the credential for the next connection, and a fingerprint of what it allows to be seen. renew says
// that the server refused the last one: the source must not give the same bytes again if it can help it (D-33). An empty
// fingerprint means that the scope is the context's. The text of its error is shown nowhere; errors.As
// finds the error in what Wait returns, if the subscription ends over it.
type CredentialSource func(ctx context.Context, renew bool) (c transport.Credential, scopeFingerprint string, err error)

// HeaderSource gives the extra headers for the next connection; endpoint.Headers makes one of references. The text of its error
// is shown nowhere, as with a CredentialSource.
type HeaderSource func(ctx context.Context) ([]transport.ExtraHeader, error)

// TLSSource gives what the next connection trusts and shows; endpoint.Files makes one of files. The text of its error is shown
// nowhere.
type TLSSource func(ctx context.Context) (transport.TLS, error)

// ProxySource gives the proxy for an endpoint, empty for none; endpoint.ProxyFromEnvironment is one. The text of its error is
// shown nowhere.
type ProxySource func(ctx context.Context, endpoint string) (transport.Secret, error)

type config struct {
	endpoint string
	query    transport.Query
	options  map[string]string
	scope    *checkpoint.Context
	from     *checkpoint.Checkpoint
	store    store.Store
	saveIDs  bool
	offer    bool // hand the consumer candidates
	source   CredentialSource
	headers  HeaderSource
	tls      TLSSource
	proxy    ProxySource
	gate     gate.Config
	policy   session.Policy
	arrival  bool
	jitter   func(n int) int
	wall     func() int64
	observe  func(trace.Record)

	polls      func(transport.PollReport)
	telemetry  func(Sample)
	staleAfter *time.Duration
}

// WithEndpoint sets the absolute URL to follow.
func WithEndpoint(url string) Option { return func(c *config) { c.endpoint = url } }

// WithQuery sets what is asked for. Without a SourceID it is the context's.
func WithQuery(q transport.Query) Option { return func(c *config) { c.query = q } }

// WithTransportOptions sets options that the transport's descriptor names.
func WithTransportOptions(o map[string]string) Option {
	return func(c *config) { c.options = maps.Clone(o) }
}

// WithContext sets what positions belong to. A store, a checkpoint and a credential's scope need it.
func WithContext(ctx checkpoint.Context) Option { return func(c *config) { c.scope = &ctx } }

// WithStore keeps the accepted position in s and starts from what s holds.
func WithStore(s store.Store) Option { return func(c *config) { c.store = s } }

// WithCheckpoint starts from p; a store is then not asked (facts 2.1).
func WithCheckpoint(p checkpoint.Checkpoint) Option {
	return func(c *config) { p = p.Clone(); c.from = &p }
}

// WithSavedIDs hands the remembered event ids to the store with every position, for a store of your own that keeps them.
// Shipped stores do not, and collecting them costs time per save.
func WithSavedIDs() Option { return func(c *config) { c.saveIDs = true } }

// WithCredentials asks source before each connection.
func WithCredentials(source CredentialSource) Option { return func(c *config) { c.source = source } }

// WithHeaders asks source for extra headers before each connection. They are treated as secrets, and go to the endpoint's own
// origin only. Headers that cannot be sent (transport.CheckHeaders) end the subscription, refused. Open fails for a transport
// that does not take headers.
func WithHeaders(source HeaderSource) Option { return func(c *config) { c.headers = source } }

// WithTLS asks source for trusted certificates and the client's own before each connection. Open fails for a transport that
// does not take TLS.
func WithTLS(source TLSSource) Option { return func(c *config) { c.tls = source } }

// WithProxy asks source for the proxy before each connection. Without it connections are direct, whatever the environment
// says. Open fails for a transport that does not take a proxy.
func WithProxy(source ProxySource) Option { return func(c *config) { c.proxy = source } }

// WithMaxPending bounds the events that wait for the consumer: 64, at most 65,536 (D-10).
func WithMaxPending(n int) Option { return func(c *config) { c.gate.MaxPending = n } }

// WithMaxIDs bounds the remembered event ids: 256, at most 4,096.
func WithMaxIDs(n int) Option { return func(c *config) { c.gate.MaxIDs = n } }

// WithSaveEvery saves on every n-th accepted event and whenever the queue runs empty: 1, at most 65,536 (D-16).
func WithSaveEvery(n int) Option { return func(c *config) { c.gate.SaveEvery = n } }

// WithPolicy sets times and limits of the session; zero members mean the defaults. Resume, Vouch, AtPosition and Notes come
// from the descriptor and are overwritten, SourceVersion from the context if there is one. Without a Jitter of its own it
// draws at random.
func WithPolicy(p session.Policy) Option { return func(c *config) { c.policy = p } }

// WithArrival offers events as they arrive instead of as room allows: a consumer that is too slow then overflows the gate
// (D-19). For hosts without flow control, and to try overflow.
func WithArrival() Option { return func(c *config) { c.arrival = true } }

// WithClock replaces the wall clock, in unix milliseconds, that dates checkpoints and tells telemetry their age. A
// clock that panics when an event is dated ends the subscription with delivery-failed (D-24); a position that a transport
// refreshes then stays as it was. It is asked on one goroutine at a time, with no lock held that a method of Subscription needs.
func WithClock(now func() int64) Option { return func(c *config) { c.wall = now } }

// WithJitter replaces the draw of the n-th retry's jitter: 0 to 500 permille of the delay (D-34).
func WithJitter(draw func(n int) int) Option { return func(c *config) { c.jitter = draw } }

// WithObserver hands every trace record to f, in order and one at a time. f runs inside the subscription: it must return
// soon and must not call it. A panic in it is contained.
func WithObserver(f func(trace.Record)) Option { return func(c *config) { c.observe = f } }

// WithPolls hands f what each poll of a transport that polls brought, in order and one at a time, after it took effect on State. f runs
// on the transport's goroutine with no lock held: the next poll waits for it, and it may call the subscription, but for Wait. A panic in
// it is contained and counted (D-24, Contained). With any other transport f is never called.
func WithPolls(f func(transport.PollReport)) Option { return func(c *config) { c.polls = f } }

// takes lists what attempts will bring along.
func (c *config) takes() (out []transport.Take) {
	if c.headers != nil {
		out = append(out, transport.TakesHeaders)
	}
	if c.tls != nil {
		out = append(out, transport.TakesTLS)
	}
	if c.proxy != nil {
		out = append(out, transport.TakesProxy)
	}
	return out
}

func configure(opts []Option) (*config, error) {
	c := &config{wall: func() int64 { return time.Now().UnixMilli() }}
	for _, o := range opts {
		o(c)
	}
	c.policy.Arrival = c.policy.Arrival || c.arrival
	if c.jitter != nil {
		c.policy.Jitter = c.jitter
	}
	if c.policy.Jitter == nil {
		c.policy.Jitter = func(int) int { return rand.IntN(session.MaxJitter + 1) }
	}
	c.policy.Notes = c.observe != nil
	c.gate.Saves = c.store != nil
	if err := c.checkTelemetry(); err != nil {
		return nil, err
	}
	if c.scope == nil {
		if c.store != nil || c.from != nil || c.offer {
			return nil, errors.New("subscription: a store or a checkpoint needs a context (WithContext)")
		}
		return c, nil
	}
	scope, err := c.scope.Validate()
	if err != nil {
		return nil, fmt.Errorf("subscription: %w", err)
	}
	c.scope, c.policy.SourceVersion = &scope, scope.SourceVersion
	if c.query.SourceID == "" {
		c.query.SourceID = scope.SourceID
	}
	return c, nil
}
