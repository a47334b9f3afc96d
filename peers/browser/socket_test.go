package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/serve"
)

// talk is a page that reads one WebSocket to its end.
const talk = `new Promise(done => {
	const got = {messages: []};
	const ws = new WebSocket(%q, ["conform.v1"]);
	ws.onopen = () => { got.opened = true; got.protocol = ws.protocol; got.extensions = ws.extensions };
	ws.onmessage = e => { got.messages.push(e.data); if (e.data.includes('"sequence":9,')) ws.close(4000, "enough") };
	ws.onclose = e => { got.code = e.code; got.reason = e.reason; got.clean = e.wasClean; done(got) };
})`

// talked is what the page saw.
type talked struct {
	Opened               bool
	Protocol, Extensions string
	Messages             []string
	Code                 int
	Reason               string
	Clean                bool
}

// TestChromiumSocket: chromium's own WebSocket follows the simulator, plain and compressed, and calls every end and violation what it
// is.
func TestChromiumSocket(t *testing.T) {
	var b *tab
	for _, c := range []struct {
		name    string
		fault   simulator.Fault
		deflate string
		code    int
		reason  string
		clean   bool
		heard   string // the last thing that the simulator heard
	}{
		{name: "to the end", code: 4000, clean: true, heard: "close 4000"},
		{name: "compressed", deflate: "each", code: 4000, clean: true, heard: "close 4000"},
		{name: "compressed with memory", deflate: "takeover", code: 4000, clean: true, heard: "close 4000"},
		{name: "fragments", fault: simulator.Fault{Name: "fragment", With: map[string]string{"count": "200"}}, code: 4000, clean: true, heard: "close 4000"},
		{name: "closed", fault: simulator.Fault{Name: "close", With: map[string]string{"code": "1013", "reason": "busy"}}, code: 1013, reason: "busy", clean: true, heard: "close 1013"},
		{name: "closed without a code", fault: simulator.Fault{Name: "close", With: map[string]string{"code": "0"}}, code: 1005, clean: true, heard: "close 1005"},
		{name: "cut", fault: simulator.Fault{Name: "close", With: map[string]string{"wasClean": "false"}}, code: 1006},
		{name: "masked", fault: simulator.Fault{Name: "masked-frame"}, code: 1006},
		{name: "reserved bit", fault: simulator.Fault{Name: "reserved-bit"}, code: 1006},
		{name: "opcode", fault: simulator.Fault{Name: "bad-opcode"}, code: 1006},
		{name: "no UTF-8", fault: simulator.Fault{Name: "bad-utf8"}, code: 1006},
		{name: "stray continuation", fault: simulator.Fault{Name: "stray-continuation"}, code: 1006},
		{name: "message in a message", fault: simulator.Fault{Name: "torn-message"}, code: 1006},
		{name: "large ping", fault: simulator.Fault{Name: "big-ping"}, code: 1006},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), longEnough)
		opt := simulator.Options{Stamp: stamp, Heartbeat: -1, Deflate: c.deflate, Subprotocols: []string{"conform.v1"}}
		if c.fault.Name != "" {
			c.fault.At.Sequence = 2
			opt.Schedule.Faults = []simulator.Fault{c.fault}
		}
		heard := ""
		s, err := serve.Start(ctx, serve.Options{Simulator: opt, Observe: func(r trace.Record) { // under the server's lock
			if r.Kind == trace.ServerReceived && r.Status == "close" {
				heard = r.Status + " " + r.Detail
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		page := s.ControlURL() + "/state"
		if b == nil {
			b = chromium(t, page)
		}
		got, err := b.talk(ctx, s, page)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err := s.WaitFor(ctx, func(st simulator.State) bool { return len(st.Connections) == 0 }); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		_ = s.Close()
		cancel()
		if !got.Opened || got.Protocol != "conform.v1" || (c.deflate != "") != strings.Contains(got.Extensions, "permessage-deflate") {
			t.Errorf("%s: agreed on %q, %q", c.name, got.Protocol, got.Extensions)
		}
		if got.Code != c.code || got.Reason != c.reason || got.Clean != c.clean {
			t.Errorf("%s: ended with %d %q, clean %v", c.name, got.Code, got.Reason, got.Clean)
		}
		if c.heard != "" && heard != c.heard {
			t.Errorf("%s: the simulator heard %q", c.name, heard)
		}
		if c.code != 4000 {
			continue
		}
		rows := simulator.NewRows("incidents")
		for _, m := range got.Messages[1:] {
			if err := rows.Apply([]byte(m)); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if len(got.Messages) != 2+last || rows.Digest() != s.State().Digest {
			t.Errorf("%s: %d messages, rows %s", c.name, len(got.Messages), rows.Digest())
		}
	}
}

// talk has the page follow s while everything is published.
func (b *tab) talk(ctx context.Context, s *serve.Server, page string) (talked, error) {
	if err := b.visit(page); err != nil {
		return talked{}, err
	}
	failed := make(chan error, 1)
	go func() {
		err := s.WaitFor(ctx, func(st simulator.State) bool {
			return len(st.Connections) == 1 && st.Connections[0].Wire == simulator.WebSocket // a browser asks for an icon, too
		})
		if err == nil {
			err = s.Publish(simulator.AutoMixed, last)
		}
		failed <- err
	}()
	got, err := evaluate[json.RawMessage](b, fmt.Sprintf(talk, s.WebSocketURL()+"?sourceId=incidents"))
	if err != nil {
		return talked{}, err
	}
	if err := <-failed; err != nil {
		return talked{}, err
	}
	var out talked
	return out, json.Unmarshal(got, &out)
}
