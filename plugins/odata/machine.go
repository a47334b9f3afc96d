package odata

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// Machine is the pure client for one chain of requests. The zero Machine is ready for Start; Start begins anew on a used one.
//
// It owes one request at a time. Once a driver has taken a request, the answer to the one before it is over: what still comes of that is the
// driver's to drop.
type Machine struct {
	plan   plan
	reader *Reader
	chance chance
	now    time.Duration
	stage  stage

	// What Take owes.
	owed  []transport.Output
	given int

	// The request under way.
	link      *url.URL // as the server, or the configuration, gave it
	at        *url.URL // after redirects
	redirects int
	silent    time.Duration // when the answer counts as lost
	fresh     bool          // the request was taken since the last Wake
	dec       *Decoder
	refusal   []byte
	head      transport.Head // of the answer whose body says what it means
	failures  int            // of this link in a row
	throttles int            // of this link in a row
	due       time.Duration  // waiting: when link is asked for
	next      bool           // waiting: link is the next cycle's

	// The cycle.
	round    round
	page     mark
	pages    int
	start    bool // no page of this cycle has come
	location bool // it began at the Location of an expiry
	finding  string
	told     said
	held     event.Position // what was told last: of a document, or of a refresh
	streak   int            // snapshots in a row that were needed to recover
	opened   bool
}

type stage uint8

const (
	idle    stage = iota
	waiting       // for the time of the next request
	asked         // for the head of an answer
	reading       // a page
	judging       // a refusal whose body says what it means
	over
)

// said is what the pages of a cycle said beside their entries; the last one counts.
type said struct {
	epoch string
	head  event.Seq
	note  note
}

var _ transport.Clocked = (*Machine)(nil)

// NewMachine makes a Machine.
func NewMachine() *Machine { return &Machine{} }

// Check says whether an attempt can be made at all: its options, endpoint, query, credential, and that a resume link does not lead away.
// The error names what is wrong and holds no secret and no position. A position that cannot be sent is no error here: see Start.
func Check(a transport.Attempt) error {
	if _, err := newPlan(a); err != nil && !errors.Is(err, errUnsendable) {
		return err
	}
	return nil
}

// Start begins the chain: with a delta cycle where the attempt has a delta token, otherwise with a snapshot cycle. An attempt that Check
// refuses is Refused at once, and one whose token cannot be named in a request is a Gap, resume-unsupported: in both cases without a
// request.
func (m *Machine) Start(a transport.Attempt) {
	*m = Machine{now: m.now, held: event.NoPosition}
	var err error
	m.plan, err = newPlan(a)
	switch {
	case errors.Is(err, errUnsendable):
		m.say(transport.Signal{Kind: transport.Gap, Reason: event.ResumeUnsupported, Detail: err.Error()})
		return
	case err != nil:
		m.say(transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Detail: err.Error()})
		return
	}
	m.reader = NewReader(m.plan.set.key)
	m.chance.draw = a.Draw
	m.round = round{asPatch: m.plan.set.asPatch, maxRows: m.plan.set.maxRows, maxBytes: m.plan.set.maxEventBytes}
	if m.plan.resume != nil {
		m.held = event.Position{Seq: a.Resume.Seq, DeltaToken: a.Resume.DeltaToken, Cursor: a.Resume.Cursor, Watermark: a.Resume.Watermark, Timestamp: a.Resume.Timestamp}
		m.begin(m.plan.resume, false)
		return
	}
	m.begin(m.plan.first, true)
}

// begin starts a cycle at once.
func (m *Machine) begin(link *url.URL, snapshot bool) {
	m.cycle(snapshot)
	m.follow(link)
}

// cycle empties what a cycle collects.
func (m *Machine) cycle(snapshot bool) {
	m.round.begin(snapshot)
	m.pages, m.start, m.location, m.finding = 0, true, false, ""
	m.told = said{head: event.NoSeq, note: note{seq: event.NoSeq}}
}

// follow asks for the page of link, which has been judged.
func (m *Machine) follow(link *url.URL) {
	m.turn(link)
	m.ask()
}

// turn makes the page of link the one that is due.
func (m *Machine) turn(link *url.URL) {
	m.link, m.failures, m.throttles = link, 0, 0
	m.page = m.round.mark()
	m.pages++
}

// ask owes the request for link.
func (m *Machine) ask() {
	m.at, m.redirects = m.link, 0
	m.send()
}

func (m *Machine) send() {
	m.stage, m.dec, m.refusal = asked, nil, nil
	m.owe(transport.Output{Request: m.plan.request(m.at, m.round.snapshot && m.start)})
}

func (m *Machine) owe(out transport.Output) { m.owed = append(m.owed, out) }

// say owes a signal. A final one ends the chain.
func (m *Machine) say(s transport.Signal) {
	m.owe(transport.Output{Signal: &s})
	if s.Kind.Final() {
		m.stage = over
	}
}

// Take hands out what is due. What it points to is valid until the next call.
func (m *Machine) Take() (transport.Output, bool) {
	if m.given == len(m.owed) {
		clear(m.owed) // let go of a document
		m.owed, m.given = m.owed[:0], 0
		return transport.Output{}, false
	}
	out := m.owed[m.given]
	m.given++
	if out.Request != nil {
		m.silent, m.fresh = m.now+MaxSilence, true
	}
	return out, true
}

// pending says that something is owed: then time does nothing, for nobody has asked for it yet.
func (m *Machine) pending() bool { return m.given < len(m.owed) }

// Wake tells the time.
func (m *Machine) Wake(now time.Duration) {
	if m.now = max(m.now, now); m.fresh { // who took the request may have taken his time before that
		m.silent, m.fresh = m.now+MaxSilence, false
	}
	switch {
	case m.pending():
	case m.stage == waiting && m.now >= m.due && m.next:
		m.next = false
		m.begin(m.link, false)
	case m.stage == waiting && m.now >= m.due:
		m.ask()
	case m.answering() && m.now >= m.silent:
		m.lost(fmt.Sprintf("silent for %v", MaxSilence))
	}
}

func (m *Machine) answering() bool {
	return m.stage == asked || m.stage == reading || m.stage == judging
}

// Deadline is when Wake is wanted: for the next request, or when an answer is taking too long.
func (m *Machine) Deadline() (at time.Duration, ok bool) {
	switch {
	case m.pending():
	case m.stage == waiting:
		return m.due, true
	case m.answering():
		return m.silent, true
	}
	return 0, false
}

// wait plans the request for link after d.
func (m *Machine) wait(d time.Duration) { m.stage, m.due, m.dec = waiting, m.now+d, nil }

// Bytes takes one read of the body.
func (m *Machine) Bytes(b []byte) {
	m.silent = m.now + MaxSilence
	switch m.stage {
	case reading:
		m.dec.Feed(b)
		for m.stage == reading {
			raw, at, ok := m.dec.Next()
			if !ok {
				break
			}
			m.entry(raw, at)
		}
		if m.stage == reading && m.dec.Flawed() != nil {
			m.flawed(m.dec.Flawed())
		}
	case judging:
		m.refusal = append(m.refusal, b[:min(len(b), MaxRefusalBytes-len(m.refusal))]...)
		if len(m.refusal) == MaxRefusalBytes {
			m.judged()
		}
	}
}

func (m *Machine) entry(raw []byte, at int64) {
	e, flaw := m.dec.Read(m.reader, raw, at)
	if flaw == nil {
		if flaw = m.round.add(e); flaw != nil {
			flaw.Row, flaw.At = m.dec.Rows(), at
		}
	}
	if flaw != nil {
		m.flawed(flaw)
	}
}

// End reports that the body, or the connection, ended.
func (m *Machine) End(err error) {
	if !m.answering() || m.pending() {
		return
	}
	var futile web.Futile
	switch {
	case errors.As(err, &futile):
		m.fail(transport.Signal{Kind: transport.Refused, Cause: futile.Cause, Detail: futile.Word})
	case err != nil:
		word := web.AbnormalEnd
		errors.As(err, &word)
		m.lost(string(word))
	case m.stage == asked:
		m.lost("ended-before-answer")
	case m.stage == judging:
		m.judged()
	default:
		page, err := m.dec.Page()
		var flaw *Flaw
		if errors.As(err, &flaw) {
			m.flawed(flaw)
			return
		}
		m.paged(page)
	}
}
