package websocket

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// Machine is the pure client for one connection. The zero Machine is ready for Start; Start begins anew on a used one.
type Machine struct {
	set       settings
	dec       *Decoder
	stage     stage
	target    *url.URL
	header    transport.Header
	redirects int
	named     bool // the request named a position
	offer     offered
	chance    chance
	now       time.Duration
	ping      pinger

	// What Take owes: the queue in its order, then a document.
	queue  []owed
	given  int
	doc    transport.Document
	hasDoc bool

	seen   uint64 // complete frames before this read
	spoke  bool   // something was handed out for this read
	kinded []byte // scratch of envelope.Classify
}

// owed is one thing in the queue: what of it is set.
type owed struct {
	signal  transport.Signal
	request *transport.Request
	send    []byte
}

type stage uint8

const (
	idle stage = iota
	asked
	streaming
	over
)

var (
	_ transport.Clocked = (*Machine)(nil)
	_ transport.Leaver  = (*Machine)(nil)
)

// NewMachine makes a Machine.
func NewMachine() *Machine { return &Machine{} }

// Check says whether an attempt can be made at all: its options, endpoint, query and credential. The error names what is
// wrong and holds no secret and no position. A position that cannot be named is no error here: see Start.
func Check(a transport.Attempt) error {
	set, err := parseSettings(a.Options)
	if err != nil {
		return err
	}
	if _, _, _, err = newRequest(a, set); err != nil && !errors.Is(err, errUnsendable) {
		return err
	}
	return nil
}

// Start begins the connection. An attempt that Check refuses is Refused at once, and one whose position cannot be named in a
// request is a Gap, resume-unsupported: in both cases without a request.
func (m *Machine) Start(a transport.Attempt) {
	*m = Machine{kinded: m.kinded, now: m.now, queue: m.queue[:0]}
	set, err := parseSettings(a.Options)
	if err != nil {
		m.refuse(err)
		return
	}
	request, target, named, err := newRequest(a, set)
	if errors.Is(err, errUnsendable) {
		m.say(transport.Signal{Kind: transport.Gap, Reason: event.ResumeUnsupported, Detail: err.Error()})
		return
	}
	if err != nil {
		m.refuse(err)
		return
	}
	m.set, m.target, m.header, m.named = set, target, request.Header, named
	m.chance.draw = a.Draw
	m.stage = asked
	m.ask()
}

func (m *Machine) refuse(err error) {
	m.say(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
}

// ask owes a handshake with target. Each has a key of its own (RFC 6455 4.1).
func (m *Machine) ask() {
	m.offer = offered{key: nonce(&m.chance), subprotocols: m.set.subprotocols, deflate: m.set.deflate}
	header := transport.Header{"Sec-Websocket-Key": {m.offer.key}}
	for name, values := range m.header {
		header[name] = values
	}
	m.queue = append(m.queue, owed{request: &transport.Request{Method: "GET", URL: m.target.String(), Header: header}})
}

// Head judges an answer (D-33, RFC 6455 4.1).
func (m *Machine) Head(h transport.Head) {
	if m.stage != asked || m.given < len(m.queue) {
		return
	}
	s, deflate, follow := judge(h, m.target, m.redirects, m.named, m.offer)
	if follow != nil {
		m.redirects++
		m.target = follow
		m.ask()
		return
	}
	m.say(s)
	if s.Kind != transport.Open {
		return
	}
	m.stage, m.dec = streaming, NewDecoder(m.set.maxMessageBytes, deflate)
	m.ping.start(m.set.pingEvery, m.now)
	if m.set.subscribe != "" {
		m.send(OpText, []byte(m.set.subscribe))
	}
}

// Bytes takes one read of what the server sent after its answer.
func (m *Machine) Bytes(b []byte) {
	if m.stage != streaming {
		return
	}
	m.dec.Feed(b)
	m.seen, m.spoke = m.dec.Frames(), false
}

// The words for a connection that did not end well, beside those of package web.
const (
	noCloseFrame   = "ended-without-close-frame"
	endBeforeReply = "ended-before-answer"
)

// End reports that the connection is over without a close frame: code 1006. The unfinished message is dropped.
func (m *Machine) End(err error) {
	if m.stage == over || m.stage == idle {
		return
	}
	m.queue, m.given = m.queue[:0], 0
	var futile web.Futile
	if errors.As(err, &futile) {
		m.say(transport.Signal{Kind: transport.Refused, Cause: futile.Cause, Detail: futile.Word})
		return
	}
	detail := noCloseFrame
	if m.stage == asked {
		detail = endBeforeReply
	}
	if err != nil {
		word := web.AbnormalEnd
		errors.As(err, &word)
		detail = string(word)
	}
	if m.dec != nil && m.dec.Unfinished() > 0 {
		detail = fmt.Sprintf("%s, %d bytes of an unfinished message dropped", detail, m.dec.Unfinished())
	}
	m.say(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: detail})
}

// Leave takes leave of the server with code 1000, if there is one to take leave of.
func (m *Machine) Leave() {
	if m.stage == streaming {
		m.sendClose(CodeNormal)
	}
	m.stage = over
}

// Wake tells the time. It sends what is due: a ping, or the news that nobody answers.
func (m *Machine) Wake(now time.Duration) {
	m.now = max(m.now, now)
	if m.stage != streaming {
		return
	}
	switch m.ping.wake(m.now) {
	case pingNow:
		m.send(OpPing, m.ping.payload())
	case pingDead: // no close frame: a server that reads it may forget the session (P-WS-10)
		m.say(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: fmt.Sprintf("ping-unanswered: %d in a row, %v apart", MaxUnanswered, m.set.pingEvery)})
	}
}

// Deadline is when Wake is wanted next.
func (m *Machine) Deadline() (time.Duration, bool) {
	if m.stage != streaming {
		return 0, false
	}
	return m.ping.deadline(), true
}

// say owes a signal. A final one ends the connection.
func (m *Machine) say(s transport.Signal) {
	m.queue = append(m.queue, owed{signal: s})
	m.spoke = true
	if s.Kind.Final() {
		m.stage = over
	}
}

// send owes a frame for the server.
func (m *Machine) send(op Opcode, payload []byte) {
	m.queue = append(m.queue, owed{send: appendFrame(nil, op, payload, m.chance.key())})
}

func (m *Machine) sendClose(code uint16) {
	m.queue = append(m.queue, owed{send: appendClose(nil, code, m.chance.key())})
}

// Take hands out what is due. What it points to is valid until the next call.
func (m *Machine) Take() (transport.Output, bool) {
	for {
		if m.given < len(m.queue) {
			o := &m.queue[m.given]
			m.given++
			switch {
			case o.send != nil:
				return transport.Output{Send: o.send}, true
			case o.request != nil:
				return transport.Output{Request: o.request}, true
			}
			return transport.Output{Signal: &o.signal}, true
		}
		m.queue, m.given = m.queue[:0], 0
		if m.hasDoc {
			m.hasDoc = false
			return transport.Output{Document: &m.doc}, true
		}
		if m.stage != streaming {
			return transport.Output{}, false
		}
		if f, ok := m.dec.Next(); ok {
			m.frame(&f)
			continue
		}
		if m.spoke || m.dec.Frames() == m.seen {
			return transport.Output{}, false
		}
		m.say(transport.Signal{Kind: transport.Heartbeat}) // complete frames, and nothing else said so (D-36)
	}
}
