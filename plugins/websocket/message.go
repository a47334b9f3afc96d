package websocket

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/envelope"
)

// frame takes one frame of the server's.
func (m *Machine) frame(f *Frame) {
	switch f.Kind {
	case TextMessage, BinaryMessage:
		m.message(f)
	case PingFrame:
		m.send(OpPong, f.Payload)
	case PongFrame:
		m.ping.pong(f.Payload)
	case CloseFrame:
		m.closed(f.Code)
	case Invalid:
		m.violation(f)
	}
}

// closed answers a close frame with its own code (RFC 6455 5.5.1) and says what it means.
func (m *Machine) closed(code uint16) {
	m.sendClose(code)
	m.say(meaning(code, m.set.codes, &m.chance))
}

// violation fails the connection (RFC 6455 7.1.7).
func (m *Machine) violation(f *Frame) {
	switch f.Violation {
	case MessageTooLarge: // a hole: the bytes are there, but not for us (D-37)
		m.gap(f.Violation.Code(), fmt.Sprintf("%s: limit %d, message at byte %d", MessageTooLarge, m.dec.Max(), f.MessageAt))
		return
	case InvalidCloseCode: // the server ends the connection itself, with a code that is none: "any other" (D-37)
		m.end(f.Violation.Code(), transport.Signal{Kind: transport.Refused, Cause: transport.ProtocolError, Detail: violationDetail(f)})
		return
	}
	m.end(f.Violation.Code(), transport.Signal{Kind: transport.Ended, Cause: transport.ProtocolError, Detail: violationDetail(f)})
}

func violationDetail(f *Frame) string {
	return fmt.Sprintf("protocol-violation: %s, frame %d at byte %d", f.Violation, f.Number, f.At)
}

// end closes with code and says why.
func (m *Machine) end(code uint16, s transport.Signal) {
	m.sendClose(code)
	m.say(s)
}

func (m *Machine) gap(code uint16, detail string) {
	m.end(code, transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: detail})
}

// message decides what a message is. One of the kind that was not declared is undecodable, whatever it holds (D-44, P-WS-13).
func (m *Machine) message(f *Frame) {
	switch {
	case m.set.binary && f.Kind == TextMessage:
		m.undecodable(CodeUnsupported, "a text message where binary is declared", f)
		return
	case !m.set.binary && f.Kind == BinaryMessage:
		m.undecodable(CodeUnsupported, "a binary message where text is declared", f)
		return
	case m.set.binary && !utf8.Valid(f.Payload):
		m.undecodable(CodeInvalidData, "not UTF-8", f)
		return
	}
	p := envelope.Classify(f.Payload, &m.kinded)
	switch p.Class {
	case envelope.Data:
		m.doc = transport.Document{JSON: p.Doc}
		m.hasDoc, m.spoke = true, true
	case envelope.Status:
		m.control(envelope.ReadStatus(p.Doc))
	case envelope.Error:
		m.control(envelope.ReadError(p.Doc))
	case envelope.Gap:
		m.gap(CodeNormal, "gap-notice")
	case envelope.Heartbeat:
		m.say(transport.Signal{Kind: transport.Heartbeat})
	default:
		if len(bytes.Trim(f.Payload, " \t\r\n")) == 0 { // no payload (facts 5.1, 5.2)
			m.say(transport.Signal{Kind: transport.Heartbeat})
			return
		}
		m.undecodable(CodeInvalidData, p.Wrong, f)
	}
}

func (m *Machine) undecodable(code uint16, why string, f *Frame) {
	m.gap(code, fmt.Sprintf("undecodable-payload: %s, message at byte %d", why, f.MessageAt))
}

// control passes on what a control frame says. One that ends the connection is the server's word, not a fault in it: code 1000.
func (m *Machine) control(s transport.Signal) {
	if s.Kind.Final() {
		m.sendClose(CodeNormal)
	}
	m.say(s)
}
