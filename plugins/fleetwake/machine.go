package fleetwake

import (
	"errors"
	"fmt"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
	"github.com/conform-dev/conform/plugins/sse"
)

// Machine is the pure client of one wake stream. Beside the stream's one request it owes a poll, which PollDue hands out and Polled
// answers: it goes through a seam of the driver's while the stream goes on. The zero Machine is ready for Start; Start begins anew on
// a used one, and with it everything that belongs to one connection.
type Machine struct {
	plan  plan
	dec   *sse.Decoder
	stage stage
	epoch uint32
	now   time.Duration

	id      string    // vouched by a state frame, or learned from a wake, of this connection
	mark    event.Seq // held; NoSeq if none is
	polling pollStage
	poll    Poll

	// What Take owes: signals, then a request.
	signals []transport.Signal
	given   int
	request *transport.Request

	seen  uint64 // complete lines before this read
	spoke bool   // something was handed out for this read
}

type stage uint8

const (
	idle stage = iota
	asked
	streaming
	over
)

var _ transport.Clocked = (*Machine)(nil)

// NewMachine makes a Machine.
func NewMachine() *Machine { return &Machine{} }

// Start begins the connection. An attempt that Check refuses is Refused at once, without a request.
func (m *Machine) Start(a transport.Attempt) {
	*m = Machine{now: m.now, epoch: a.Epoch}
	p, err := newPlan(a)
	if err != nil {
		m.say(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
		return
	}
	m.plan, m.mark = p, p.mark
	m.request, m.stage = &m.plan.request, asked
}

// Head judges an answer (D-33). No redirect is followed: the credential was given for this plane.
func (m *Machine) Head(h transport.Head) {
	if m.stage != asked || m.request != nil {
		return
	}
	s := judge(h)
	m.say(s)
	if s.Kind != transport.Open {
		return
	}
	m.stage, m.dec = streaming, sse.NewDecoder(m.plan.set.maxEventBytes)
	if m.plan.set.poll == PollNone {
		m.caughtUp(transport.CatchUpNoSeam, -1, NoSeam)
	}
}

// judge says what the head of an answer means: Open or a final signal. Bodies of refusals are not read.
func judge(h transport.Head) transport.Signal {
	if h.Status == 200 {
		if why := sse.NotAStream(h.Header); why != "" {
			return transport.Signal{Kind: transport.Refused, Cause: transport.BadMediaType, Status: h.Status, Detail: why}
		}
		return transport.Signal{Kind: transport.Open, Status: h.Status}
	}
	s := web.Final(h, false)
	if web.IsRedirect(h.Status) {
		s.Cause = transport.BadRedirect
	}
	s.Detail = fmt.Sprintf("stream refused: HTTP %d", h.Status)
	return s
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

// End reports that the connection is over. An unfinished frame is dropped, and so is a poll that was not answered.
func (m *Machine) End(err error) {
	if m.stage == over || m.stage == idle {
		return
	}
	m.request = nil
	var futile web.Futile
	if errors.As(err, &futile) {
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
		detail = fmt.Sprintf("%s, %d bytes of an unfinished frame dropped", detail, m.dec.Unfinished())
	}
	m.say(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: detail})
}

// say owes a signal. A final one ends the connection.
func (m *Machine) say(s transport.Signal) {
	m.signals = append(m.signals, s)
	if m.spoke = true; s.Kind.Final() {
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

// block: ids mean nothing on this wire, and a frame of another name is a sign of life like a comment.
func (m *Machine) block(b sse.Block) {
	switch {
	case b.Kind == sse.RetryLine:
		m.say(transport.Signal{Kind: transport.Retry, RetryAfter: time.Duration(b.Retry) * time.Millisecond})
	case b.Kind == sse.TooLarge:
		m.say(transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: fmt.Sprintf("frame-too-large: limit %d, frame at byte %d", m.dec.Max(), b.At)})
	case b.Kind == sse.EventBlock && string(b.Event) == "state":
		m.state(b)
	case b.Kind == sse.EventBlock && string(b.Event) == "wake":
		m.woken(b)
	default:
		m.say(transport.Signal{Kind: transport.Heartbeat})
	}
}

func (m *Machine) state(b sse.Block) {
	st, why := decodeState(b.Data)
	if why != "" {
		m.drop(transport.DroppedState, why, b.At)
		return
	}
	m.say(transport.Signal{Kind: transport.WakeStated, WakeState: &st})
	if st.SubscriptionID != "" {
		m.known(st.SubscriptionID)
	}
}

// woken: a wake is for the subscription of this connection, or teaches it where none is known yet (D-52, D-59). The poll that it makes
// due starts from the mark before it (D-53).
func (m *Machine) woken(b sse.Block) {
	w, dropped, why := decodeWake(b.Data)
	switch {
	case dropped != "":
		m.drop(dropped, why, b.At)
		return
	case m.id != "" && w.SubscriptionID != m.id:
		m.drop(transport.DroppedForeign, "not vouched on this connection", b.At)
		return
	}
	m.raise(w.LogID)
	m.say(transport.Signal{Kind: transport.Woken, Wake: &w})
	m.known(w.SubscriptionID)
}

// drop names a frame that does not count, and nothing of what it held.
func (m *Machine) drop(word, why string, at int64) {
	m.say(transport.Signal{
		Kind: transport.Woken, Detail: fmt.Sprintf("%s: %s, frame at byte %d", word, why, at),
		Wake: &transport.Wake{LogID: event.NoSeq, Dropped: word},
	})
}
