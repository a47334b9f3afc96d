package steps

import (
	"context"
	"fmt"
	"strings"

	"github.com/cucumber/godog"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/features/stage"
	"github.com/conform-dev/conform/simulator/world"
)

// MaxLanePhrases bounds the vocabulary of the wake lane. It has one of its own: nothing there is a feed, so no phrase of a feed fits.
const MaxLanePhrases = 24

// LanePhrases lists it as patterns.
func LanePhrases() []string {
	var out []string
	p := &play{}
	for _, ph := range append(p.laneWhen(), p.laneThen()...) {
		out = append(out, ph.text)
	}
	return out
}

// plane is a step that does something to the lane's server.
func (p *play) plane(a world.Action) func(context.Context) error {
	return p.on(func(ctx context.Context) error { return p.stage.Plane(ctx, a) })
}

// laneWhen are the phrases that make something happen on a wake lane, or wait until it has.
func (p *play) laneWhen() []phrase {
	return []phrase{
		{`the relay is (started|started again|stopped)`, func(ctx context.Context, what string) error {
			return p.on(func(ctx context.Context) error {
				if what == "stopped" {
					return p.stage.Leave(ctx)
				}
				return p.stage.Follow(ctx)
			})(ctx)
		}},
		{`(\d+) messages? (?:is|are) written for (the viewer|somebody else)`, func(ctx context.Context, n, whom string) error {
			verb := world.Mail
			if whom != "the viewer" {
				verb = world.MailOther
			}
			return p.onNumber(func(ctx context.Context, n event.Seq) error {
				return p.stage.Plane(ctx, world.Action{Verb: verb, N: int64(n)})
			})(ctx, n)
		}},
		{`the server (arms the viewer|disarms the viewer|falls silent|speaks again|is restarted|holds back its answers to polls)`, func(ctx context.Context, what string) error {
			verb := map[string]world.Verb{"arms the viewer": world.Arm, "disarms the viewer": world.Disarm, "falls silent": world.Silence,
				"speaks again": world.Speak, "is restarted": world.Reboot, "holds back its answers to polls": world.HoldPolls}[what]
			return p.plane(world.Action{Verb: verb})(ctx)
		}},
		{`the stream (ends|breaks|is reset)`, func(ctx context.Context, how string) error {
			return p.plane(world.Action{Verb: world.EndStream, Text: map[string]string{"ends": "eof", "breaks": "cut", "is reset": "reset"}[how]})(ctx)
		}},
		{`the server writes this( frame|, and no more):`, func(ctx context.Context, how string, d *godog.DocString) error {
			text := strings.TrimRight(d.Content, "\n")
			if how == " frame" {
				text += "\n\n"
			}
			return p.plane(world.Action{Verb: world.Write, Text: text})(ctx)
		}},
		{`the next (\d+) polls? (?:fails|fail)`, func(ctx context.Context, n string) error {
			return p.onNumber(func(ctx context.Context, n event.Seq) error {
				return p.stage.Plane(ctx, world.Action{Verb: world.FailPoll, N: int64(n)})
			})(ctx, n)
		}},
		{`the plane's log is lost and goes on behind (\d+)`, func(ctx context.Context, n string) error {
			return p.onNumber(func(ctx context.Context, n event.Seq) error {
				return p.stage.Plane(ctx, world.Action{Verb: world.LoseLog, N: int64(n)})
			})(ctx, n)
		}},
		{`the viewer's credential of class (\d) is revoked`, func(ctx context.Context, n string) error {
			return p.onNumber(func(ctx context.Context, n event.Seq) error {
				return p.stage.Plane(ctx, world.Action{Verb: world.Revoke, N: int64(n)})
			})(ctx, n)
		}},
		{`the relay shows (alive|unknown)`, func(ctx context.Context, what string) error {
			return p.stage.Until(ctx, "the lane to show "+what, func(v *stage.View) bool { return v.Lane == what })
		}},
		{`the catch-up has come to (done|failed|no-seam|not-fired)`, func(ctx context.Context, what string) error {
			return p.stage.Until(ctx, "the catch-up to be "+what, func(v *stage.View) bool { return v.Lane == "alive" && v.Caught == what })
		}},
		{`the relay has (counted|dropped|heard) (\d+) (?:wakes?|states?)`, func(ctx context.Context, what, times string) error {
			n, err := number(times)
			if err != nil {
				return err
			}
			return p.stage.Until(ctx, fmt.Sprintf("the relay to have %s %d", what, n), func(v *stage.View) bool {
				return map[string]int{"counted": v.Wakes, "dropped": v.Unused, "heard": v.Stated}[what] >= int(n)
			})
		}},
	}
}

// laneThen are the phrases that say what a wake lane should show at this place of the trace.
func (p *play) laneThen() []phrase {
	return []phrase{
		{`the lane is (alive|unknown): "([^"]+)"`, func(status, reason string) error {
			return p.expect(trace.ExpectLane, "status", status, "reason", reason)
		}},
		{`the catch-up is ([a-z-]+)(?:, (\d+|an unknown number) pending)?(?:: "([^"]+)")?`, func(state, pending, reason string) error {
			if pending == "an unknown number" || pending == "" {
				pending = "null"
			}
			return p.expect(trace.ExpectLane, "catchUp", state, "pending", pending, "catchUp-reason", reason)
		}},
		{`the mark is (\d+)`, func(n string) error { return p.expect(trace.ExpectLane, "mark", n) }},
		{`(\d+) wakes? (?:has|have) counted(?: and (\d+) (?:has|have) not(?:, the last as ([a-z-]+))?)?`, func(n, not, as string) error {
			return p.expect(trace.ExpectLane, "wakes", n, "dropped", not, "dropped-as", as)
		}},
		{`the server has answered (?:(at most|at least) )?(\d+) polls?`, func(how, n string) error {
			return p.expect(trace.ExpectPolls, map[string]string{"": "count", "at most": "max", "at least": "min"}[how], n)
		}},
		{`poll (\d+) asked for "([^"]+)" since (\d+)`, func(n, id, since string) error {
			return p.expect(trace.ExpectPoll, "n", n, "id", id, "since", since)
		}},
		{`request (\d+) brought (\d+) credentials? of class (\d) and no other`, func(n, count, class string) error {
			return p.expect(trace.ExpectBearers, "n", n, "count", count, "class", class)
		}},
		{`the (delivery|failure) axis is ([a-z]+) with (no reason|"[^"]+")`, func(axis, state, reason string) error {
			reason = strings.Trim(reason, `"`)
			if reason == "no reason" {
				reason = ""
			}
			return p.stage.Expect(trace.ExpectLane, map[string]string{axis: state, axis + "-reason": reason})
		}},
	}
}
