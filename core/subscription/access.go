package subscription

import (
	"context"

	"github.com/conform-dev/conform/core/transport"
)

// access asks the sources of headers, certificates and proxy. It answers false if this attempt is over: a source failed, which
// may be tried again, or gave what cannot be sent, which ends the subscription.
func (c *connection) access(ctx context.Context, a *transport.Attempt) bool {
	cfg := c.s.cfg
	for _, source := range []struct {
		name string
		ask  func() error
	}{
		{"header", func() (err error) {
			if cfg.headers != nil {
				a.Headers, err = cfg.headers(ctx)
			}
			return err
		}},
		{"tls", func() (err error) {
			if cfg.tls != nil {
				a.TLS, err = cfg.tls(ctx)
			}
			return err
		}},
		{"proxy", func() (err error) {
			if cfg.proxy != nil {
				a.Proxy, err = cfg.proxy(ctx, a.Endpoint)
			}
			return err
		}},
	} {
		var err error
		if p := contain(func() { err = source.ask() }); p != nil {
			err = p
		}
		if err != nil {
			return c.fail(&sourceError{source.name, err}, transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: source.name + "-source"})
		}
	}
	if err := a.CheckAccess(); err != nil {
		return c.fail(err, transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
	}
	return true
}

// fail ends the attempt before it was made.
func (c *connection) fail(err error, sig transport.Signal) bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if !c.gone {
		c.s.cause = err
		c.down(sig)
	}
	return false
}

// sourceError hides the text of a source's error: it may hold what the source used to get its secret.
type sourceError struct {
	name string
	err  error
}

func (e *sourceError) Error() string { return "the " + e.name + " source failed" }

func (e *sourceError) Unwrap() error { return e.err }
