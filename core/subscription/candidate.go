package subscription

import (
	"context"
	"fmt"

	"github.com/conform-dev/conform/core/checkpoint"
)

// WithCandidates gives the consumer the checkpoint that comes of each event, see Candidate. It needs a context, and costs an
// allocation or two per event. A position that a transport refreshes without an event (D-28) goes to the store alone.
func WithCandidates() Option { return func(c *config) { c.offer = true } }

type candidateKey struct{}

// Candidate is the checkpoint that will stand for the event that a consumer is called with, once it is accepted. ctx is the
// consumer's. A consumer that keeps its state in a database writes both in one transaction, so that a crash at any moment
// leaves both or neither and no event counts twice; bolt.Store.Put is made for it. It is dated by WithClock before the call.
//
// ok is false without WithCandidates, and while the server has taken its position back (D-43): nothing may be kept then.
func Candidate(ctx context.Context) (c checkpoint.Checkpoint, ok bool) {
	c, ok = ctx.Value(candidateKey{}).(checkpoint.Checkpoint)
	return c, ok
}

// offer prepares an apply whose consumer gets a candidate. A store's Forget that is on its way goes first, and one that
// comes waits for it: what a consumer keeps must not outlive the record that is forgotten.
func (s *Subscription) offer(j *job) {
	j.after, j.done = s.forgetting, make(chan struct{})
	s.applying = j.done
	pos, ok := s.ses.Candidate()
	if !ok {
		return
	}
	c := checkpoint.Checkpoint{Context: s.bound(), Resume: pos}
	if s.cfg.saveIDs {
		if !j.apply.Replaces() {
			c.RecentIDs = s.ses.RecentIDs()
		}
		if j.apply.ID != "" {
			c.RecentIDs = append(c.RecentIDs, j.apply.ID)
		}
		c.RecentIDs = c.RecentIDs[max(0, len(c.RecentIDs)-checkpoint.MaxRecentIDs):]
	}
	j.candidate = &c
}

// dateError is a clock that failed before the consumer was called.
type dateError struct{ cause error }

func (e *dateError) Error() string { return fmt.Sprintf("the clock failed: %v", e.cause) }

func (e *dateError) Unwrap() error { return e.cause }

// hold waits until a candidate may be kept, dates it and puts it into the consumer's context.
func (s *Subscription) hold(j *job) (context.Context, error) {
	if j.after != nil {
		<-j.after
	}
	if j.candidate == nil {
		return j.ctx, nil
	}
	wall, err := s.wall()
	if err != nil {
		return nil, &dateError{err}
	}
	c := *j.candidate
	c.SavedAt = wall
	return context.WithValue(j.ctx, candidateKey{}, c), nil
}
