package fleetwake

import (
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// The options and their words. docs/fleet-wake.md explains them.
const (
	OptionMaxEventBytes = "maxEventBytes"
	OptionPoll          = "poll"
	OptionPollURL       = "pollUrl"
	OptionPollTimeout   = "pollTimeoutMs"
	OptionMaxPollBytes  = "maxPollBytes"

	PollNone = "none"
	PollURL  = "url"
	PollMCP  = "mcp"
)

// The paths behind the plane's base URL.
const (
	EventsPath = "/fleet/events"
	MCPPath    = "/mc/mcp"
)

// Version of this transport, for reports.
const Version = "0.1.0"

// Describe is the transport's descriptor (D-42). Each call makes a new one. It takes one extra header, transport.PollCredential, and
// no other.
func Describe() transport.Descriptor {
	return transport.Descriptor{
		Name:       "fleetwake",
		Version:    Version,
		Wire:       transport.FleetWake,
		Freshness:  transport.Push,
		Order:      transport.NoOrder,
		Baseline:   transport.NoBaseline,
		Vouch:      transport.NoVouch,
		Heartbeats: true,
		Takes:      []transport.Take{transport.TakesHeaders, transport.TakesTLS, transport.TakesProxy},
		Options: []transport.Option{
			{Name: OptionMaxEventBytes, Doc: "most bytes of one line or frame", Default: strconv.Itoa(DefaultMaxEventBytes), Ceiling: CeilingMaxEventBytes},
			{Name: OptionPoll, Doc: "how the catch-up poll is made: not at all, as a POST to pollUrl, or as a tool call at " + MCPPath + "; its credential is the extra header " + transport.PollCredential, Default: PollNone, Values: []string{PollNone, PollURL, PollMCP}},
			{Name: OptionPollURL, Doc: "where the poll is posted to, with poll=url"},
			{Name: OptionPollTimeout, Doc: "milliseconds that the poll may take", Default: strconv.FormatInt(DefaultPollTimeout.Milliseconds(), 10), Ceiling: CeilingPollTimeout.Milliseconds()},
			{Name: OptionMaxPollBytes, Doc: "most bytes that a poll may bring", Default: strconv.Itoa(DefaultMaxPollBytes), Ceiling: CeilingMaxPollBytes},
		},
	}
}

// settings are the options of one attempt, checked.
type settings struct {
	maxEventBytes int
	maxPollBytes  int64
	pollTimeout   time.Duration
	poll          string
	pollURL       *url.URL // with poll=url only
}

func parseSettings(options map[string]string) (s settings, err error) {
	d := Describe()
	if err := d.CheckOptions(options); err != nil {
		return s, err
	}
	number := func(name string) int64 { // within its ceiling: checked above
		n, _ := strconv.ParseInt(d.Value(options, name), 10, 64)
		return n
	}
	s.maxEventBytes, s.maxPollBytes = int(number(OptionMaxEventBytes)), number(OptionMaxPollBytes)
	s.pollTimeout = time.Duration(number(OptionPollTimeout)) * time.Millisecond
	s.poll = d.Value(options, OptionPoll)
	address := d.Value(options, OptionPollURL)
	switch {
	case s.poll != PollURL && address != "":
		return s, errors.New("option pollUrl: goes with poll=url only")
	case s.poll != PollURL:
		return s, nil
	}
	if s.pollURL, err = web.ParseEndpoint(address, nil); err != nil { // the error does not repeat it: a query may hold a secret
		return s, errors.New("option pollUrl: must be an absolute http or https URL without user and password")
	}
	return s, nil
}
