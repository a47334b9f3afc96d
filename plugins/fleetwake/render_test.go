package fleetwake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// render writes one output in the words of docs/fleet-wake.md.
func render(o transport.Output) string {
	if o.Request != nil {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", o.Request.Method, o.Request.URL)
		for _, name := range slices.Sorted(maps.Keys(o.Request.Header)) {
			fmt.Fprintf(&b, "\n%s: %s", name, strings.Join(o.Request.Header[name], ","))
		}
		return b.String()
	}
	s := *o.Signal
	words := []string{s.Kind.String()}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch s.Kind {
	case transport.WakeStated:
		st := s.WakeState
		add("armed=%v", st.Armed)
		if st.HasReason {
			add("reason=%q", st.Reason)
		}
		add("push=%d identities=%d viewer=%v", st.LastPushAt, st.ConnectedIdentities, st.ArmedForViewer)
		if st.SubscriptionID != "" {
			add("id=%s", st.SubscriptionID)
		}
	case transport.Woken:
		w := s.Wake
		if w.Dropped != "" {
			add("dropped=%s", w.Dropped)
			if w.SubscriptionID != "" || w.EventID != "" || w.LogID != event.NoSeq || w.Envelope != nil {
				add("CARRIES %+v", w)
			}
			break
		}
		add("id=%s event=%s log=%d envelope=%d", w.SubscriptionID, w.EventID, w.LogID, len(w.Envelope))
	case transport.CaughtUp:
		add("%s pending=%d mark=%d", s.CatchUp.State, s.CatchUp.Pending, s.CatchUp.Watermark)
		if s.CatchUp.Reason != "" {
			add("%q", s.CatchUp.Reason)
		}
	case transport.Retry:
		add("%v", s.RetryAfter)
	}
	if s.Kind.Final() && s.Cause != transport.CauseNone {
		add("%s", s.Cause)
	}
	if s.Kind.Final() && s.Reason != event.None {
		add("%s", s.Reason)
	}
	if s.Detail != "" {
		add("(%s)", s.Detail)
	}
	if s.Kind.Final() && s.RetryAfter != 0 {
		add("retry-after=%v", s.RetryAfter)
	}
	return strings.Join(words, " ")
}

// take is everything that m owes, one line each.
func take(m *Machine) string {
	var lines []string
	for o, ok := m.Take(); ok; o, ok = m.Take() {
		lines = append(lines, render(o))
	}
	return strings.Join(lines, "\n")
}

// own is the attempt that tests begin from.
func own() transport.Attempt {
	return transport.Attempt{
		Epoch: 1, Endpoint: "http://plane.test", Resume: event.NoPosition, Options: map[string]string{},
		Credential: transport.Credential{Header: "Authorization", Value: "Bearer OWN-CCC"},
	}
}

// stream is the head of an answer that opens a stream.
func stream() transport.Head {
	return transport.Head{Status: 200, Header: transport.Header{"Content-Type": {"text/event-stream"}}}
}

// opened is a machine whose stream is open and whose first words were taken.
func opened(options map[string]string) *Machine {
	a := own()
	a.Options = options
	m := NewMachine()
	m.Start(a)
	take(m)
	m.Head(stream())
	take(m)
	return m
}
