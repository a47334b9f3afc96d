package steps

import (
	"strings"

	"github.com/conform-dev/conform/core/trace"
)

// then are the phrases that say what should be true at this place of the trace. They write it down; the judge reads it.
func (p *play) then() []phrase {
	return []phrase{
		{`the consumer has seen exactly: (.+)`, func(list string) error {
			list, err := events(list)
			if err != nil {
				return err
			}
			return p.stage.Expect(trace.ExpectConsumerSaw, map[string]string{"events": list})
		}},
		{`the consumer has never seen (?:(\d+)|the event "([^"]+)")`, func(seq, id string) error {
			return p.expect(trace.ExpectConsumerNotSaw, "seq", seq, "id", id)
		}},
		{`the consumer's records equal the feed's(?: at (\d+))?`, func(seq string) error {
			if seq == "" {
				return p.expect(trace.ExpectConverged)
			}
			return p.expect(trace.ExpectStateOf, "seq", seq)
		}},
		{`(?:the event "([^"]+)"|([a-z]+ \d+)) ended as ([a-z-]+)(?: with ([a-z-]+))?`, func(id, ev, status, reason string) error {
			return p.expect(trace.ExpectDelivery, "id", id, "event", ev, "status", status, "reason", reason)
		}},
		{`the gate is ([a-z-]+)(?: with ([a-z-]+))?`, func(phase, reason string) error {
			return p.stage.Expect(trace.ExpectPhase, map[string]string{"phase": phase, "reason": reason})
		}},
		{`the gate has counted (\d+) (accepted|duplicates|gaps|overflows)`, func(n, what string) error {
			return p.expect(trace.ExpectCounts, what, n)
		}},
		{`the server has seen (?:(exactly|at most|at least) )?(\d+) requests?`, func(how, n string) error {
			name := map[string]string{"": "count", "exactly": "count", "at most": "max", "at least": "min"}[how]
			return p.expect(trace.ExpectRequests, name, n)
		}},
		{`the server has received (?:an? (close|ping|pong)(?: with (\d+))?|no (close|ping|pong))`, func(what, code, none string) error {
			if none != "" {
				return p.expect(trace.ExpectReceived, "what", none, "count", "0")
			}
			return p.expect(trace.ExpectReceived, "what", what, "detail", code)
		}},
		{`request (\d+) asked (?:for a (snapshot)|to go on from (\d+))`, func(n, snapshot, seq string) error {
			return p.expect(trace.ExpectRequest, "n", n, "from", snapshot+seq)
		}},
		{`request (\d+) was (accepted|answered with \d+)`, func(n, how string) error {
			status := strings.TrimPrefix(how, "answered with ")
			return p.expect(trace.ExpectRequest, "n", n, "status", status)
		}},
		{`the position of (\d+) was sent (\d+) times?`, func(seq, n string) error {
			return p.expect(trace.ExpectResumeTries, "seq", seq, "count", n)
		}},
		{`request (\d+) came at least ([\d,]+) ms after (request|the client's attempt) (\d+)`, func(to, ms, what, from string) error {
			if what != "request" {
				what = "connect"
			}
			return p.expect(trace.ExpectElapsed, "from", what+" "+from, "to", "request "+to, "min", plain(ms))
		}},
		{`wait (\d+) was (?:([\d,]+) ms|from ([\d,]+) to ([\d,]+) ms)`, func(n, ms, low, high string) error {
			return p.expect(trace.ExpectWait, "n", n, "ms", plain(ms), "min", plain(low), "max", plain(high))
		}},
		{`the stream is observed as ([a-z-]+)`, func(status string) error {
			return p.expect(trace.ExpectObservation, "status", status)
		}},
		{`the session ended as (an error|[a-z-]+)(?: with ([a-z-]+))?`, func(status, reason string) error {
			return p.expect(trace.ExpectEnding, "status", status, "reason", reason)
		}},
		{`the session is still running`, func() error { return p.expect(trace.ExpectRunning) }},
		{`the store holds (nothing|\d+)`, func(seq string) error { return p.expect(trace.ExpectStored, "seq", seq) }},
		{`the held position is (not )?persisted`, func(not string) error {
			value := "true"
			if not != "" {
				value = "false"
			}
			return p.expect(trace.ExpectPersisted, "value", value)
		}},
		{`the plugin was started (\d+) times?`, func(n string) error { return p.expect(trace.ExpectPluginStarts, "count", n) }},
		{`the (?:plugin|store)'s "([^"]+)" is "([^"]*)"`, func(name, value string) error {
			return p.stage.Expect(trace.ExpectMeasured, map[string]string{"name": name, "equals": value})
		}},
		{`the fault ([a-z0-9-]+) has struck(?: (\d+) times)?`, func(name, n string) error {
			return p.expect(trace.ExpectFaultStruck, "name", name, "count", n)
		}},
	}
}
