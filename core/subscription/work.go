package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// forgetTimeout bounds the store's Forget: the next connection waits for it, and a record that may come back must not.
const forgetTimeout = 10 * time.Second

// job is what the gate owes: an event for the consumer or a position for the store. One at a time is out.
type job struct {
	ctx      context.Context
	apply    *event.Event
	save     *checkpoint.Checkpoint
	seq      event.Seq
	withhold bool
	after    chan struct{} // closed before the job may start; nil if nothing is in the way

	candidate *checkpoint.Checkpoint // beside apply, for a consumer that keeps it itself
	done      chan struct{}          // closed when an apply with candidates is over; nil without them
}

// dispatch hands the owed job to the worker. At most one is owed, so the send never blocks.
func (s *Subscription) dispatch(due *session.Due) {
	if due.Apply == nil && due.Save == nil {
		return
	}
	if s.workCtx == nil {
		s.workCtx, s.workCancel = context.WithCancel(s.base)
	}
	j := job{ctx: s.workCtx, apply: due.Apply}
	if due.Apply != nil && s.cfg.offer {
		s.offer(&j)
	}
	if due.Save != nil {
		j.withhold, j.after, j.seq = due.Withhold, s.forgetting, due.Save.Pos.Seq
		j.save = s.checkpoint(*due.Save)
	}
	s.work <- j
}

// checkpoint dates and binds a position to what is in force now (D-33, D-41).
func (s *Subscription) checkpoint(h gate.Held) *checkpoint.Checkpoint {
	var ids []string
	if s.cfg.saveIDs {
		ids = s.ses.RecentIDs()
	}
	c := drive.Checkpoint(s.bound(), h, ids)
	return &c
}

// bound is what positions that are accepted now belong to.
func (s *Subscription) bound() checkpoint.Context {
	scope := *s.scope
	scope.SourceVersion = s.ses.SourceVersion()
	return scope
}

// worker runs the consumer and the store's saves, one after the other.
func (s *Subscription) worker() {
	for {
		select {
		case j := <-s.work:
			s.run(j)
		case <-s.over:
			select { // what was handed out last still owes its result; nothing follows it
			case j := <-s.work:
				s.run(j)
			default:
				return
			}
		}
	}
}

var (
	errExited  = errors.New("the function ended its goroutine (runtime.Goexit)")
	errGivenUp = errors.New("given up before it ran")
)

// run does one job. The result is reported even when the function panics or ends its goroutine.
func (s *Subscription) run(j job) {
	err := errExited
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v}
		}
		s.result(j, err)
	}()
	switch {
	case j.ctx.Err() != nil:
		err = errGivenUp // the gate drops the result; its caller's code need not run
	case j.apply != nil:
		ev := *j.apply // the gate's own copy is not for strangers
		ctx := j.ctx
		if j.done != nil {
			if ctx, err = s.hold(&j); err != nil {
				return
			}
			err = errExited
		}
		err = s.apply(ctx, &ev)
	case j.withhold:
		err = nil
	default:
		if j.after != nil {
			<-j.after
		}
		err = s.cfg.store.Save(j.ctx, *j.save)
	}
}

func (s *Subscription) result(j job, err error) {
	if j.done != nil {
		close(j.done)
	}
	var wall int64
	var clock error
	if undated := (*dateError)(nil); errors.As(err, &undated) {
		err, clock = nil, undated.cause
	} else if j.apply != nil && err == nil {
		wall, clock = s.wall()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cause := errors.Join(err, clock); cause != nil && j.ctx.Err() == nil {
		s.cause = cause
	}
	switch {
	case j.save != nil:
		if s.rec != nil && !j.withhold && j.ctx.Err() == nil {
			s.rec.Wrote(s.now(), j.seq, err)
		}
		s.telemetry.hear(drive.SavedInput)
		s.locked(func(now session.Now) { s.ses.Saved(now, err) })
	case clock != nil:
		s.locked(func(now session.Now) { s.ses.Fail(now, event.DeliveryFailed) })
		s.locked(func(now session.Now) { s.ses.Applied(now, nil) }) // the result is still owed, and void
	default:
		s.locked(func(now session.Now) { now.Wall = wall; s.ses.Applied(now, err) })
	}
}

// wall asks the wall clock, on one goroutine at a time.
func (s *Subscription) wall() (ms int64, err error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	err = contain(func() { ms = s.cfg.wall() })
	return ms, err
}

// forget makes the store drop its record. The next connection and the next save wait for it; the session sees to it that
// no save is running. A store that cannot forget would bring a dead position back after a restart, so that ends the
// subscription like a save that failed.
func (s *Subscription) forget() {
	done, before, running := make(chan struct{}), s.forgetting, s.applying
	s.forgetting = done
	scope := *s.scope
	s.running.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		if running != nil { // its consumer may still keep the position that is to go
			<-running
		}
		ctx, cancel := context.WithTimeout(s.base, forgetTimeout)
		defer cancel()
		answer := make(chan error, 1)
		s.running.Go(func() {
			var err error
			p := contain(func() { err = s.cfg.store.Forget(ctx, scope) })
			answer <- errors.Join(p, err)
		})
		var err error
		select {
		case err = <-answer:
		case <-ctx.Done(): // a store that does not hear it must not hold everything up
			err = ctx.Err()
		}
		s.step(func(now session.Now) {
			if s.rec != nil {
				s.rec.Forgot(now, err)
			}
			if err != nil {
				s.cause = fmt.Errorf("the store could not forget: %w", err)
				s.ses.Fail(now, event.CheckpointSaveFailed)
			}
		})
	})
}

// PanicError is a panic of the caller's code, contained.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// contain runs f and turns a panic, or the end of its goroutine, into an error (D-24).
func contain(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v}
		}
	}()
	f()
	return nil
}
