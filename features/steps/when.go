package steps

import (
	"context"
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/features/stage"
)

// when are the phrases that make something happen, or wait until it has.
func (p *play) when() []phrase {
	return []phrase{
		{`the client (?:follows the feed|is started again)`, p.on(func(ctx context.Context) error { return p.stage.Follow(ctx) })},
		{`(\d+) changes? (?:is|are) published`, p.onNumber(func(ctx context.Context, n event.Seq) error {
			return p.stage.Publish(ctx, int(n))
		})},
		{`the server forgets all but the last (\d+) changes?`, p.onNumber(func(ctx context.Context, n event.Seq) error {
			return p.stage.Trim(ctx, int(n))
		})},
		{`the server (is restored from a backup|starts another stream) at (\d+)`, func(ctx context.Context, what, at string) error {
			return p.onNumber(func(ctx context.Context, n event.Seq) error {
				return p.stage.Restart(ctx, n, what == "starts another stream")
			})(ctx, at)
		}},
		{`the application (closes the client twice|asks for a snapshot with ([a-z-]+))`, func(ctx context.Context, what, reason string) error {
			return p.on(func(ctx context.Context) error {
				if reason == "" {
					return p.stage.Leave(ctx)
				}
				r, ok := event.ParseReason(reason)
				if !ok {
					return fmt.Errorf("%q is no reason", reason)
				}
				return p.stage.Require(ctx, r)
			})(ctx)
		}},
		{`the connection breaks(?:, where one is held)?`, p.on(func(ctx context.Context) error { return p.stage.Cut(ctx) })},
		{`the server (cannot be reached|can be reached again)`, func(ctx context.Context, what string) error {
			return p.on(func(ctx context.Context) error { return p.stage.Reach(ctx, what == "can be reached again") })(ctx)
		}},
		{`(the consumer stands still|the consumer fails|the store fails) at (\d+)`, func(ctx context.Context, what, at string) error {
			plan := map[string]func(context.Context, event.Seq) error{"the consumer stands still": p.stage.Block,
				"the consumer fails": p.stage.FailConsumer, "the store fails": p.stage.FailStore}[what]
			return p.onNumber(plan)(ctx, at)
		}},
		{`the consumer (has come to stand still|goes on)`, func(ctx context.Context, what string) error {
			do := p.stage.Unblock
			if what != "goes on" {
				do = p.stage.Stopped
			}
			return p.on(do)(ctx)
		}},
		{`the (plugin process|process that holds the store) is killed`, func(ctx context.Context, what string) error {
			kill := p.stage.KillPlugin
			if what != "plugin process" {
				kill = p.stage.KillStore
			}
			return p.on(kill)(ctx)
		}},
		{`([\d,]+) ms pass( since the last sign of life)?`, func(ctx context.Context, ms, since string) error {
			pass := p.stage.Advance
			if since != "" {
				pass = p.stage.Silence
			}
			return p.onNumber(func(ctx context.Context, n event.Seq) error { return pass(ctx, time.Duration(n)*time.Millisecond) })(ctx, ms)
		}},
		{`(everything published has arrived|the session is over)`, func(ctx context.Context, what string) error {
			if what == "the session is over" {
				return p.until("the end of the session", func(v *stage.View) bool { return v.Ended && v.Idle() })(ctx)
			}
			return p.until("everything published to have arrived", (*stage.View).Settled)(ctx)
		}},
		{`(the server has been asked|the server has been left|the server has heard|the client has waited|the gate has been offered|a snapshot has been required) (\d+) (?:times?|events?)`, p.reached},
		{`the gate has refused something with ([a-z-]+)`, func(ctx context.Context, reason string) error {
			return p.stage.Until(ctx, "a delivery refused with "+reason, func(v *stage.View) bool { return v.Stopped[reason] > 0 })
		}},
	}
}

func (p *play) until(what string, c stage.Condition) func(context.Context) error {
	return p.on(func(ctx context.Context) error { return p.stage.Until(ctx, what, c) })
}

// reached waits until something was counted so often.
func (p *play) reached(ctx context.Context, what, times string) error {
	n, err := number(times)
	if err != nil {
		return err
	}
	count := map[string]func(*stage.View) int{
		"the server has been asked":    func(v *stage.View) int { return v.Requests },
		"the server has heard":         func(v *stage.View) int { return v.Heard },
		"the server has been left":     func(v *stage.View) int { return v.Closed },
		"the client has waited":        func(v *stage.View) int { return v.Waits },
		"the gate has been offered":    func(v *stage.View) int { return v.Offered },
		"a snapshot has been required": func(v *stage.View) int { return v.Required },
	}[what]
	return p.stage.Until(ctx, what+" "+times+" times", func(v *stage.View) bool { return count(v) >= int(n) })
}
