package subscription

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
)

// stopGrace is how long Wait waits for what still runs after the session has ended: the consumer, the store, the transport, the
// reader of telemetry. All of them but the last were cancelled; one that does not hear it must not hang its caller.
const stopGrace = 10 * time.Second

// ErrStuck is in what Wait returns when the consumer, the store or the transport did not return within 10 s of the end,
// though its context was cancelled, or telemetry was not read to its end. It may still run.
var ErrStuck = errors.New("subscription: something still runs 10s after the end")

// EndError says how a subscription ended that was not to end.
type EndError struct {
	session.Ending
	Err error // what the consumer, the store or the transport said; nil if the server or the network ended it
}

func (e *EndError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "subscription: ended: %s", e.Cause)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (%d)", e.Status)
	}
	for _, more := range []string{e.Reason.String(), e.Detail} {
		if more != "" {
			b.WriteString(": " + more)
		}
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

func (e *EndError) Unwrap() error { return e.Err }

// Wait returns when the subscription is over and nothing of it runs any more: nil after Close, the end of the context, or a
// server that asked not to be called again and whose last events were delivered; an *EndError otherwise. A consumer must not call it.
func (s *Subscription) Wait() error {
	<-s.done
	return s.err
}

// reap waits for what still runs and then tells Wait.
func (s *Subscription) reap() {
	idle := make(chan struct{})
	go func() {
		s.running.Wait()
		close(idle)
	}()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	var stuck error
	select {
	case <-idle:
	case <-grace.C:
		stuck = ErrStuck
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.ses.Observe(s.now()).Ending; e.Cause != session.ByCaller && (e.Cause != session.ServerStop || e.Reason != event.None) {
		end := &EndError{Ending: *e}
		if e.Cause == session.Failed || e.Cause == session.PluginCrashed || e.Cause == session.AttemptsUsedUp {
			end.Err = s.cause
		}
		s.err = end
	}
	s.err = errors.Join(s.err, stuck)
	close(s.done)
}
