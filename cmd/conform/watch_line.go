package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/trace"
)

// watchLine is one line of `conform watch`; docs/watch.md lists what What can be. With --json it is the object itself.
type watchLine struct {
	At       string     `json:"at"`
	What     string     `json:"what"`
	Sequence *event.Seq `json:"sequence,omitempty"`
	Type     string     `json:"type,omitempty"`
	EventID  string     `json:"eventId,omitempty"`
	Epoch    uint32     `json:"connection,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Detail   string     `json:"detail,omitempty"`
	Ms       int64      `json:"ms,omitempty"`
	Kept     *bool      `json:"kept,omitempty"` // the position is on disk
	Text     string     `json:"text"`           // for people
}

// watchLines turns what happened into lines.
type watchLines struct {
	out  io.Writer
	json bool
	now  func() time.Time
	stop func() // ends the watch
	most uint64 // accepted events, 0 for any number

	mu       sync.Mutex
	err      error                   // of the first write that failed
	waiting  map[uint64]trace.Record // events that the gate has not decided, by ticket: at most as many as it holds
	phase    string
	reason   string
	accepted uint64
	unkept   bool   // the store reported since the last decision
	faded    bool   // the connection was not fresh
	answer   string // the last one of this connection: a transport that polls gets one per poll
	over     bool
}

// say prints a line.
func (p *watchLines) say(l watchLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(l)
}

func (p *watchLines) put(l watchLine) {
	p.print(l.What, l.Text, func(at string) any { l.At = at; return l })
}

// print writes a line; object is the same for programs.
func (p *watchLines) print(what, line string, object func(at string) any) {
	if p.err != nil {
		return
	}
	now := p.now()
	if p.json {
		var text []byte
		if text, p.err = json.Marshal(object(checkpointTime(now))); p.err == nil {
			_, p.err = p.out.Write(append(text, '\n'))
		}
	} else {
		_, p.err = fmt.Fprintf(p.out, "%s  %-10s  %s\n", now.Format("15:04:05.000"), what, line)
	}
	if p.err != nil {
		p.stop()
	}
}

func (p *watchLines) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func checkpointTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// diagnostic prints what the store could not do.
func (p *watchLines) diagnostic(d store.Diagnostic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unkept = p.unkept || d.Operation == store.Saving
	text := fmt.Sprintf("%s: %s: %s", d.Operation, d.Reason, d.Err.Message)
	if d.Err.Cause != nil {
		text += ": " + odd(d.Err.Cause.Error())
	}
	p.put(watchLine{What: "store", Reason: string(d.Reason), Text: text})
}

// record prints what is a decision, and passes over the rest.
func (p *watchLines) record(r trace.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := watchLine{Epoch: r.Epoch, Reason: r.Reason, Detail: r.Detail, Ms: r.Ms}
	switch {
	case r.Actor == trace.Gate:
		p.gate(r, l)
	case r.Kind == trace.StoreLoad:
		p.loaded(r, l)
	case r.Kind == trace.StoreForget && r.Actor == trace.Store:
		l.What, l.Text = "forgot", "the stored position is gone: it must not be resumed from"
		p.put(l)
	case r.Actor == trace.Session:
		p.session(r, l)
	}
}

func (p *watchLines) loaded(r trace.Record, l watchLine) {
	l.What = "start"
	switch r.Status {
	case "record":
		l.Sequence = &r.Seq
		l.Text = fmt.Sprintf("resumes from %d, which is stored", r.Seq)
	case "discarded":
		l.Text = "begins with a snapshot: what is stored must not be used: " + because(r.Reason, r.Detail)
	default:
		l.Text = "begins with a snapshot: nothing is stored"
	}
	p.put(l)
}

func (p *watchLines) gate(r trace.Record, l watchLine) {
	switch r.Kind {
	case trace.GateEnqueue:
		if p.waiting == nil {
			p.waiting = map[uint64]trace.Record{}
		}
		p.waiting[r.Ticket] = r
	case trace.GateDelivery:
		p.decided(r, l)
	case trace.GateState:
		p.moved(r, l)
	}
}

// decided prints what became of an event.
func (p *watchLines) decided(r trace.Record, l watchLine) {
	ev := p.waiting[r.Ticket]
	delete(p.waiting, r.Ticket)
	if p.over {
		return // what was still queued is cancelled
	}
	l.What, l.Type, l.EventID, l.Epoch = r.Status, ev.Type, ev.ID, ev.Epoch
	number := "without a number"
	if ev.Seq.Valid() {
		l.Sequence, number = &ev.Seq, strconv.FormatInt(int64(ev.Seq), 10)
	}
	l.Text = strings.TrimRight(fmt.Sprintf("%s %s  %s", ev.Type, number, odd(ev.ID)), " ")
	switch r.Status {
	case "applied":
		kept := !p.unkept
		l.Kept, p.unkept = &kept, false
		if !kept {
			l.Text += "  (the position is not kept)"
		}
		p.accepted++
	case "resnapshot-required":
		l.What = "refused"
		fallthrough
	default:
		if r.Reason != "" {
			l.Text += "  " + because(r.Reason, ev.Detail)
		}
	}
	p.put(l)
	if p.most > 0 && p.accepted == p.most {
		p.stop()
	}
}

// moved prints that the gate wants a snapshot from now on, and why.
func (p *watchLines) moved(r trace.Record, l watchLine) {
	if r.Phase == "resnapshot-required" && (p.phase != r.Phase || p.reason != r.Reason) {
		l.What, l.Text = "resnapshot", "needs a snapshot now: "+because(r.Reason, r.Detail)
		p.put(l)
	}
	p.phase, p.reason = r.Phase, r.Reason
}

func (p *watchLines) session(r trace.Record, l watchLine) {
	switch r.Kind {
	case trace.SessionConnect:
		l.What, l.Text = "connect", "asks for a snapshot"
		if r.Seq.Valid() {
			l.Sequence, l.Text = &r.Seq, fmt.Sprintf("asks to go on from %d", r.Seq)
		}
	case trace.SessionVouched:
		l.What, l.Text = "resumed", "the server goes on from there"
	case trace.SessionWait:
		l.What, l.Text = "wait", fmt.Sprintf("tries again in %v", time.Duration(r.Ms)*time.Millisecond)
	case trace.SessionHangup:
		if r.Detail == "session-over" {
			return
		}
		l.What, l.Text = "hangup", because(r.Reason, r.Detail)
	case trace.SessionObserved:
		fresh := r.Status == "fresh"
		if fresh && !p.faded {
			return
		}
		l.What, l.Reason, l.Text, p.faded = "liveness", r.Status, r.Status, !fresh
	case trace.SessionEnd:
		p.over = true
		l.What, l.Reason, l.Text = "end", r.Status, because(r.Status, r.Detail)
		if code := r.Args["http"]; code != "" {
			l.Detail, l.Text = code, because(r.Status, code)
		}
	case trace.SessionSignal:
		if !p.signalled(r, &l) {
			return
		}
	default:
		return
	}
	if r.Epoch != 0 {
		l.Text = fmt.Sprintf("%d: %s", r.Epoch, l.Text)
	}
	p.put(l)
}

// signalled fills in the line of a signal; false if it is none that somebody wants to read.
func (p *watchLines) signalled(r trace.Record, l *watchLine) bool {
	switch r.Status {
	case "answered":
		l.What, l.Text = "answer", "connected"
		if r.Seq.Valid() {
			l.Sequence, l.Text = &r.Seq, fmt.Sprintf("connected, the newest event is %d", r.Seq)
		}
		if r.Reason != "" {
			l.Text += ", does not resume: " + odd(r.Reason)
		}
		last := fmt.Sprint(r.Epoch, ": ", l.Text)
		if last == p.answer {
			return false
		}
		p.answer = last
	case "expired", "gap", "refused", "ended":
		l.What, l.Text = r.Status, because(r.Reason, r.Detail)
	default:
		return false
	}
	return true
}

// because is a reason with what goes with it.
func because(reason, detail string) string {
	switch {
	case detail == "" || detail == reason:
		return odd(reason)
	case reason == "":
		return odd(detail)
	}
	return odd(reason) + " (" + odd(detail) + ")"
}

// odd quotes text that would not stand on a line of a terminal as it is, and cuts what is long.
func odd(text string) string { return oddUpTo(text, 120) }

// oddUpTo is odd with a limit of its own, in bytes.
func oddUpTo(text string, most int) string {
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "…"
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return strconv.Quote(text)
		}
	}
	return text
}
