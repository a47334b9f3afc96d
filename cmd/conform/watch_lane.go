package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conform-dev/conform/core/credential"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/fleetwake"
)

// laneFlags are the flags of `conform watch --transport fleetwake`.
type laneFlags struct {
	sources credential.Sources
	pollURL string
	pollMCP bool
}

// laneOnly are the flags that only a wake lane has, and feedOnly those that it has not.
var (
	laneOnly = []string{"admission-bearer", "plane-bearer", "admission-token", "fleet-config", "poll-url", "poll-mcp"}
	feedOnly = []string{"store", "source", "credential", "header", "max-age", "count"}
)

func (f *laneFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.sources.AdmissionBearer, "admission-bearer", "", "fleetwake: where the fleet credential is, env:VARIABLE or file:PATH (default: its environment variables)")
	c.Flags().StringVar(&f.sources.PlaneBearer, "plane-bearer", "", "fleetwake: where the credential of the poll is, in the same form")
	c.Flags().StringVar(&f.sources.AdmissionToken, "admission-token", "", "fleetwake: where the bootstrap token is, to compare with: file:PATH")
	c.Flags().StringVar(&f.sources.Config, "fleet-config", "", "fleetwake: YAML file with the same settings, under the key fleet")
	c.Flags().StringVar(&f.pollURL, "poll-url", "", "fleetwake: URL that catch-up polls are posted to")
	c.Flags().BoolVar(&f.pollMCP, "poll-mcp", false, "fleetwake: catch-up polls are calls of the plane's tool, at "+fleetwake.MCPPath)
}

// check refuses flags that would do nothing.
func (f *laneFlags) check(c *cobra.Command, lane bool) error {
	idle, why := laneOnly, "only --transport fleetwake has it"
	if lane {
		idle, why = feedOnly, "a wake lane has nothing of the kind"
	}
	for _, name := range idle {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s: %s", name, why)
		}
	}
	if f.pollURL != "" && f.pollMCP {
		return errors.New("--poll-url and --poll-mcp: a poll is made in one way")
	}
	return nil
}

// watchLane follows a wake lane and prints what a cockpit would show.
func watchLane(c *cobra.Command, address, shown string, follow transport.Transport, f watchFlags) error {
	if err := f.lane.check(c, true); err != nil {
		return usage("%v", err)
	}
	relay, err := credential.Resolve(f.lane.sources)
	if err != nil {
		return usage("%v", err)
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	p := &watchLines{out: c.OutOrStdout(), json: f.json, now: time.Now, stop: cancel}
	for _, note := range relay.Notes() {
		p.say(watchLine{What: "note", Text: odd(note)})
	}
	if !relay.Declared() { // no consumer is built; the line says what a cockpit would
		p.sayLane(laneLine{Alive: "unknown", Reason: relay.Reason()})
		return usage("%s", oddUpTo(relay.Reason(), maxReason))
	}
	opts, err := watchOptions(f)
	if err != nil {
		return usage("%v", err)
	}
	options, err := f.lane.options(f.options)
	if err != nil {
		return usage("%v", err)
	}
	p.say(watchLine{What: "watch", Text: shown + ", a wake lane"})
	opts = append(opts, subscription.WithEndpoint(address), subscription.WithTransportOptions(options), subscription.WithObserver(p.lane),
		subscription.WithCredentials(relay.CredentialSource()), subscription.WithQuery(transport.Query{SourceID: "fleet"}))
	if relay.Headers() != nil {
		opts = append(opts, subscription.WithHeaders(relay.HeaderSource()))
	}
	nothing := func(context.Context, *event.Event) error { return nil } // a lane delivers none
	sub, err := subscription.Open(ctx, follow, nothing, opts...)
	if err != nil {
		return usage("%v", err)
	}
	return ended(ctx, sub, p)
}

// options are the transport's, with the way to poll.
func (f *laneFlags) options(given []string) (map[string]string, error) {
	options, err := parseOptions(given)
	if err != nil {
		return nil, err
	}
	switch {
	case f.pollURL != "":
		if _, err := showAddress(f.pollURL); err != nil {
			return nil, fmt.Errorf("--poll-url: %w", err)
		}
		options[fleetwake.OptionPoll], options[fleetwake.OptionPollURL] = fleetwake.PollURL, f.pollURL
	case f.pollMCP:
		options[fleetwake.OptionPoll] = fleetwake.PollMCP
	}
	return options, nil
}

// maxReason is how many bytes of a reason are shown: the longest of ours, with the path of a file.
const maxReason = 600

// laneLine is the line of a lane. A count that is not known is null, never 0.
type laneLine struct {
	At      string `json:"at"`
	What    string `json:"what"`  // lane
	Alive   any    `json:"alive"` // true or "unknown"
	Reason  string `json:"reason"`
	CatchUp string `json:"catchUp,omitempty"`
	Pending *int64 `json:"pending"`
	Why     string `json:"catchUpReason,omitempty"` // of every state but done
	Mark    int64  `json:"mark"`
	Wakes   uint64 `json:"wakes"`
	Dropped uint64 `json:"dropped"`
	Last    string `json:"droppedAs,omitempty"`
	Text    string `json:"text"`
}

// laneOf reads a lane record.
func laneOf(r trace.Record) laneLine {
	l := laneLine{Alive: "unknown", Reason: r.Detail, CatchUp: r.Args["catchUp"], Why: r.Args["catchUp-reason"], Last: r.Args["dropped-as"]}
	if r.Status == "alive" {
		l.Alive = true
	}
	l.Mark, _ = strconv.ParseInt(r.Args["mark"], 10, 64)
	l.Wakes, _ = strconv.ParseUint(r.Args["wakes"], 10, 64)
	l.Dropped, _ = strconv.ParseUint(r.Args["dropped"], 10, 64)
	if n, err := strconv.ParseInt(r.Args["pending"], 10, 64); err == nil {
		l.Pending = &n
	}
	return l
}

// text is the line for people: whether, why, and how far the client knows.
func (l *laneLine) text() string {
	word := "unknown"
	if l.Alive == true {
		word = "alive"
	}
	parts := []string{word + ": " + oddUpTo(l.Reason, maxReason)}
	if l.CatchUp != "" {
		caught := "catch-up " + l.CatchUp
		if l.Pending != nil {
			caught += fmt.Sprintf(", %d pending", *l.Pending)
		}
		if l.Why != "" {
			caught += " (" + oddUpTo(l.Why, maxReason) + ")"
		}
		parts = append(parts, caught, fmt.Sprintf("mark %d", l.Mark))
	}
	if l.Dropped > 0 {
		parts = append(parts, fmt.Sprintf("%d dropped, the last as %s", l.Dropped, odd(l.Last)))
	}
	return strings.Join(parts, " | ")
}

func (p *watchLines) sayLane(l laneLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.putLane(l)
}

// putLane prints a lane unless it says what the last line said: that a wake came is seen by its mark.
func (p *watchLines) putLane(l laneLine) {
	if l.Text = l.text(); l.Text == p.answer {
		return
	}
	p.answer = l.Text
	l.What = "lane"
	p.print(l.What, l.Text, func(at string) any { l.At = at; return l })
}

// lane prints what a lane shows, and what ends or delays its connection.
func (p *watchLines) lane(r trace.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := watchLine{Epoch: r.Epoch, Reason: r.Reason, Detail: r.Detail, Ms: r.Ms}
	switch {
	case r.Actor != trace.Session:
	case r.Kind == trace.SessionLane:
		p.putLane(laneOf(r))
	case r.Kind == trace.SessionConnect:
		l.What, l.Text = "connect", fmt.Sprintf("%d: opens the wake stream", r.Epoch)
		p.put(l)
	case slices.Contains([]trace.Kind{trace.SessionWait, trace.SessionHangup, trace.SessionEnd}, r.Kind),
		r.Kind == trace.SessionSignal && slices.Contains([]string{"ended", "refused"}, r.Status):
		p.session(r, l)
	}
}

// parseOptions reads NAME=VALUE.
func parseOptions(given []string) (map[string]string, error) {
	options := map[string]string{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, errors.New("--option: not NAME=VALUE")
		}
		options[name] = value
	}
	return options, nil
}
