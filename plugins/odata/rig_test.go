package odata

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// guard bounds a test that would otherwise hang when the driver is broken. Nothing waits for it when all is well.
const guard = 20 * time.Second

// origin of the scripted services.
const origin = "https://svc.example"

// render writes one output in the words of docs/wire.md.
func render(o transport.Output) string {
	switch {
	case o.Request != nil:
		s := o.Request.Method + " " + strings.TrimPrefix(o.Request.URL, origin)
		if p := o.Request.Header["Prefer"]; len(p) > 0 {
			s += " Prefer: " + strings.Join(p, ", ")
		}
		return s
	case o.Document != nil:
		return "document " + string(o.Document.JSON)
	}
	s := *o.Signal
	words := []string{s.Kind.String()}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch s.Kind {
	case transport.Answered:
		if add("epoch=%s", s.Answer.StreamEpoch); s.Answer.Head.Valid() {
			add("head=%d", s.Answer.Head)
		}
	case transport.Refreshed:
		add("%s", place(s.Position))
	case transport.Polled:
		if s.Poll.Seq.Valid() {
			add("sequence=%d", s.Poll.Seq)
		}
		add("changed=%v upserts=%d deletes=%d next=%v", s.Poll.Changed, s.Poll.Upserts, s.Poll.Deletes, s.Poll.Next)
	case transport.Retry:
		add("%v", s.RetryAfter)
	case transport.Recovering:
		add("%s", s.Reason)
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
	return strings.Join(words, " ")
}

func place(p event.Position) string {
	s := "sequence=" + strconv.FormatInt(int64(p.Seq), 10)
	for _, part := range []struct{ name, text string }{{"cursor", p.Cursor}, {"watermark", p.Watermark}, {"timestamp", p.Timestamp}, {"deltaToken", p.DeltaToken}} {
		if part.text != "" {
			s += " " + part.name + "=" + part.text
		}
	}
	return s
}

// scenario is one case of testdata/rounds.txt: an attempt, then what the machine says (lines) and what the service answers (lines that
// begin with <) in their order.
type scenario struct {
	name    string
	attempt transport.Attempt
	lines   []string
}

// loadRounds reads the cases:
//
//	case NAME
//	with OPTION=VALUE ... [resume=TOKEN] [seq=N] [at=URL] [where=FILTER]
//	GET ...             what the machine owes, as render writes it
//	< 200 NAME=VALUE | BODY
//	< broken WORD       the network failed; behind a body: < 200 | BODY | broken WORD
//	wait DURATION       until the machine acts again
func loadRounds(t testing.TB, path string) (all []scenario) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "case "):
			all = append(all, scenario{name: line[len("case "):], attempt: attemptAt(origin + "/odata/Vehicles")})
		case strings.HasPrefix(line, "with "):
			words(&all[len(all)-1].attempt, strings.Fields(line[len("with "):]))
		default:
			all[len(all)-1].lines = append(all[len(all)-1].lines, line)
		}
	}
	return all
}

func attemptAt(url string, options ...string) transport.Attempt {
	a := transport.Attempt{Endpoint: url, Query: transport.Query{SourceID: "vehicles"}, Resume: event.NoPosition, Options: map[string]string{}}
	words(&a, options)
	return a
}

// words lays NAME=VALUE over an attempt: its own words, and options.
func words(a *transport.Attempt, list []string) {
	for _, w := range list {
		name, value, _ := strings.Cut(w, "=")
		if name == "where" || name == OptionFilter {
			value, _ = url.PathUnescape(value)
		}
		switch name {
		case "resume":
			a.Resume.DeltaToken = value
			a.Resume.Seq = max(a.Resume.Seq, 1)
		case "seq":
			n, _ := strconv.ParseInt(value, 10, 64)
			a.Resume.Seq = event.Seq(n)
		case "at":
			a.Endpoint = value
		case "where":
			a.Query.Where = value
		case "foreign": // a service that is none of the contract's
			a.Options[OptionKey], a.Options[OptionOrder] = "Id", RequestChain
		default:
			a.Options[name] = value
		}
	}
}

// player runs a machine over scripted answers in virtual time.
type player struct {
	m    *Machine
	now  time.Duration
	step int // of the body's bytes; 0 gives it whole
	out  []string
	docs []string
	asks []transport.Request
	over bool
}

func play(a transport.Attempt, step int) *player {
	p := &player{m: NewMachine(), step: step}
	p.m.Wake(0)
	p.m.Start(a)
	p.take()
	return p
}

// take writes down what is owed, and lets time pass while the machine waits for it.
func (p *player) take() {
	for {
		asked := false
		for o, ok := p.m.Take(); ok; o, ok = p.m.Take() {
			p.out = append(p.out, render(o))
			switch {
			case o.Request != nil:
				p.asks, asked = append(p.asks, *o.Request), true
			case o.Document != nil:
				p.docs = append(p.docs, string(o.Document.JSON))
			case o.Signal.Kind.Final():
				p.over = true
			}
		}
		at, ok := p.m.Deadline()
		if asked || !ok || p.m.stage != waiting {
			return
		}
		p.out = append(p.out, fmt.Sprintf("wait %v", at-p.now))
		p.now = at
		p.m.Wake(p.now)
	}
}

// answer gives one scripted answer, without its "< ".
func (p *player) answer(line string) {
	p.m.Wake(p.now)
	if word, ok := strings.CutPrefix(line, "broken "); ok {
		p.m.End(web.Broken(word))
		p.take()
		return
	}
	head, body, broken := cutAnswer(line)
	asked := len(p.asks)
	p.m.Head(head)
	p.take()
	for rest := body; len(rest) > 0 && len(p.asks) == asked && !p.over; {
		n := len(rest)
		if p.step > 0 {
			n = min(n, p.step)
		}
		p.m.Bytes([]byte(rest[:n]))
		rest = rest[n:]
		p.take()
	}
	if len(p.asks) == asked && !p.over {
		p.m.End(broken)
		p.take()
	}
}

func cutAnswer(line string) (h transport.Head, body string, broken error) {
	first, rest, _ := strings.Cut(line, " | ")
	body, word, cut := strings.Cut(rest, " | broken ")
	if cut {
		broken = web.Broken(word)
	}
	fields := strings.Fields(first)
	h.Status, _ = strconv.Atoi(fields[0])
	h.Header = transport.Header{}
	if h.Status == 200 {
		h.Header["Content-Type"] = []string{"application/json;odata.metadata=minimal"}
	}
	for _, f := range fields[1:] {
		name, value, _ := strings.Cut(f, "=")
		h.Header[name] = append(slices.Clone(h.Header[name]), value)
		if name == "Content-Type" {
			h.Header[name] = []string{value}
		}
	}
	return h, body, broken
}

// run plays a scenario and gives the whole transcript, answers included.
func (s scenario) run(step int) (*player, string) {
	p := play(s.attempt, step)
	var all []string
	flush := func() { all, p.out = append(all, p.out...), nil }
	for _, line := range s.lines {
		if answer, ok := strings.CutPrefix(line, "< "); ok {
			flush()
			all = append(all, line)
			p.answer(answer)
		}
	}
	flush()
	return p, strings.Join(all, "\n")
}
