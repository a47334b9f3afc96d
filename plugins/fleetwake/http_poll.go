package fleetwake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/transport"
)

// The words for a poll without an answer, beside the failures of the network that package endpoint names.
const (
	pollTooLarge = "the answer is too large"
	pollRedirect = "the answer is a redirect, and a credential does not follow one"
)

// pollClient makes the requests of one poll. The credential goes into each as Authorization, no redirect is followed, all bodies
// together are bounded, and everything ends with ctx: also what a library sends with a context of its own.
type pollClient struct {
	ctx    context.Context
	client *endpoint.Client
	bearer transport.Secret

	mu     sync.Mutex // the library of the tool call reads answers beside the caller
	left   int64      // bytes that may still be read
	status int        // of the last answer; 0 while there is none
	large  bool       // the bound was hit
	failed error      // of the last request, if it got no answer
}

// pollAccess is what of an attempt's access a poll may use. At another origin than the stream's we trust the same authorities and go
// through the same proxy, but show no certificate and expect no name that was meant for the stream's.
func pollAccess(a transport.Attempt, to *url.URL) transport.Attempt {
	out := transport.Attempt{Endpoint: to.String(), TLS: a.TLS, Proxy: a.Proxy}
	if !sameOrigin(a.Endpoint, to) {
		out.TLS = transport.TLS{CA: a.TLS.CA}
	}
	return out
}

// performPoll makes a poll through the seam that was set up. tidy is called when the result was handed over.
func performPoll(ctx context.Context, a transport.Attempt, p plan, due Poll) (r PollResult, tidy func()) {
	to := p.set.pollURL
	if p.set.poll == PollMCP {
		to, _ = url.Parse(p.mcp) // made from a URL that was parsed
	}
	client, err := endpoint.NewClient(pollAccess(a, to))
	if err != nil {
		return PollResult{Failed: "the certificates or the proxy cannot be used"}, func() {}
	}
	c := &pollClient{ctx: ctx, client: client, bearer: p.bearer, left: p.set.maxPollBytes}
	perform := c.post
	if p.set.poll == PollMCP {
		perform = c.call
	}
	answer, done, err := perform(to.String(), due)
	if err != nil {
		return PollResult{Failed: c.why(err)}, done
	}
	return PollResult{Answer: answer}, done
}

// why puts what went wrong into fixed words: an error's own text may hold a URL or what a server wrote.
func (c *pollClient) why(err error) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var word pollWord
	switch {
	case c.large:
		return pollTooLarge
	case c.ctx.Err() != nil:
		return PollTime
	case c.failed == nil && c.status >= 300 && c.status <= 399:
		return pollRedirect
	case c.failed == nil && c.status != 0 && (c.status < 200 || c.status > 299):
		return fmt.Sprintf("HTTP %d", c.status)
	case c.failed != nil:
		return c.client.Failure(c.failed).Error()
	case errors.As(err, &word):
		return string(word)
	}
	return c.client.Failure(err).Error()
}

// pollWord is a failure in fixed words.
type pollWord string

func (w pollWord) Error() string { return string(w) }

// post asks at a URL of its own: {"subscriptionId":…,"sinceLogId":…}, and the answer is the body.
func (c *pollClient) post(to string, due Poll) (answer []byte, done func(), err error) {
	done = func() {}
	body, err := json.Marshal(struct {
		SubscriptionID string `json:"subscriptionId"`
		SinceLogID     int64  `json:"sinceLogId"`
	}{due.SubscriptionID, int64(due.Since)})
	if err != nil {
		return nil, done, err
	}
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, done, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.RoundTrip(request)
	if err != nil {
		return nil, done, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, done, pollWord(fmt.Sprintf("HTTP %d", response.StatusCode))
	}
	answer, err = io.ReadAll(response.Body)
	return answer, done, err
}

// RoundTrip implements http.RoundTripper.
func (c *pollClient) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(c.ctx, cancel)
	end := func() { stop(); cancel() }
	r = r.Clone(ctx)
	if c.bearer != "" {
		r.Header.Set("Authorization", c.bearer.Reveal())
	}
	response, err := c.client.RoundTrip(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed = err; err != nil {
		end()
		return nil, err
	}
	c.status = response.StatusCode
	response.Body = &boundedBody{of: c, body: response.Body, end: end}
	return response, nil
}

// boundedBody counts what is read against the poll's bound.
type boundedBody struct {
	of   *pollClient
	body io.ReadCloser
	end  func()
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if b.of.left -= int64(n); b.of.left < 0 {
		b.of.large = true
		return 0, pollWord(pollTooLarge)
	}
	return n, err
}

func (b *boundedBody) Close() error {
	defer b.end()
	return b.body.Close()
}
