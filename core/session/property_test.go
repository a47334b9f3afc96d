package session_test

import (
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// TestMain tries more orders than rapid does by itself: 2,000 take about 0.2 s.
func TestMain(m *testing.M) {
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() == f.DefValue {
		if err := f.Value.Set("2000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestAnyInputs feeds a session whatever a transport, a consumer, a store and a clock can do, in any order, and holds it to what
// must be true of every order: no panic, one connection at a time, never earlier than the server allowed, no dead position
// sent again, each ticket answered once, no save behind the store's back, and a deadline that leads somewhere.
func TestAnyInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		m.s.Open(m.stamp())
		m.take()
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			m.step()
		}
		m.settle()
	})
}

// model drives a session and checks it from outside.
type model struct {
	t     *rapid.T
	s     *session.Session
	now   time.Duration
	open  session.Epoch // the one connection; 0 if there is none
	epoch session.Epoch // last attempt
	floor time.Duration // no attempt before
	hint  time.Duration
	dead  bool // the position expired; only an accepted snapshot ends that
	owes  string
	saved bool // a record may be in the store
	saves bool // there is a store
	asked map[gate.Ticket]bool
	over  bool
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, asked: map[gate.Ticket]bool{}}
	start := gate.Start{}
	switch rapid.IntRange(0, 2).Draw(t, "start") {
	case 0:
		start.Held = &gate.Held{Pos: event.Position{Seq: 5, Cursor: "c5"}}
		m.saved = true
	case 1:
		start.Refused = event.CursorExpired
	}
	m.saves = rapid.Bool().Draw(t, "saves")
	g, err := gate.New(gate.Config{MaxPending: rapid.IntRange(1, 3).Draw(t, "pending"), Saves: m.saves}, start)
	if err != nil {
		t.Fatal(err)
	}
	m.s, err = session.New(g, session.Policy{
		Jitter:        func(n int) int { return n * 37 % 501 },
		Resume:        session.Modes(rapid.SampledFrom([]session.Modes{0, session.ByCursor, session.ByCursor | session.BySequence}).Draw(t, "modes")),
		Vouch:         session.Vouch(rapid.IntRange(0, 2).Draw(t, "vouch")),
		AtPosition:    rapid.Bool().Draw(t, "position"),
		Arrival:       rapid.Bool().Draw(t, "arrival"),
		SourceVersion: rapid.SampledFrom([]string{"", "v1"}).Draw(t, "source"),
		PendingBytes:  rapid.SampledFrom([]int{0, 10}).Draw(t, "bytes"),
		Notes:         true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *model) stamp() session.Now {
	return session.Now{Mono: m.now, Wall: m.now.Milliseconds()}
}

func (m *model) step() {
	t := m.t
	m.now += time.Duration(rapid.SampledFrom([]int{0, 1, 100, 1000, 16000, 91000, 130000}).Draw(t, "ms")) * time.Millisecond
	e := m.epoch
	if rapid.IntRange(0, 9).Draw(t, "stale") == 0 && e > 1 {
		e--
	}
	now := m.stamp()
	switch rapid.IntRange(0, 15).Draw(t, "input") {
	case 0, 1:
		m.s.Up(e, now)
	case 2, 3, 4:
		if m.s.Room() > 0 {
			m.data(e, now)
		}
	case 5:
		m.s.Answer(e, now, session.Answer{
			StreamEpoch: rapid.SampledFrom([]string{"", "v1", "v2"}).Draw(t, "epoch"),
			Head:        event.Seq(rapid.IntRange(-1, 12).Draw(t, "head")),
			Resumed:     session.Tristate(rapid.IntRange(0, 2).Draw(t, "resumed")),
			Rejected:    rapid.SampledFrom([]event.Reason{event.None, event.CursorExpired}).Draw(t, "rejected"),
		})
	case 6:
		m.s.Beat(e, now)
	case 7:
		m.s.Mark(e, now, rapid.SampledFrom([]string{"", "m1"}).Draw(t, "mark"))
	case 8:
		d := time.Duration(rapid.IntRange(0, 5000).Draw(t, "hint")) * time.Millisecond
		m.s.Retry(e, now, d)
		if e == m.open {
			m.hint = d
		}
	case 9, 10:
		m.down(e, now)
	case 11, 12:
		m.answer(now)
	case 13:
		m.s.Wake(now)
	case 14:
		m.rare(e, now)
	default:
		if at, ok := m.s.Deadline(); ok {
			m.now = max(m.now, at)
			m.s.Wake(m.stamp())
		}
	}
	m.take()
}

func (m *model) rare(e session.Epoch, now session.Now) {
	switch rapid.IntRange(0, 40).Draw(m.t, "rare") {
	case 0:
		m.s.Close(now, event.Closed)
	case 1:
		m.s.Fail(now, event.DeliveryFailed)
	case 2, 3, 4:
		m.s.Require(now, event.TransportGap, "")
	case 5, 6, 7:
		m.s.ScopeChanged(e, now)
	}
}

func (m *model) data(e session.Epoch, now session.Now) {
	t := m.t
	ev := &event.Event{
		Kind:    rapid.SampledFrom([]event.Kind{event.Malformed, event.Snapshot, event.Snapshot, event.Delta, event.Delta, event.Upsert}).Draw(t, "kind"),
		Merge:   rapid.IntRange(0, 5).Draw(t, "merge") == 0,
		Pos:     event.Position{Seq: event.Seq(rapid.IntRange(-1, 12).Draw(t, "seq"))},
		ID:      rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "id"),
		Payload: make([]byte, rapid.IntRange(0, 12).Draw(t, "size")),
	}
	if h, ok := m.s.Held(); ok && rapid.Bool().Draw(t, "next") {
		ev.Pos.Seq = h.Pos.Seq + 1
	}
	if rapid.Bool().Draw(t, "named") {
		ev.Pos.Cursor = "c"
	}
	if ev.Kind == event.Malformed {
		ev.Fault, ev.Hole = event.InvalidEvent, rapid.Bool().Draw(t, "hole")
	}
	if ticket := m.s.Data(e, now, ev); ticket != 0 {
		if e != m.epoch {
			t.Fatalf("an event of epoch %d reached the gate, the connection is %d", e, m.epoch)
		}
		m.asked[ticket] = true
	}
}

func (m *model) down(e session.Epoch, now session.Now) {
	t := m.t
	d := session.Down{Kind: session.DownKind(rapid.IntRange(0, 4).Draw(t, "down"))}
	if rapid.IntRange(0, 30).Draw(t, "final") == 0 {
		d = session.Down{Kind: session.Stopped, Ends: session.Refused}
	}
	if d.Kind == session.Gapped {
		d.Reason, d.Hole = event.TransportGap, rapid.Bool().Draw(t, "hole")
	}
	d.RetryAfter = time.Duration(rapid.SampledFrom([]int{0, 0, 700, 5000}).Draw(t, "after")) * time.Millisecond
	counts := e == m.open
	m.s.Down(e, now, d)
	if counts {
		m.open = 0
		m.floor = m.now + max(d.RetryAfter, m.hint, session.DefaultBase)
		m.dead = m.dead || d.Kind == session.Expired
	}
}

func (m *model) answer(now session.Now) {
	var err error
	if rapid.IntRange(0, 40).Draw(m.t, "fails") == 0 {
		err = errors.New("no")
	}
	m.result(now, err)
}

func (m *model) result(now session.Now, err error) {
	owed := m.owes
	m.owes = ""
	switch owed {
	case "apply snapshot":
		before := m.s.State().Accepted
		m.s.Applied(now, err)
		if m.s.State().Accepted > before {
			m.dead = false // a snapshot was accepted: there is a live position again
		}
	case "apply":
		m.s.Applied(now, err)
	case "save", "withheld":
		m.s.Saved(now, err)
	}
}

// take checks what is due.
func (m *model) take() {
	t := m.t
	d := m.s.Take()
	for _, r := range d.Resolved {
		delete(m.asked, r.Ticket) // a ticket of the session's own (baseline: position) is not here
	}
	if d.Apply != nil || d.Save != nil {
		if m.owes != "" || d.Apply != nil && d.Save != nil {
			t.Fatalf("work handed out while %s is owed", m.owes)
		}
	}
	switch {
	case d.Apply != nil && d.Apply.Replaces():
		m.owes = "apply snapshot"
	case d.Apply != nil:
		m.owes = "apply"
	case d.Save != nil && d.Withhold:
		m.owes = "withheld"
	case d.Save != nil:
		m.owes, m.saved = "save", true
	}
	if d.Hangup != 0 {
		if d.Hangup != m.open {
			t.Fatalf("hangup of %d, open is %d", d.Hangup, m.open)
		}
		m.open = 0
	}
	if d.Forget {
		if m.owes == "save" {
			t.Fatal("the store is to forget while it saves")
		}
		m.saved = false
	}
	if d.Connect != nil {
		m.connected(d.Connect)
	}
	if d.End != nil {
		if m.over {
			t.Fatal("a second end")
		}
		m.over = true
	}
	if m.over && (m.open != 0 || d.Connect != nil || d.Apply != nil || d.Save != nil) {
		t.Fatal("something goes on after the end")
	}
}

func (m *model) connected(a *session.Attempt) {
	t := m.t
	if m.open != 0 {
		t.Fatalf("attempt %d while connection %d is open", a.Epoch, m.open)
	}
	if a.Epoch <= m.epoch {
		t.Fatalf("epoch %d after %d", a.Epoch, m.epoch)
	}
	if m.now < m.floor {
		t.Fatalf("attempt at %v, the floor is %v", m.now, m.floor)
	}
	if m.dead && a.Resume.Seq != event.NoSeq {
		t.Fatalf("the dead position is sent again: %+v", a.Resume)
	}
	if m.dead && m.saved && m.saves {
		t.Fatal("the dead position is still in the store when the snapshot is asked for")
	}
	m.epoch, m.open = a.Epoch, a.Epoch
}

// settle answers what is owed and follows the deadlines: within a bounded number of wakes each leads on, and nothing is
// left unanswered.
func (m *model) settle() {
	t := m.t
	for range 400 {
		if m.owes != "" {
			m.result(m.stamp(), nil)
			m.take()
			continue
		}
		at, ok := m.s.Deadline()
		if !ok {
			break
		}
		m.now = max(m.now, at)
		m.s.Wake(m.stamp())
		m.take()
		if again, ok := m.s.Deadline(); ok && again <= at && again <= m.now {
			t.Fatalf("no progress: deadline %v stays after a wake at %v", at, m.now)
		}
	}
	if m.owes != "" || len(m.asked) != 0 {
		t.Fatalf("left over: owes %q, unanswered %v", m.owes, m.asked)
	}
}
