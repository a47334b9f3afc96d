package probe

import (
	"context"
	"fmt"
	"time"
)

// lag is how much longer than its length a window is waited for: the server began it when it saw the request, not when it was sent.
const lag = 50 * time.Millisecond

// budget is what may be done so often in a window that begins with the first time. A server of somebody's own has one for all
// scenarios.
type budget struct {
	most   int
	window time.Duration
	began  time.Time
	spent  int
}

// over says whether the window has ended.
func (b *budget) over() bool { return b.spent == 0 || time.Since(b.began) > b.window+lag }

// spend counts once, whatever becomes of it.
func (b *budget) spend() {
	if b.over() {
		b.began, b.spent = time.Now(), 0
	}
	b.spent++
}

// renew waits until the window is over. The wait is the contract's, not the harness's: there is nothing to be told of.
func (b *budget) renew(ctx context.Context) error {
	if b.window == 0 {
		return fmt.Errorf("the subject declares no window for it")
	}
	if b.over() {
		b.spent = 0
		return nil
	}
	timer := time.NewTimer(time.Until(b.began.Add(b.window + lag)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.spent = 0
	return nil
}

// room keeps within the budget: where the window has none left, it waits for the next one.
func (b *budget) room(ctx context.Context) error {
	if b.most > 0 && !b.over() && b.spent >= b.most {
		return b.renew(ctx)
	}
	return nil
}

// attempts is the budget of whom for streams; wakes the one for its subscription.
func (t *Target) attempts(whom string) *budget {
	return t.budget("attempts of "+whom, t.Limits.Attempts, t.Limits.AttemptWindow)
}

func (t *Target) wakes(whom string) *budget {
	return t.budget("wakes for "+whom, t.Limits.WakeRequests, t.Limits.WakeWindow)
}

func (t *Target) budget(key string, most int, window time.Duration) *budget {
	if t.budgets == nil {
		t.budgets = map[string]*budget{}
	}
	if t.budgets[key] == nil {
		t.budgets[key] = &budget{most: most, window: window}
	}
	return t.budgets[key]
}

// attempt keeps within the budget of whom, and counts.
func (p *Probe) attempt(ctx context.Context, whom string) error {
	b := p.target.attempts(whom)
	if err := b.room(ctx); err != nil {
		return err
	}
	b.spend()
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
	patience := p.patience
	if what == heardComment {
		patience += time.Duration(times) * p.target.Limits.Heartbeat
	}
	return p.wait(ctx, fmt.Sprintf("stream %d to hear %d %s", n, times, what), patience, func() (bool, <-chan struct{}) {
		got, over, changed := p.look(n, what)
		return got >= times || over, changed
	})
}

// MaxTries bounds the requests until a server has noticed that somebody left.
const MaxTries = 20

// between is the time between two of them: nothing tells when a server notices.
const between = 50 * time.Millisecond

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

// leave hangs up. A request that was refused left nothing to leave: what is expected of it fails by itself.
func (p *Probe) leave(n int) error {
	s, err := p.open(n)
	if s != nil {
		s.leave()
	}
	return err
}
