package sse

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/envelope"
	"github.com/conform-dev/conform/core/transport/web"
)

// Machine is the pure client for one connection. The zero Machine is ready for Start; Start begins anew on a used one.
type Machine struct {
	set       settings
	dec       *Decoder
	stage     stage
	target    *url.URL
	redirects int
	named     bool // the request named a position

	// What Take owes, in this order: signals, a request, a document. A block gives two signals at most.
	signals []transport.Signal
	given   int
	request *transport.Request
	header  transport.Header
	doc     transport.Document
	hasDoc  bool

	seen   uint64 // complete lines before this read
	spoke  bool   // something was handed out for this read
	kinded []byte // scratch of envelope.Classify
}

type stage uint8

const (
	idle stage = iota
	asked
	streaming
	over
)

var _ transport.Machine = (*Machine)(nil)

// NewMachine makes a Machine.
func NewMachine() *Machine { return &Machine{} }

// Check says whether an attempt can be made at all: its options, endpoint, query and credential. The error names what is
// wrong and holds no secret and no position. A cursor that cannot be sent is no error here: see Start.
func Check(a transport.Attempt) error {
	set, err := parseSettings(a.Options)
	if err != nil {
		return err
	}
	if _, _, err = newRequest(a, set); err != nil && !errors.Is(err, errUnsendable) {
		return err
	}
	return nil
}

// Start begins the connection. An attempt that Check refuses is Refused at once, and one whose cursor cannot be named in a
// request is a Gap, resume-unsupported: in both cases without a request.
func (m *Machine) Start(a transport.Attempt) {
	*m = Machine{kinded: m.kinded}
	set, err := parseSettings(a.Options)
	if err != nil {
		m.refuse(err)
		return
	}
	request, target, err := newRequest(a, set)
	if errors.Is(err, errUnsendable) {
		m.say(transport.Signal{Kind: transport.Gap, Reason: event.ResumeUnsupported, Detail: err.Error()})
		return
	}
	if err != nil {
		m.refuse(err)
		return
	}
	m.set, m.target, m.header, m.named = set, target, request.Header, a.Resume.Cursor != ""
	m.request, m.stage = &request, asked
}

func (m *Machine) refuse(err error) {
	m.say(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
}

// Head judges an answer (D-33).
func (m *Machine) Head(h transport.Head) {
	if m.stage != asked || m.request != nil {
		return
	}
	s, follow := judge(h, m.target, m.redirects, m.named)
	if follow != nil {
		m.redirects++
		m.target = follow
		m.request = &transport.Request{Method: "GET", URL: follow.String(), Header: m.header}
		return
	}
	m.say(s)
	if s.Kind == transport.Open {
		m.stage, m.dec = streaming, NewDecoder(m.set.maxEventBytes)
	}
}

// Bytes takes one read of the body.
func (m *Machine) Bytes(b []byte) {
	if m.stage != streaming {
		return
	}
	m.dec.Feed(b)
	m.seen, m.spoke = m.dec.Lines(), false
}

// The words for a connection that did not end well, beside those of package web.
const (
	endOfStream    = "end-of-stream"
	endBeforeReply = "ended-before-answer"
)

// End reports that the connection is over. The unfinished block is dropped, and its id with it.
func (m *Machine) End(err error) {
	if m.stage == over || m.stage == idle {
		return
	}
	var futile web.Futile
	if errors.As(err, &futile) {
		m.request = nil
		m.say(transport.Signal{Kind: transport.Refused, Cause: futile.Cause, Detail: futile.Word})
		return
	}
	detail := endOfStream
	if m.stage == asked {
		detail = endBeforeReply
	}
	if err != nil {
		word := web.AbnormalEnd
		errors.As(err, &word)
		detail = string(word)
	}
	if m.dec != nil && m.dec.Unfinished() > 0 {
		detail = fmt.Sprintf("%s, %d bytes of an unfinished event dropped", detail, m.dec.Unfinished())
	}
	m.request = nil
	m.say(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: detail})
}

// say owes a signal. A final one ends the connection.
func (m *Machine) say(s transport.Signal) {
	m.signals = append(m.signals, s)
	m.spoke = true
	if s.Kind.Final() {
		m.stage = over
	}
}

// Take hands out what is due. What it points to is valid until the next call.
func (m *Machine) Take() (transport.Output, bool) {
	for {
		if m.given < len(m.signals) {
			m.given++
			return transport.Output{Signal: &m.signals[m.given-1]}, true
		}
		m.signals, m.given = m.signals[:0], 0
		if m.request != nil {
			r := m.request
			m.request = nil
			return transport.Output{Request: r}, true
		}
		if m.hasDoc {
			m.hasDoc = false
			return transport.Output{Document: &m.doc}, true
		}
		if m.stage != streaming {
			return transport.Output{}, false
		}
		if b, ok := m.dec.Next(); ok {
			m.block(b)
			continue
		}
		if m.spoke || m.dec.Lines() == m.seen {
			return transport.Output{}, false
		}
		m.say(transport.Signal{Kind: transport.Heartbeat}) // complete lines, and nothing else said so (D-36)
	}
}

func (m *Machine) block(b Block) {
	if b.OwnID && len(b.ID) > web.MaxPositionBytes && m.set.idIs != IDIsNone {
		m.gap(fmt.Sprintf("frame-too-large: limit %d of an id, event at byte %d", web.MaxPositionBytes, b.At))
		return
	}
	switch b.Kind {
	case EventBlock:
		m.event(b)
	case IDBlock:
		m.mark(b)
	case CommentLine:
		m.say(transport.Signal{Kind: transport.Heartbeat})
	case RetryLine:
		m.say(transport.Signal{Kind: transport.Retry, RetryAfter: time.Duration(b.Retry) * time.Millisecond})
	case TooLarge:
		m.gap(fmt.Sprintf("frame-too-large: limit %d, event at byte %d", m.dec.Max(), b.At))
	}
}

// mark reports the id of a block without data (D-43).
func (m *Machine) mark(b Block) {
	if m.set.idIs != IDIsCursor {
		m.say(transport.Signal{Kind: transport.Heartbeat})
		return
	}
	m.say(transport.Signal{Kind: transport.Mark, Cursor: string(b.ID)})
}

func (m *Machine) gap(detail string) {
	m.say(transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: detail})
}

// event decides what the data of a block is. The JSON decides; the name counts only for a gap notice, whose JSON has no
// type (P-GATE-14).
func (m *Machine) event(b Block) {
	var p envelope.Payload
	blank := len(bytes.Trim(b.Data, " \t\r\n")) == 0
	if !blank {
		p = envelope.Classify(b.Data, &m.kinded)
	}
	if p.Class == envelope.Undecodable && string(b.Event) == "gap" {
		p.Class = envelope.Gap
	}
	cleared := b.OwnID && len(b.ID) == 0
	switch {
	case blank && p.Class == envelope.Undecodable && b.OwnID:
		m.mark(b) // no payload (facts 5.1): a block without data
		return
	case blank && p.Class == envelope.Undecodable:
		p.Class = envelope.Heartbeat
	}
	if cleared && m.set.idIs == IDIsCursor {
		m.mark(b)
	}
	switch p.Class {
	case envelope.Undecodable:
		m.gap(fmt.Sprintf("undecodable-payload: %s, event at byte %d", p.Wrong, b.At))
	case envelope.Data:
		m.document(b, p.Doc)
	case envelope.Status:
		m.say(envelope.ReadStatus(p.Doc))
	case envelope.Error:
		m.say(envelope.ReadError(p.Doc))
	case envelope.Gap:
		m.gap("gap-notice")
	case envelope.Heartbeat:
		m.say(transport.Signal{Kind: transport.Heartbeat})
	}
}

// document owes a data event. The id of its own block goes with it, as what the option idIs says it is; an id that an earlier
// block left in force is not its own and is not given to it again: as an event id it would make every later event a
// duplicate, and as a cursor it is held already.
func (m *Machine) document(b Block, doc []byte) {
	m.doc = transport.Document{JSON: doc}
	if b.OwnID {
		switch m.set.idIs {
		case IDIsCursor:
			m.doc.Cursor = string(b.ID)
		case IDIsEventID:
			m.doc.ID = string(b.ID)
		}
	}
	m.hasDoc, m.spoke = true, true
}
