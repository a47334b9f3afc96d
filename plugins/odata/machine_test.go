package odata

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// ref:ODA-01: what it declares.
func TestDescriptor(t *testing.T) {
	d := Describe()
	if d.Freshness != transport.Poll || d.Order != transport.ServerSequence || d.Baseline != transport.BaselineSnapshot ||
		d.Vouch != transport.VouchImplicit || len(d.Resume) != 1 || d.Resume[0] != transport.ByDeltaToken || d.Heartbeats {
		t.Errorf("%+v", d)
	}
	for _, o := range d.Options {
		if o.Ceiling == 0 {
			continue
		}
		if _, err := o.Integer(o.Default); err != nil {
			t.Error(err)
		}
		for value, want := range map[string]string{fmt.Sprint(o.Ceiling + 1): "is above the ceiling", "0": "must be an integer", "-1": "must be an integer"} {
			a := attemptAt(origin+"/odata/Vehicles", o.Name+"="+value)
			if err := Check(a); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s=%s: %v", o.Name, value, err)
			}
		}
	}
}

// ref:ODA-02 (a relative URL), ref:ODA-03 (no key), ref:ODA-15 (a foreign resume link), and all else that is refused without a request.
func TestRefusedAttempts(t *testing.T) {
	at := func(words ...string) transport.Attempt { return attemptAt(origin+"/odata/Vehicles", words...) }
	with := func(do func(*transport.Attempt)) transport.Attempt {
		a := at()
		do(&a)
		return a
	}
	for want, a := range map[string]transport.Attempt{
		"endpoint: must be an absolute http or https URL":                                       attemptAt("/odata/Vehicles"),
		"endpoint: must not hold user or password; use the credential":                          attemptAt("https://u:p@svc.example/x"),
		`option "key"="": must be 1 to 16 different property names, joined by commas`:           at("key="),
		`option "key"="A,B": must be one property where rows are patches: a patch has one id`:   at("key=A,B"),
		`option "rows"="x": must be one of auto, patch, entity`:                                 at("rows=x"),
		`option "deltaTokenOption"="a&b": must be 1 to 128 letters, digits or any of $ ! - _ .`: at("deltaTokenOption=a&b"),
		`option "expiredStatus"="500": must be a status from 400 to 499`:                        at("expiredStatus=500"),
		`option "expiredCode"="x": needs the option expiredStatus`:                              at("expiredCode=x"),
		`option "top"="0": must be an integer from 1 to 1000000000`:                             at("top=0"),
		"query: it and the option filter say different things":                                  at("filter=a", "where=b"),
		"query: layerId and spatialFilter have no form in OData; use the option filter":         with(func(a *transport.Attempt) { a.Query.LayerID = "1" }),
		"query: sourceId is required":                                                           with(func(a *transport.Attempt) { a.Query.SourceID = "" }),
		"credential: its value is empty":                                                        with(func(a *transport.Attempt) { a.Credential.Header = "Authorization" }),
		"headers: Accept is written by the transport itself":                                    with(func(a *transport.Attempt) { a.Headers = []transport.ExtraHeader{{Name: "Accept", Value: "x"}} }),
		"resume-link-outside-collection":                                                        at("resume=https://svc.example/odata/Secrets?$deltatoken=d1"),
	} {
		if err := Check(a); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if p := play(a, 0); len(p.out) != 1 || p.out[0] != "refused rejected ("+want+")" {
			t.Errorf("got %q", p.out)
		}
	}
	long := at("resume=" + strings.Repeat("x", MaxLinkBytes+1))
	if err := Check(long); err != nil {
		t.Error(err)
	}
	if p := play(long, 0); strings.Join(p.out, "") != "gap resume-unsupported (position-unsendable)" {
		t.Errorf("got %q", p.out)
	}
}

// What goes with each request: our own headers, the credential, and extra ones; a Prefer of the caller's stands beside ours.
func TestRequestHeaders(t *testing.T) {
	a := attemptAt(origin+"/odata/Vehicles", "foreign=1")
	a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer x"}
	a.Headers = []transport.ExtraHeader{{Name: "prefer", Value: "odata.maxpagesize=50"}}
	p := play(a, 0)
	p.answer(`200 | {"value":[],"@nextLink":"?p=2"}`)
	want := []string{
		"map[Accept:[application/json] Accept-Encoding:[identity] Authorization:[Bearer x] Cache-Control:[no-store] Prefer:[odata.track-changes odata.maxpagesize=50]]",
		"map[Accept:[application/json] Accept-Encoding:[identity] Authorization:[Bearer x] Cache-Control:[no-store] Prefer:[odata.maxpagesize=50]]",
	}
	for i, r := range p.asks {
		if got := fmt.Sprint(r.Header); got != want[i] {
			t.Errorf("got %s\nwant %s", got, want[i])
		}
	}
}

// An answer that does not come, or does not go on, is one that was lost; the time runs from when the request was taken, and from each read.
func TestSilence(t *testing.T) {
	m := NewMachine()
	m.Wake(0)
	m.Start(attemptAt(origin+"/odata/Vehicles", "foreign=1"))
	m.Wake(MaxSilence * 2) // nobody took the request yet
	if o, ok := m.Take(); !ok || o.Request == nil {
		t.Fatal("no request")
	}
	take := func() (out []string) {
		for o, ok := m.Take(); ok; o, ok = m.Take() {
			out = append(out, render(o))
		}
		return out
	}
	now := MaxSilence * 3
	step := func(d time.Duration) []string {
		now += d
		m.Wake(now)
		return take()
	}
	step(0)
	if at, ok := m.Deadline(); !ok || at != now+MaxSilence {
		t.Fatalf("deadline %v, now %v", at, now)
	}
	if out := step(MaxSilence - 1); out != nil {
		t.Fatalf("too early: %q", out)
	}
	m.Head(transport.Head{Status: 200, Header: transport.Header{"Content-Type": {"application/json"}}})
	take()
	step(MaxSilence - 1)
	m.Bytes([]byte(`{"value":`))
	take()
	if out := step(MaxSilence - 1); out != nil {
		t.Fatalf("too early: %q", out)
	}
	step(1)
	if m.stage != waiting {
		t.Fatal("silence was not noticed")
	}
	m.End(nil) // of the answer that nobody waits for any more
	m.Bytes([]byte("[]}"))
	at, _ := m.Deadline()
	if out := step(at - now); len(out) != 1 || !strings.HasPrefix(out[0], "GET /odata/Vehicles Prefer") {
		t.Fatalf("got %q", out)
	}
}

// D-34, P-OD-19: the waits are within their bounds for every draw, the same draw gives the same ones, and draws differ.
func TestWaits(t *testing.T) {
	seen := map[time.Duration]bool{}
	rapid.Check(t, func(t *rapid.T) {
		c := chance{}
		copy(c.draw[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "draw"))
		again := c
		n := rapid.IntRange(0, 100).Draw(t, "n")
		floor := time.Duration(rapid.IntRange(0, 600_000).Draw(t, "floor")) * time.Millisecond
		d := capWait
		if n < 7 {
			d = baseWait << n
		}
		d = max(min(d, capWait), floor)
		got := c.backoff(n, floor)
		if got < d || got > d+d/2 || again.backoff(n, floor) != got {
			t.Fatalf("%v for the %d-th retry with a floor of %v", got, n, floor)
		}
		seen[got] = true
	})
	if len(seen) < 10 {
		t.Errorf("only %d different waits", len(seen))
	}
}

// A machine can be used again: nothing of the first chain is left.
func TestStartAgain(t *testing.T) {
	m := NewMachine()
	for range 2 {
		m.Wake(0)
		m.Start(attemptAt(origin+"/odata/Vehicles", "foreign=1"))
		o, ok := m.Take()
		if !ok || render(o) != "GET /odata/Vehicles Prefer: odata.track-changes" {
			t.Fatalf("%+v", o)
		}
	}
}

// FuzzMachine: whatever a service answers, one request is owed at a time and none outside the collection, nothing follows a final signal, every
// document can be captured, and the chain ends or goes on: it never stands still.
func FuzzMachine(f *testing.F) {
	for _, s := range loadRounds(f, "testdata/rounds.txt") {
		var answers []string
		for _, line := range s.lines {
			if a, ok := strings.CutPrefix(line, "< "); ok {
				answers = append(answers, a)
			}
		}
		f.Add(strings.Join(answers, "\n"), s.attempt.Resume.DeltaToken, uint8(3))
	}
	f.Fuzz(func(t *testing.T, script, resume string, step uint8) {
		a := attemptAt(origin+"/odata/Vehicles", "foreign=1", "expiredStatus=400", "expiredCode=x", "maxPages=5", "maxRows=9")
		if resume != "" {
			a.Resume = event.Position{Seq: 3, DeltaToken: resume}
		}
		p := play(a, int(step))
		for line := range strings.SplitSeq(script, "\n") {
			if p.over {
				break
			}
			asked := len(p.asks)
			switch {
			case strings.HasPrefix(line, "broken"):
				p.answer("broken connection-reset")
			case len(line) < 3 || line[0] < '1' || line[0] > '5':
				p.answer("200 | " + line)
			default:
				p.answer(line)
			}
			if !p.over && len(p.asks) <= asked {
				t.Fatalf("stands still after %q:\n%s", line, strings.Join(p.out, "\n"))
			}
		}
		c, _ := NewCollection(a.Endpoint)
		for _, r := range p.asks {
			if _, refused := c.Follow(c.at, "", r.URL); refused != nil {
				t.Fatalf("asked for %s: %v", r.URL, refused)
			}
		}
		for i, line := range p.out {
			if kind, _, _ := strings.Cut(line, " "); (kind == "refused" || kind == "ended" || kind == "gap") && i < len(p.out)-1 {
				t.Fatalf("something follows %q", line)
			}
		}
		for _, doc := range p.docs {
			var ev event.Event
			if (transport.Document{JSON: []byte(doc)}).Capture(&ev); ev.Kind == event.Malformed {
				t.Fatalf("%q is malformed: %s", doc, ev.Detail)
			}
		}
	})
}

// A certificate that is not trusted will not be trusted in 250 ms.
func TestFutile(t *testing.T) {
	p := play(attemptAt(origin+"/odata/Vehicles", "foreign=1"), 0)
	p.m.End(web.Futile{Cause: transport.Rejected, Word: "certificate-not-trusted"})
	p.take()
	if got := p.out[len(p.out)-1]; got != "refused rejected (certificate-not-trusted)" {
		t.Errorf("got %q", got)
	}
}

// What is read of a refusal is bounded, and judged as soon as it is full.
func TestRefusalBound(t *testing.T) {
	a := attemptAt(origin+"/odata/Vehicles", "foreign=1", "resume=d1", "expiredStatus=400", "expiredCode=x")
	p := play(a, 0)
	p.answer("400 | " + `{"error":{"code":"x"},"more":"` + strings.Repeat("x", MaxRefusalBytes) + `"}`)
	if got := p.out[len(p.out)-1]; got != "refused rejected (status 400)" || len(p.m.refusal) > MaxRefusalBytes {
		t.Errorf("got %q with %d bytes", got, len(p.m.refusal))
	}
}

// Every bound of a page's annotations and of a key's size has its own refusal.
func TestBounds(t *testing.T) {
	for want, body := range map[string]string{
		"refused protocol-error (bad-annotation: @deltaLink, at byte 25 of page 1)":      `{"value":[],"@deltaLink":"?` + strings.Repeat("x", MaxLinkBytes) + `"}`,
		"refused protocol-error (bad-annotation: @conform.cursor, at byte 30 of page 1)": `{"value":[],"@conform.cursor":"` + strings.Repeat("x", MaxAnnotationBytes) + `"}`,
		"refused protocol-error (bad-annotation: @nextLink, at byte 24 of page 1)":       `{"value":[],"@nextLink":7}`,
		"refused protocol-error (entry-without-key: Id, entry 1, at byte 10 of page 1)":  `{"value":[{"Id":"` + strings.Repeat("x", MaxKeyBytes+1) + `"}]}`,
		"refused protocol-error (undecodable-payload, entry 1, at byte 10 of page 1)":    `{"value":[{"Id":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}]}`,
		"refused protocol-error (undecodable-payload, entry 2, at byte 19 of page 1)":    `{"value":[{"Id":1},` + "{\"Id\":\"\xff\"}]}",
		"refused protocol-error (member-twice: value, at byte 12 of page 1)":             `{"value":[],"value":[]}`,
		"refused protocol-error (member-twice: Id, entry 1, at byte 10 of page 1)":       `{"value":[{"Id":1,"Id":2}]}`,
		"refused protocol-error (member-twice: @removed, entry 1, at byte 10 of page 1)": `{"value":[{"@removed":{},"@odata.removed":{}}]}`,
		"refused protocol-error (entry-not-an-object, at byte 10 of page 1)":             `{"value":[7]}`,
		"refused protocol-error (undecodable-payload, at byte 13 of page 1)":             `{"value":[]} x`,
		"refused protocol-error (entry-of-another-set, entry 2, at byte 44 of page 1)":   `{"value":[{"@context":"#A/$entity","Id":1}, {"@context":"#B/$entity","Id":2}]}`,
	} {
		p := play(attemptAt(origin+"/odata/Vehicles", "foreign=1"), 0)
		p.answer("200 | " + body)
		if got := p.out[len(p.out)-1]; got != want {
			t.Errorf("%.60s: got %s, want %s", body, got, want)
		}
	}
}
