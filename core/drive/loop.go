package drive

import (
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/polling"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// Loop is what keeps one subscription going: a session.Session, or a polling.Loop for a transport that keeps its own (D-45). The
// documentation of each method is there.
type Loop interface {
	Open(now session.Now)
	Wake(now session.Now)
	Up(e session.Epoch, now session.Now)
	Beat(e session.Epoch, now session.Now)
	Answer(e session.Epoch, now session.Now, a session.Answer)
	Mark(e session.Epoch, now session.Now, cursor string)
	Retry(e session.Epoch, now session.Now, floor time.Duration)
	Down(e session.Epoch, now session.Now, d session.Down)
	Data(e session.Epoch, now session.Now, ev *event.Event) gate.Ticket
	Applied(now session.Now, err error)
	Saved(now session.Now, err error)
	ScopeChanged(e session.Epoch, now session.Now)
	Require(now session.Now, r event.Reason, detail string)
	Fail(now session.Now, r event.Reason)
	Close(now session.Now, r event.Reason)

	Take() session.Due
	Deadline() (time.Duration, bool)
	Room() int
	State() gate.State
	Held() (gate.Held, bool)
	Candidate() (event.Position, bool)
	RecentIDs() []string
	RecentIDCount() int
	SourceVersion() string
	Observe(now session.Now) session.Observation
}

// poller is a Loop that hears what a transport with a recovery loop of its own says.
type poller interface {
	Recover(e session.Epoch, now session.Now, r event.Reason, detail string)
	Refresh(e session.Epoch, now session.Now, pos event.Position)
	Polled(e session.Epoch, now session.Now, seq event.Seq, changed bool)
}

var (
	_ Loop   = (*session.Session)(nil)
	_ Loop   = (*polling.Loop)(nil)
	_ poller = (*polling.Loop)(nil)
)

// NewLoop makes the loop for what a transport declares, around g.
func NewLoop(g *gate.Gate, d transport.Descriptor, p session.Policy) (Loop, error) {
	if d.Freshness == transport.Poll {
		return polling.New(g, p)
	}
	return session.New(g, p)
}

// Forgetting says whether a Forget is owed that waits for a running save. A driver lets a transport that announced its recovery go on,
// and so ask for the snapshot, only when the store has forgotten (D-31). A session sees to that itself: its snapshot has an attempt.
func Forgetting(l Loop) bool {
	p, ok := l.(interface{ Forgetting() bool })
	return ok && p.Forgetting()
}

// polled gives a loop the signals of a polling transport; false for a loop that has no use for them. A poll is a sign of life on any
// loop.
func polled(l Loop, e session.Epoch, now session.Now, sig transport.Signal) bool {
	p, ok := l.(poller)
	switch {
	case sig.Kind == transport.Polled && (!ok || sig.Poll == nil):
		l.Beat(e, now)
	case !ok:
		return false
	case sig.Kind == transport.Polled:
		p.Polled(e, now, sig.Poll.Seq, sig.Poll.Changed)
	case sig.Kind == transport.Recovering:
		p.Recover(e, now, sig.Reason, sig.Detail)
	default:
		p.Refresh(e, now, sig.Position)
	}
	return true
}
