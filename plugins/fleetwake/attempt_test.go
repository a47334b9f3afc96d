package fleetwake

import (
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
)

// Attempts that are not made: the error names what is wrong, holds nothing secret and no position, and the machine says the same.
func TestAttemptsThatAreNotMade(t *testing.T) {
	const secret = "s3cr3t-canary"
	poll := func(a *transport.Attempt, value transport.Secret) {
		a.Headers = []transport.ExtraHeader{{Name: "conform-poll-authorization", Value: value}}
	}
	for _, c := range []struct {
		name   string
		change func(*transport.Attempt)
		want   string
	}{
		{"no credential", func(a *transport.Attempt) { a.Credential = transport.Credential{} }, "credential: there is none"},
		{"another header", func(a *transport.Attempt) { a.Credential.Header = "X-Neo-Mc-Authorization" }, "credential: a wake stream takes it in Authorization only"},
		{"no bearer", func(a *transport.Attempt) { a.Credential.Value = secret }, "credential: must be a bearer"},
		{"no token", func(a *transport.Attempt) { a.Credential.Value = "Bearer " }, "credential: must be a bearer"},
		{"a line end", func(a *transport.Attempt) { a.Credential.Value = "Bearer " + secret + "\r\nX: y" }, "credential: its value holds a byte"},
		{"another header beside", func(a *transport.Attempt) {
			a.Headers = []transport.ExtraHeader{{Name: "x-neo-mc-authorization", Value: secret}}
		}, "headers: X-Neo-Mc-Authorization is not sent"},
		{"poll without a bearer", func(a *transport.Attempt) { poll(a, secret) }, "Conform-Poll-Authorization: must be a bearer"},
		{"one token in two classes", func(a *transport.Attempt) { poll(a, "bearer  "+secret+"-token") }, "Conform-Poll-Authorization: holds the same token as the stream's credential"},
		{"poll=mail", func(a *transport.Attempt) { a.Options[OptionPoll] = "mail" }, `option "poll"="mail": must be one of none, url, mcp`},
		{"no poll URL", func(a *transport.Attempt) { a.Options[OptionPoll] = "url" }, "option pollUrl: must be an absolute http or https URL"},
		{"poll URL with a password", func(a *transport.Attempt) {
			a.Options[OptionPoll], a.Options[OptionPollURL] = "url", "http://u:"+secret+"@h/"
		}, "option pollUrl: must be an absolute http or https URL"},
		{"poll URL without poll=url", func(a *transport.Attempt) { a.Options[OptionPollURL] = "http://h/?" + secret }, "option pollUrl: goes with poll=url only"},
		{"frames above the ceiling", func(a *transport.Attempt) { a.Options[OptionMaxEventBytes] = "524289" }, "is above the ceiling of 524288"},
		{"poll above the ceiling", func(a *transport.Attempt) { a.Options[OptionMaxPollBytes] = "16777217" }, "is above the ceiling of 16777216"},
		{"waiting above the ceiling", func(a *transport.Attempt) { a.Options[OptionPollTimeout] = "15001" }, "is above the ceiling of 15000"},
		{"unknown option", func(a *transport.Attempt) { a.Options["resumeBy"] = "cursor" }, "unknown; known are: maxEventBytes, poll, pollUrl, pollTimeoutMs, maxPollBytes"},
		{"a query", func(a *transport.Attempt) { a.Endpoint = "http://h/?key=" + secret }, "endpoint: the plane's base URL must not have a query"},
		{"relative", func(a *transport.Attempt) { a.Endpoint = "/" + secret }, "endpoint: must be an absolute http or https URL"},
		{"a user", func(a *transport.Attempt) { a.Endpoint = "http://u:" + secret + "@h" }, "endpoint: must not hold user or password"},
		{"a mark that is none", func(a *transport.Attempt) { a.Resume.Watermark = "7x" + secret }, "watermark: is no decimal number"},
		{"a negative mark", func(a *transport.Attempt) { a.Resume.Watermark = "-1" }, "watermark: is no decimal number"},
		{"an unsafe mark", func(a *transport.Attempt) { a.Resume.Watermark = "9007199254740992" }, "watermark: is no decimal number"},
		{"too many headers", func(a *transport.Attempt) { a.Headers = make([]transport.ExtraHeader, transport.MaxHeaders+1) }, "headers: 25 of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := own()
			a.Credential.Value = "Bearer " + secret + "-token"
			c.change(&a)
			err := Check(a)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			m := NewMachine()
			m.Start(a)
			if got, want := take(m), "refused rejected ("+err.Error()+")"; got != want {
				t.Errorf("got %s", got)
			}
			var to log
			if failure := New().Open(t.Context(), a, &to); failure != nil || len(to.lines) != 1 || to.lines[0] != "refused rejected ("+err.Error()+")" {
				t.Errorf("Open: %v, %q", failure, to.lines)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://h":                   "GET http://h/fleet/events\n",
		"http://h///":                "GET http://h/fleet/events\n",
		"https://h:8443/plane/a%2F/": "GET https://h:8443/plane/a%2F/fleet/events\n",
		"http://h/x#part":            "GET http://h/x/fleet/events\n",
	} {
		a := own()
		a.Endpoint, a.Credential.Value = endpoint, "bEARER OWN-CCC"
		m := NewMachine()
		m.Start(a)
		if got := take(m); !strings.HasPrefix(got, want) || !strings.Contains(got, "\nAuthorization: bEARER OWN-CCC\n") {
			t.Errorf("%s: got %s", endpoint, got)
		}
	}
}

// A machine whose driver forgets to take, or calls out of turn, neither panics nor talks out of turn.
func TestOutOfTurn(t *testing.T) {
	m := NewMachine()
	m.Bytes([]byte(state))
	m.Head(stream())
	m.Polled(Poll{}, PollResult{})
	m.Wake(1)
	m.End(nil)
	if _, due := m.PollDue(); due || take(m) != "" {
		t.Error("it talks before Start")
	}
	m.Start(own())
	m.Head(stream()) // the request was not taken yet
	m.End(nil)
	if got := take(m); got != "ended connection-lost (ended-before-answer)" {
		t.Errorf("ended before the request was taken: %q", got)
	}
	m = opened(map[string]string{OptionPoll: PollMCP})
	m.Bytes([]byte(state))
	m.Polled(Poll{SubscriptionID: "WAKE_SUB:relay"}, PollResult{Answer: []byte(`{"pending":4}`)})
	if got := take(m); strings.Contains(got, "caught-up") {
		t.Errorf("an answer before the poll was handed out: %q", got)
	}
	if p, due := m.PollDue(); !due || p.SubscriptionID != "WAKE_SUB:relay" {
		t.Error("no poll")
	}
	if _, due := m.PollDue(); due {
		t.Error("handed out twice")
	}
}
