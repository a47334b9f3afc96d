// Package start makes a server under test answer: it takes one that runs already, or starts it as a process, waits until it is ready,
// runs its hooks, and ends what it started.
package start

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/conform-dev/conform/core/container"
	"github.com/conform-dev/conform/core/subject"
)

// Running is a server that answers.
type Running struct {
	subject   *subject.Subject
	base      string
	secrets   []string // that the file refers to: no error shows them
	process   *process // nil: it is none that was started here
	engine    *container.Engine
	container *container.Container // nil: it is none
	client    *http.Client
}

// Start makes s ready. An error is for the person who wrote the file: a reference that leads nowhere, a command that does not start,
// a server that is not ready in time, with the end of what it printed. The secrets that the file refers to stand in none.
func Start(ctx context.Context, s *subject.Subject) (*Running, error) {
	client, err := newClient(s)
	if err != nil {
		return nil, err
	}
	r := &Running{subject: s, base: s.Server.URL, client: client}
	if r.secrets, err = s.Secrets(os.LookupEnv); err != nil {
		return nil, err
	}
	switch {
	case s.Server.Exec != nil:
		if err := r.launch(ctx); err != nil {
			return nil, err
		}
	case s.Server.Image != nil || s.Server.Build != nil:
		if err := r.contain(ctx); err != nil {
			return nil, err
		}
	default:
		if err := r.reach(ctx); err != nil {
			return nil, err
		}
	}
	if s.Ready != (subject.Ready{}) {
		if err := r.ready(ctx); err != nil {
			_ = r.Close()
			return nil, err
		}
	}
	return r, nil
}

// Base is the origin of the server.
func (r *Running) Base() string { return r.base }

// Client sends requests with the file's trusted certificates; it follows no redirect.
func (r *Running) Client() *http.Client { return r.client }

// reach says whether anybody takes a connection where the server is said to run: a certificate about nobody helps nobody.
func (r *Running) reach(ctx context.Context) error {
	u, err := url.Parse(r.base)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	c, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("%s: nobody takes a connection at %s: %w", r.subject.File, r.base, err)
	}
	return c.Close()
}

// between is the time between two looks at a server that is not ready yet: nothing else tells.
const between = 20 * time.Millisecond

// ready waits until the server answers as its file says, or prints the line.
func (r *Running) ready(ctx context.Context) error {
	want := r.subject.Ready
	ctx, cancel := context.WithTimeout(ctx, want.Within)
	defer cancel()
	switch {
	case want.Log != "" && r.container != nil:
		return r.logs(ctx, want.Log)
	case want.Log != "":
		return r.process.prints(ctx, want.Log)
	}
	last := "no answer"
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+want.Path, nil)
		if err != nil {
			return err
		}
		if err := r.dress(request); err != nil {
			return err
		}
		if response, err := r.client.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == want.Status {
				return nil
			}
			last = fmt.Sprintf("status %d", response.StatusCode)
		}
		timer := time.NewTimer(between)
		select {
		case <-timer.C:
		case <-r.process.over():
			timer.Stop()
			return fmt.Errorf("%s ended before it was ready%s", r.subject.Name, r.printed())
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%s is not ready: %s at %s within %v, %d was wanted%s", r.subject.Name, last, want.Path, want.Within, want.Status, r.printed())
		}
	}
}

// dress gives a request the headers that the file wants with every one.
func (r *Running) dress(request *http.Request) error {
	for name, v := range r.subject.Headers {
		text, err := v.Resolve(r.subject.Dir, os.LookupEnv)
		if err != nil {
			return fmt.Errorf("%s: headers.%s: %w", r.subject.File, name, err)
		}
		request.Header.Set(name, text)
	}
	return nil
}

// Close ends what was started, with everything that it started itself, and waits for that.
func (r *Running) Close() error {
	r.client.CloseIdleConnections()
	if r.container != nil {
		return errors.Join(r.container.Close(), r.engine.Close())
	}
	if r.process == nil {
		return nil
	}
	return r.process.close()
}
