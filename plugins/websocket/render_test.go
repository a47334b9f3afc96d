package websocket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// render writes one output in the words of docs/wire.md.
func render(o transport.Output) string {
	switch {
	case o.Request != nil:
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", o.Request.Method, o.Request.URL)
		for _, name := range slices.Sorted(maps.Keys(o.Request.Header)) {
			fmt.Fprintf(&b, "\n%s: %s", strings.Replace(name, "Sec-Websocket", "Sec-WebSocket", 1), strings.Join(o.Request.Header[name], ","))
		}
		return b.String()
	case o.Send != nil:
		return "send " + clientFrame(o.Send)
	case o.Document != nil:
		return "document " + string(o.Document.JSON)
	}
	return renderSignal(*o.Signal)
}

func renderSignal(s transport.Signal) string {
	words := []string{s.Kind.String()}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if s.Kind == transport.Answered {
		if s.Answer.StreamEpoch != "" {
			add("epoch=%s head=%d resumed=%s", s.Answer.StreamEpoch, s.Answer.Head, [...]string{"unsaid", "no", "yes"}[s.Answer.Resumed])
		}
		if s.Answer.Rejected != "" {
			add("rejected=%s", s.Answer.Rejected)
		}
		if s.Answer.ClosingSoon {
			add("closing-soon")
		}
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

// clientFrame takes a frame of ours apart, as a server would.
func clientFrame(b []byte) string {
	op, short, head := Opcode(b[0]&0x0F), int(b[1]&0x7F), 2
	switch short {
	case 126:
		short, head = int(binary.BigEndian.Uint16(b[2:])), 4
	case 127:
		short, head = int(binary.BigEndian.Uint64(b[2:])), 10
	}
	if b[0]&0xF0 != finBit || b[1]&maskBit == 0 || len(b) != head+4+short {
		return fmt.Sprintf("NO FRAME % x", b)
	}
	payload := slices.Clone(b[head+4:])
	for i := range payload {
		payload[i] ^= b[head+i%4]
	}
	switch op {
	case OpText:
		return "text " + string(payload)
	case OpPing:
		return fmt.Sprintf("ping %q", payload)
	case OpPong:
		return fmt.Sprintf("pong %q", payload)
	case OpClose:
		if len(payload) == 0 {
			return "close"
		}
		return fmt.Sprintf("close %d%s", binary.BigEndian.Uint16(payload), payload[2:])
	}
	return fmt.Sprintf("OPCODE %d", op)
}

// take is everything that m owes, one line each.
func take(m *Machine) string {
	var lines []string
	for o, ok := m.Take(); ok; o, ok = m.Take() {
		lines = append(lines, render(o))
	}
	return strings.Join(lines, "\n")
}

// wireAttempt is the attempt behind a request of docs/wire.md: the words `resume` and option=value.
func wireAttempt(words ...string) transport.Attempt {
	a := transport.Attempt{
		Endpoint: "ws://127.0.0.1:8080/ws",
		Query:    transport.Query{SourceID: "incidents", Mode: "snapshot-then-delta"},
		Resume:   event.NoPosition,
		Options:  map[string]string{},
	}
	for _, w := range words {
		if name, value, is := strings.Cut(w, "="); is {
			a.Options[name] = value
		} else if w == "resume" {
			a.Resume = event.Position{Seq: 41, Cursor: "incidents-v7:41"}
		}
	}
	return a
}

// upgrade is a good answer to the request that was taken last.
func upgrade(r *transport.Request, more ...string) transport.Head {
	h := transport.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Accept": {acceptFor(r.Header.Get("Sec-Websocket-Key"))}}
	for i := 0; i+1 < len(more); i += 2 {
		h[more[i]] = append(h[more[i]], more[i+1])
	}
	return transport.Head{Status: 101, Header: h}
}

// openMachine is a machine whose connection is open at the time 0; what it said so far was taken.
func openMachine(words ...string) *Machine {
	m := NewMachine()
	m.Wake(0)
	m.Start(wireAttempt(words...))
	o, _ := m.Take()
	more := []string{}
	if slices.Contains(words, "compression=deflate") {
		more = []string{"Sec-Websocket-Extensions", "permessage-deflate"}
	}
	m.Head(upgrade(o.Request, more...))
	take(m)
	return m
}

// text is a text message of a server's.
func text(s string) []byte { return appendServerFrame(nil, 0x81, []byte(s)) }

func closing(code int) []byte {
	return appendServerFrame(nil, 0x88, binary.BigEndian.AppendUint16(nil, uint16(code)))
}

// at moves a machine's clock and is what it owes then.
func at(m *Machine, now time.Duration) string {
	m.Wake(now)
	return take(m)
}

var errSomething = errors.New("GET http://user:secret@host/?cursor=secret: what the server wrote")
