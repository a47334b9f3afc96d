package envelope

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// MaxEpochBytes bounds a stream epoch: it is kept in every later record and compared on every connect. A cut name could
// equal another one, so a longer one is a protocol error.
const MaxEpochBytes = 1024

// frame is a control frame's members, by exact name. Members of the wrong type count as not there.
type frame map[string]json.RawMessage

// openFrame reads a document that scan accepted as an object.
func openFrame(doc []byte) frame {
	var f frame
	if json.Unmarshal(doc, &f) != nil {
		return nil
	}
	return f
}

func (f frame) text(name string) string {
	var s string
	if raw := f[name]; len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func (f frame) is(name string) transport.Tristate {
	switch string(f[name]) {
	case "true":
		return transport.Yes
	case "false":
		return transport.No
	}
	return transport.Unsaid
}

// delay reads retryAfterMs: finite and not below zero, anything else is none (facts 5.4).
func (f frame) delay(name string) time.Duration {
	ms, err := strconv.ParseFloat(string(f[name]), 64)
	if err != nil || math.IsNaN(ms) || ms < 0 {
		return 0
	}
	return time.Duration(min(ms, transport.MaxDelayMs)) * time.Millisecond
}

// seq reads a sequence exactly, by the rule that events are read by (D-06).
func (f frame) seq(name string) event.Seq {
	raw, ok := f[name]
	if !ok {
		return event.NoSeq
	}
	var e event.Event
	event.Parse(fmt.Appendf(nil, `{"type":"delta","sequence":%s}`, raw), &e)
	return e.Pos.Seq
}

// ReadStatus reads a status frame: the server's answer to the connect (D-41), its notice that it is about to close (D-36), the end of
// the viewer's right to the stream (facts 5.5), or a sign of life.
func ReadStatus(doc []byte) transport.Signal {
	f := openFrame(doc)
	switch {
	case f.text("code") == "authorization-ended":
		return transport.Signal{Kind: transport.Refused, Cause: transport.Unauthorized, Detail: "authorization-ended"}
	case f.text("status") == "connected":
	case f.is("closingSoon") == transport.Yes:
		return transport.Signal{Kind: transport.Answered, Answer: transport.Answer{Head: event.NoSeq, ClosingSoon: true}}
	default:
		return transport.Signal{Kind: transport.Heartbeat}
	}
	answer := transport.Answer{
		StreamEpoch: f.text("streamEpoch"),
		Head:        f.seq("headSequence"),
		Resumed:     f.is("resumed"),
		ClosingSoon: f.is("closingSoon") == transport.Yes,
	}
	if len(answer.StreamEpoch) > MaxEpochBytes {
		return transport.Signal{Kind: transport.Refused, Cause: transport.ProtocolError, Detail: "stream-epoch-too-long: limit " + strconv.Itoa(MaxEpochBytes)}
	}
	reason, _ := event.ParseReason(f.text("resumeRejected"))
	answer.Rejected = reason.String()
	return transport.Signal{Kind: transport.Answered, Answer: answer, Reason: reason}
}

// ReadError rebuilds an error frame from the three members that count; nothing else of it is believed or shown (facts 5.4).
func ReadError(doc []byte) transport.Signal {
	f := openFrame(doc)
	s := transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: "error-frame", RetryAfter: f.delay("retryAfterMs")}
	code := f.text("code")
	switch {
	case f.is("terminal") == transport.Yes:
		s.Kind, s.Reason, s.Cause, s.Detail = transport.Refused, event.None, transport.ProtocolError, "terminal-error-frame"
	case code == event.CursorExpired.String():
		s.Kind, s.Reason = transport.Expired, event.CursorExpired
	case code == event.ResumeUnsupported.String():
		s.Reason = event.ResumeUnsupported
	}
	return s
}
