package fleet

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/conform-dev/conform/simulator"
)

// Limits of the sender (fleet facts 3.4).
const (
	// DefaultCoalesce is how long events are gathered into one digest, from the first one on.
	DefaultCoalesce = 30 * time.Second
	// MaxCoalesce is the ceiling of that setting.
	MaxCoalesce = 5 * time.Minute
	// DefaultAttemptTime bounds one attempt. The reference configures it and names no default.
	DefaultAttemptTime = 10 * time.Second
	// MaxAttemptTime is the ceiling of that setting.
	MaxAttemptTime = time.Minute
	// MaxGathered bounds the events that wait while the sender cannot send; the oldest go first, as they are in the plane's log.
	MaxGathered = MaxPublish
	// CountedFailures in a row mark the subscription as degraded.
	CountedFailures = 3
)

// waits are the pauses before the attempts behind the first one.
var waits = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// SenderOptions says for which subscription is sent.
type SenderOptions struct {
	Subscription string
	Identity     string
	Key          string        // its signing key, a secret
	Coalesce     time.Duration // DefaultCoalesce; -1 for none: each call of Queue is a digest
	AttemptTime  time.Duration // DefaultAttemptTime
}

// SenderState is where a sender stands.
type SenderState string

// The states.
const (
	SenderIdle     SenderState = "idle"     // nothing to send
	SenderGathers  SenderState = "gathers"  // events wait for the end of the window
	SenderSends    SenderState = "sends"    // an attempt is under way
	SenderWaits    SenderState = "waits"    // between two attempts
	SenderDegraded SenderState = "degraded" // nothing is attempted until Resume
)

// Post is one attempt that its driver has to make.
type Post struct {
	Attempt int // of this digest, from 1
	EventID string
	Header  simulator.Header
	Body    []byte
}

// Sender is the plane's sender of signed wakes for one subscription: a pure machine, which the server's intake is tested with.
type Sender struct {
	opt      SenderOptions
	state    SenderState
	events   []Event // gathered
	began    time.Duration
	current  wake
	attempt  int
	failures int           // counted, in a row
	at       time.Duration // when the state's time is over
	due      *Post
}

// NewSender makes one. An error names the setting and its bound.
func NewSender(opt SenderOptions) (*Sender, error) {
	if opt.Coalesce == 0 {
		opt.Coalesce = DefaultCoalesce
	}
	if opt.Coalesce == -1 {
		opt.Coalesce = 0
	}
	if opt.AttemptTime == 0 {
		opt.AttemptTime = DefaultAttemptTime
	}
	switch {
	case opt.Subscription == "" || opt.Identity == "" || opt.Key == "":
		return nil, fmt.Errorf("sender: subscription, identity and key are needed")
	case opt.Coalesce < 0 || opt.Coalesce > MaxCoalesce:
		return nil, fmt.Errorf("coalesce: %v is not in 0 to %v", opt.Coalesce, MaxCoalesce)
	case opt.AttemptTime < 0 || opt.AttemptTime > MaxAttemptTime:
		return nil, fmt.Errorf("attemptTime: %v is not above 0 and at most %v", opt.AttemptTime, MaxAttemptTime)
	}
	return &Sender{opt: opt, state: SenderIdle}, nil
}

// State is where the sender stands, and how many failures in a row count.
func (s *Sender) State() (SenderState, int) { return s.state, s.failures }

// Queue adds events of the log. A degraded sender forgets them: the poll is what finds them.
func (s *Sender) Queue(now Now, events []Event) {
	if s.state == SenderDegraded || len(events) == 0 {
		return
	}
	if len(s.events) == 0 {
		s.began = now.Mono
	}
	s.events = append(s.events, events...)
	if over := len(s.events) - MaxGathered; over > 0 {
		s.events = append([]Event(nil), s.events[over:]...)
	}
	if s.state == SenderIdle {
		s.gather(now)
	}
}

// gather waits for the end of the window, or sends if it is over.
func (s *Sender) gather(now Now) {
	s.state, s.at = SenderGathers, s.began+s.opt.Coalesce
	s.Wake(now)
}

// Wake tells the time.
func (s *Sender) Wake(now Now) {
	if s.state == SenderIdle || s.state == SenderDegraded || now.Mono < s.at {
		return
	}
	switch s.state {
	case SenderGathers:
		s.current = newWake(s.opt.Subscription, s.opt.Identity, s.events, s.opt.Coalesce.Milliseconds(), now.Wall)
		s.events, s.attempt = nil, 0
		s.send(now)
	case SenderWaits:
		s.send(now)
	case SenderSends:
		s.Unreachable(now) // no answer in time
	}
}

func (s *Sender) send(now Now) {
	s.attempt++
	s.state, s.at = SenderSends, now.Mono+s.opt.AttemptTime
	s.due = &Post{Attempt: s.attempt, EventID: s.current.eventID, Body: s.current.body, Header: s.current.header(s.opt.Subscription, s.opt.Key)}
}

// Take hands out the attempt that is due.
func (s *Sender) Take() (Post, bool) {
	if s.due == nil {
		return Post{}, false
	}
	p := *s.due
	s.due = nil
	return p, true
}

// Deadline is when Wake is wanted next.
func (s *Sender) Deadline() (time.Duration, bool) {
	return s.at, s.state != SenderIdle && s.state != SenderDegraded
}

// Answered is the answer to the attempt under way. 2xx delivers. 404 with the exact error unknown-subscription counts one failure
// without a retry. Any other 4xx degrades at once. Everything else is tried again.
func (s *Sender) Answered(now Now, status int, body []byte) {
	if s.state != SenderSends {
		return
	}
	switch {
	case status >= 200 && status <= 299:
		s.failures = 0
		s.next(now)
	case status == 404 && unknown(body):
		s.fail(now)
	case status >= 400 && status <= 499:
		s.degrade()
	default:
		s.Unreachable(now)
	}
}

func unknown(body []byte) bool {
	var answer struct {
		Error any `json:"error"`
	}
	return json.Unmarshal(body, &answer) == nil && answer.Error == wakeUnknown
}

// Unreachable says that the attempt under way got no answer.
func (s *Sender) Unreachable(now Now) {
	if s.state != SenderSends {
		return
	}
	s.due = nil
	if s.attempt > len(waits) {
		s.fail(now)
		return
	}
	s.state, s.at = SenderWaits, now.Mono+waits[s.attempt-1]
}

// fail counts one failure.
func (s *Sender) fail(now Now) {
	if s.failures++; s.failures >= CountedFailures {
		s.degrade()
		return
	}
	s.next(now)
}

func (s *Sender) degrade() { s.state, s.events, s.due = SenderDegraded, nil, nil }

// next goes on with what was gathered meanwhile.
func (s *Sender) next(now Now) {
	s.state = SenderIdle
	if len(s.events) > 0 {
		s.gather(now)
	}
}

// Resume takes a degraded sender up again; an operator does that.
func (s *Sender) Resume() {
	if s.state == SenderDegraded {
		s.state, s.failures = SenderIdle, 0
	}
}
