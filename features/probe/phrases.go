package probe

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cucumber/godog"

	"github.com/conform-dev/conform/core/trace"
)

// Bounds of the vocabularies of server scenarios: that of requests and wakes, and that of a feed.
const (
	MaxPhrases     = 40
	MaxFeedPhrases = 16
)

// whom is how a phrase names a person.
const whom = `(the viewer|another viewer|a stranger|a mere holder|an unknown face|visitor \d)`

// phrase is one step that people can write.
type phrase struct {
	text string
	do   any
}

// Bind registers every phrase for one scenario that p plays.
func Bind(sc *godog.ScenarioContext, p *Probe) {
	for _, ph := range p.phrases() {
		sc.Step("^"+ph.text+"$", ph.do)
	}
}

func (p *Probe) phrases() []phrase {
	return slices.Concat(p.when(), p.feedWhen(), p.deltaWhen(), p.then(), p.feedThen(), p.deltaThen())
}

// Phrases lists the vocabulary as patterns.
func Phrases() []string {
	var out []string
	p := &Probe{}
	for _, ph := range p.phrases() {
		out = append(out, ph.text)
	}
	return out
}

// when are the phrases that ask, or wait for what was asked for.
func (p *Probe) when() []phrase {
	return []phrase{
		{whom + ` opens (a|\d+) streams?`, p.opens},
		{whom + ` opens a stream with its plane credential beside`, func(ctx context.Context, who string) error {
			if err := p.attempt(ctx, who); err != nil {
				return err
			}
			token, err := p.token(who, 3)
			if err != nil {
				return err
			}
			q := question{who: who, class: 1, path: p.target.Events, stream: true, odd: "its class-3 credential beside",
				header: http.Header{"X-Neo-Mc-Authorization": {"Bearer " + token}}}
			n, admitted, err := p.ask(ctx, q)
			if err != nil || !admitted {
				return err
			}
			return p.hears(ctx, n, "state", 1)
		}},
		{whom + ` opens as many streams as one may`, func(ctx context.Context, who string) error {
			return p.opensMany(ctx, who, p.target.Limits.ViewerStreams)
		}},
		{`visitors open as many streams as there may be`, p.fill},
		{whom + ` asks as often as one window allows`, p.exhaust},
		{whom + ` asks once more`, func(ctx context.Context, who string) error {
			_, _, err := p.knock(ctx, who)
			return err
		}},
		{`the window of ` + whom + ` is over`, func(ctx context.Context, who string) error { return p.target.attempts(who).renew(ctx) }},
		{`somebody asks for the stream with:`, p.asksWith},
		{`stream (\d+) is left`, func(n int) error { return p.leave(n) }},
		{whom + ` asks until (there is room|nobody else is connected)`, p.asksUntil},
		{`(\d+) messages? (?:is|are) written for ` + whom, func(ctx context.Context, n int, who string) error { return p.hook(ctx, Publish, who, n) }},
		{`the server (is restarted|is shut down|loses the next wake that it accepts)`, func(ctx context.Context, what string) error {
			return p.hook(ctx, map[string]Verb{"is restarted": Restart, "is shut down": ShutDown, "loses the next wake that it accepts": Lose}[what], "", 1)
		}},
		{`the server (arms|disarms) ` + whom, func(ctx context.Context, what, who string) error {
			return p.hook(ctx, map[string]Verb{"arms": Arm, "disarms": Disarm}[what], who, 1)
		}},
		{`as many wakes for ` + whom + ` are posted as one window allows`, func(ctx context.Context, who string) error {
			b := p.target.wakes(who)
			if err := b.renew(ctx); err != nil {
				return err
			}
			return p.posts(ctx, strconv.Itoa(b.most), who, nil)
		}},
		{`one wake more for ` + whom + ` is posted`, func(ctx context.Context, who string) error {
			l, err := p.write(who)
			if err != nil {
				return err
			}
			return p.post(ctx, l, nil)
		}},
		{`(a|\d+) wakes? for ` + whom + ` (?:is|are) posted`, func(ctx context.Context, n, who string) error { return p.posts(ctx, n, who, nil) }},
		{`(a|\d+) wakes? for ` + whom + ` (?:is|are) posted with:`, p.posts},
		{`(\d+) wakes for ` + whom + ` are posted, each when stream (\d+) has heard the one before, with:`, p.postsInTurn},
		{`stream (\d+) has heard (\d+) (wake|state|comment)s?`, func(ctx context.Context, n, times int, what string) error { return p.hears(ctx, n, what, times) }},
		{`stream (\d+) is over`, func(ctx context.Context, n int) error {
			return p.wait(ctx, fmt.Sprintf("the end of stream %d", n), p.patience, func() (bool, <-chan struct{}) {
				_, over, changed := p.look(n, "")
				return over, changed
			})
		}},
		{`stream (\d+) is read (no more|again)`, func(n int, how string) error {
			s, err := p.open(n)
			if err != nil {
				return err
			}
			switch {
			case s == nil:
			case how == "again":
				s.resume()
			default:
				s.pause()
			}
			return nil
		}},
		{whom + ` polls (with the tool )?for (itself|no subscription|an unknown subscription|another viewer) since (\d+|what answer \d+ said|what request \d+ asked)`, p.polls},
		{whom + ` lists its subscriptions`, func(ctx context.Context, who string) error { return p.call(ctx, who, map[string]any{"action": "list"}) }},
	}
}

func (p *Probe) opens(ctx context.Context, who, n string) error {
	times := 1
	if n != "a" {
		times, _ = strconv.Atoi(n)
	}
	return p.opensMany(ctx, who, times)
}

func (p *Probe) opensMany(ctx context.Context, who string, times int) error {
	for range times {
		if err := p.attempt(ctx, who); err != nil {
			return err
		}
		if _, _, err := p.knock(ctx, who); err != nil {
			return err
		}
	}
	return nil
}

// fill takes every place of the server, each visitor as many as one may.
func (p *Probe) fill(ctx context.Context) error {
	left := p.target.Limits.Streams
	for i := 1; left > 0; i++ {
		n := min(left, p.target.Limits.ViewerStreams)
		if err := p.opensMany(ctx, Visitor+" "+strconv.Itoa(i), n); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// exhaust uses up a window that nobody has begun, and leaves each stream at once.
func (p *Probe) exhaust(ctx context.Context, who string) error {
	b := p.target.attempts(who)
	if err := b.renew(ctx); err != nil {
		return err
	}
	for range b.most {
		b.spend()
		n, admitted, err := p.knock(ctx, who)
		if err != nil {
			return err
		}
		if admitted {
			if err := p.leave(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// asksWith makes one request for each row: as (a person's credential), or authorization (the header in full), class, method, path, host,
// origin.
func (p *Probe) asksWith(ctx context.Context, t *godog.Table) error {
	rows, err := table(t, "as", "class", "authorization", "method", "path", "host", "origin")
	if err != nil {
		return err
	}
	for _, row := range rows {
		q := question{class: 1, path: p.target.Events, method: row["method"], host: row["host"], auth: row["authorization"], stream: true}
		if as := row["as"]; as != "" && as != "nobody" {
			q.who = as
			if err := p.attempt(ctx, as); err != nil {
				return err
			}
		}
		if row["class"] == "3" {
			q.class = 3
		}
		switch path := row["path"]; path {
		case "":
		case "in upper case":
			q.path = strings.ToUpper(q.path)
		case "with a slash behind it":
			q.path += "/"
		case "with a query":
			q.path += "?since=1"
		default:
			return fmt.Errorf("path: %q is unknown", path)
		}
		var odd []string
		for _, name := range []string{"as", "class", "authorization", "path", "host", "origin"} {
			if row[name] != "" {
				odd = append(odd, name+" "+row[name])
			}
		}
		q.odd = strings.Join(odd, "; ")
		if origin := row["origin"]; origin != "" {
			q.header = map[string][]string{"Origin": {origin}}
		}
		n, admitted, err := p.ask(ctx, q)
		if err != nil {
			return err
		}
		if admitted {
			if err := p.hears(ctx, n, "state", 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// asksUntil repeats, a bounded number of times, what a server cannot know at once.
func (p *Probe) asksUntil(ctx context.Context, who, what string) error {
	return p.until(ctx, who, func(n int, admitted bool) bool {
		if what == "there is room" {
			return admitted
		}
		return admitted && p.saysAlone(n)
	})
}

// saysAlone says whether the state of stream n counts nobody.
func (p *Probe) saysAlone(n int) bool {
	for _, r := range p.Records() {
		if r.Actor == trace.Examiner && r.Kind == trace.ExaminerHeard && int(r.Epoch) == n && r.Type == "state" {
			return strings.Contains(r.Detail, `"connectedIdentities":0`)
		}
	}
	return false
}

func (p *Probe) hook(ctx context.Context, verb Verb, who string, n int) error {
	if err := p.target.Do(ctx, verb, who, n); err != nil {
		return fmt.Errorf("hook %s: %w", verb, err)
	}
	p.learn()
	r := trace.New(trace.Examiner, trace.ExaminerHook)
	r.Detail, r.Args = string(verb), map[string]string{"n": strconv.Itoa(n)}
	if who != "" {
		r.Args["whom"] = who
	}
	p.add(r)
	return nil
}

// postsInTurn posts wakes no faster than stream n hears them: a server may end any stream that owes too much, also one that is read by a
// busy machine. It stops at the first wake that does not come.
func (p *Probe) postsInTurn(ctx context.Context, times int, who string, n int, t *godog.Table) error {
	before, _, _ := p.look(n, "wake")
	for i := 1; i <= times; i++ {
		if err := p.posts(ctx, "1", who, t); err != nil {
			return err
		}
		if err := p.hears(ctx, n, "wake", before+i); err != nil {
			return err
		}
		if got, _, _ := p.look(n, "wake"); got < before+i {
			return nil
		}
	}
	return nil
}

func (p *Probe) posts(ctx context.Context, n, who string, t *godog.Table) error {
	times := 1
	if n != "a" {
		times, _ = strconv.Atoi(n)
	}
	var rows []map[string]string
	if t != nil {
		var err error
		if rows, err = table(t, "part", "value"); err != nil {
			return err
		}
	}
	for range times {
		l, err := p.write(who)
		if err != nil {
			return err
		}
		var odd []string
		for _, row := range rows {
			set, ok := parts[row["part"]]
			if !ok {
				return fmt.Errorf("part: %q is none of a wake", row["part"])
			}
			if err := set(l, row["value"]); err != nil {
				return err
			}
			odd = append(odd, row["part"]+" "+row["value"])
		}
		if err := p.target.wakes(who).room(ctx); err != nil {
			return err
		}
		p.target.wakes(who).spend()
		if err := p.post(ctx, l, odd); err != nil {
			return err
		}
	}
	return nil
}

func (p *Probe) polls(ctx context.Context, who, tool, of, since string) error {
	mark, err := p.mark(since)
	if err != nil {
		return err
	}
	id := p.target.People[who].Subscription
	switch of {
	case "no subscription":
		id = ""
	case "an unknown subscription":
		id = "WAKE_SUB:nobody-has-this-one"
	case Other:
		id = p.target.People[Other].Subscription
	}
	if tool == "" {
		return p.poll(ctx, who, id, mark)
	}
	return p.call(ctx, who, arguments("poll-digest", id, mark))
}
