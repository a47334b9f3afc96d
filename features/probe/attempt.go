package probe

import (
	"context"
	"fmt"
	"time"
)

// lag is how much longer than its length a window is waited for: the server began it when it saw the request, not when it was sent.
const lag = 50 * time.Millisecond

// attempt keeps within the budget of whom: where the window has no room left, it waits for the next one. A server of somebody's own
// has one budget for all scenarios.
func (p *Probe) attempt(ctx context.Context, whom string) error {
	t := p.target
	if t.Limits.Attempts == 0 {
		return nil
	}
	if t.spent[whom] >= t.Limits.Attempts {
		if err := p.nextWindow(ctx, whom); err != nil {
			return err
		}
	}
	p.spend(whom)
	return nil
}

// spend counts an attempt, whatever becomes of it.
func (p *Probe) spend(whom string) {
	t := p.target
	if t.attempts == nil {
		t.attempts, t.spent = map[string]time.Time{}, map[string]int{}
	}
	if t.spent[whom] == 0 || time.Since(t.attempts[whom]) > t.Limits.AttemptWindow+lag {
		t.attempts[whom], t.spent[whom] = time.Now(), 0
	}
	t.spent[whom]++
}

// nextWindow waits until the attempts of whom count anew. The wait is the contract's, not the harness's: there is nothing to be told of.
func (p *Probe) nextWindow(ctx context.Context, whom string) error {
	t := p.target
	if t.Limits.AttemptWindow == 0 {
		return fmt.Errorf("the subject declares no window of attempts")
	}
	if t.spent[whom] == 0 {
		return nil
	}
	timer := time.NewTimer(time.Until(t.attempts[whom].Add(t.Limits.AttemptWindow + lag)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	t.spent[whom] = 0
	return nil
}

// knock opens a stream for whom and waits for its state frame.
func (p *Probe) knock(ctx context.Context, whom string) (n int, admitted bool, err error) {
	n, admitted, err = p.ask(ctx, question{who: whom, class: 1, path: p.target.Events, stream: true})
	if err != nil || !admitted {
		return n, admitted, err
	}
	return n, true, p.hears(ctx, n, "state", 1)
}

// hears waits until stream n has heard what so often, or is over.
func (p *Probe) hears(ctx context.Context, n int, what string, times int) error {
	return p.wait(ctx, fmt.Sprintf("stream %d to hear %d %s", n, times, what), Patience+p.target.Limits.Heartbeat, func() (bool, <-chan struct{}) {
		got, over, changed := p.look(n, what)
		return got >= times || over, changed
	})
}

// MaxTries bounds the requests until a server has noticed that somebody left.
const MaxTries = 50

// between is the time between two of them: nothing tells when a server notices.
const between = 20 * time.Millisecond

// until knocks for whom, and leaves again, until done says that what came back is what is waited for; the last stream stays open.
func (p *Probe) until(ctx context.Context, whom string, done func(n int, admitted bool) bool) error {
	for range MaxTries {
		if err := p.attempt(ctx, whom); err != nil {
			return err
		}
		n, admitted, err := p.knock(ctx, whom)
		if err != nil || done(n, admitted) {
			return err
		}
		if admitted {
			if err := p.leave(n); err != nil {
				return err
			}
		}
		timer := time.NewTimer(between)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return nil // what is expected of the last answer fails by itself
}

func (p *Probe) leave(n int) error {
	s, err := p.open(n)
	if err != nil {
		return err
	}
	s.leave()
	return nil
}
