package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Limits of the attempts of one call. All of them together end with Options.Timeout.
const (
	// attemptsInTimeout is how many requests without an answer fit into one timeout: a member that hangs must not use
	// it up, since the next attempt goes to another one.
	attemptsInTimeout = 4
	firstPause        = 5 * time.Millisecond
	longestPause      = 250 * time.Millisecond
	// maxErrorText bounds what a server's error adds to ours, in bytes.
	maxErrorText = 200
)

// attempts runs once until it is done, fails for good, or the time is over. Who calls again with no error lost a race
// against another writer.
func (s *storage) attempts(ctx context.Context, what string, once func(ctx context.Context) (done bool, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed.Load() {
		return ErrClosed
	}
	bound, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	var last error
	for n := 0; ; n++ {
		done, err := once(bound)
		switch {
		case err == nil && done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !passing(err):
			return failed(what, err)
		case err != nil && (bound.Err() == nil || last == nil):
			last = err
		}
		if !pause(bound, n) {
			if err := ctx.Err(); err != nil {
				return err
			}
			return &callError{fmt.Sprintf("etcd: %s: %v (%v)%s", what, ErrNoAnswer, s.opt.Timeout, lastText(last)), []error{ErrNoAnswer, last}}
		}
	}
}

// request makes one request with its own share of the time.
func (s *storage) request(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout/attemptsInTimeout)
	defer cancel()
	return do(ctx)
}

// pause waits before attempt n+1, so that writers which met do not meet again. False when the time is over.
func pause(ctx context.Context, n int) bool {
	most := min(firstPause<<min(n, 10), longestPause)
	t := time.NewTimer(rand.N(most) + 1)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// passing says whether another attempt may do better.
func passing(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted:
		return true
	}
	return false
}

func codeOf(err error) codes.Code {
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		return e.Code()
	}
	return status.Code(err)
}

// callError is an error of a call: its text is bounded and one line, whatever a server sent.
type callError struct {
	text   string
	causes []error
}

func (e *callError) Error() string { return e.text }

func (e *callError) Unwrap() []error {
	var out []error
	for _, c := range e.causes {
		if c != nil {
			out = append(out, c)
		}
	}
	return out
}

func failed(what string, err error) error {
	for _, ours := range []error{ErrMoved, ErrCorrupt, ErrTooLarge} {
		if errors.Is(err, ours) {
			return err
		}
	}
	return &callError{fmt.Sprintf("etcd: %s: %s", what, oneLine(err)), []error{err}}
}

func lastText(last error) string {
	if last == nil || errors.Is(last, context.DeadlineExceeded) {
		return ""
	}
	return ": " + oneLine(last)
}

// oneLine is an error's text without what would break a line, cut off at maxErrorText.
func oneLine(err error) string {
	text := rpctypes.ErrorDesc(err)
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "..."
	}
	return text
}
