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
// must be true of every order: no panic, one connection at a time and two in a hand-over, nothing of a third counts, never earlier
// than the server allowed, no dead position sent again, each ticket answered once, no save behind the store's back, and a
// deadline that leads somewhere.
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
	open  session.Epoch // the connection that counts; 0 if there is none
	next  session.Epoch // the second one of a hand-over; 0 if there is none
	epoch session.Epoch // last attempt
	told  bool          // in this step the server said on the connection that counts that it will close
	tried map[session.Epoch]bool
	from  map[session.Epoch]event.Position
	spent map[event.Position]bool // found dead in a hand-over
	floor time.Duration           // no attempt before
	hint  time.Duration
	dead  bool // the position expired; only an accepted snapshot ends that
	owes  string
	saved bool // a record may be in the store
	saves bool // there is a store
	asked map[gate.Ticket]bool
	over  bool
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, asked: map[gate.Ticket]bool{}, tried: map[session.Epoch]bool{}, from: map[session.Epoch]event.Position{}, spent: map[event.Position]bool{}}
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
		Idle:          time.Duration(rapid.SampledFrom([]int{0, 10}).Draw(t, "idle")) * time.Second,
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
	if m.next != 0 && rapid.Bool().Draw(t, "first") {
		e = m.open
	}
	if rapid.IntRange(0, 9).Draw(t, "stale") == 0 && e > 1 {
		e--
	}
	now := m.stamp()
	m.told = false
	switch rapid.IntRange(0, 15).Draw(t, "input") {
	case 0, 1:
		m.s.Up(e, now)
	case 2, 3, 4:
		if m.s.Room() > 0 {
			m.data(e, now)
		}
	case 5:
		soon := rapid.Bool().Draw(t, "closing")
		m.told = soon && (e == m.open || e == m.next)
		m.s.Answer(e, now, session.Answer{
			ClosingSoon: soon,
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
		if e == m.open || e == m.next {
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
		if e != m.open && e != m.next {
			t.Fatalf("an event of epoch %d reached the gate, the connections are %d and %d", e, m.open, m.next)
		}
		m.asked[ticket] = true
	}
}

func (m *model) down(e session.Epoch, now session.Now) {
	t := m.t
	d := session.Down{Kind: rapid.SampledFrom([]session.DownKind{
		session.Lost, session.Lost, session.Crashed, session.Denied, session.Expired, session.Gapped, session.Flawed, session.Oversized,
	}).Draw(t, "down")}
	if rapid.IntRange(0, 30).Draw(t, "final") == 0 {
		d = session.Down{Kind: session.Stopped, Ends: rapid.SampledFrom([]session.Cause{session.Refused, session.ServerStop}).Draw(t, "ends")}
	}
	if d.Kind == session.Gapped {
		d.Reason, d.Hole = event.TransportGap, rapid.Bool().Draw(t, "hole")
	}
	d.RetryAfter = time.Duration(rapid.SampledFrom([]int{0, 0, 700, 5000}).Draw(t, "after")) * time.Millisecond
	m.s.Down(e, now, d)
	switch {
	case e == 0:
	case e == m.open: // the second one, if it is not hung up, is the one that counts now
		m.open, m.next = m.next, 0
		m.dead = m.dead || d.Kind == session.Expired
		m.floor = max(m.floor, m.now+d.RetryAfter)
		if m.open == 0 {
			m.floor = max(m.floor, m.now+max(m.hint, session.DefaultBase))
		}
	case e == m.next:
		m.next = 0
		m.floor = max(m.floor, m.now+d.RetryAfter)
		if d.Kind == session.Expired {
			m.spent[m.from[e]] = true
		}
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
			clear(m.spent)
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
	if d.HangupBeside != 0 && d.Hangup == 0 {
		t.Fatal("one hangup in the place of the second")
	}
	m.hungUp(d.Hangup)
	m.hungUp(d.HangupBeside)
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
	if m.over && (m.open != 0 || m.next != 0 || d.Connect != nil || d.Apply != nil || d.Save != nil) {
		t.Fatal("something goes on after the end")
	}
}

func (m *model) hungUp(e session.Epoch) {
	switch {
	case e == 0:
	case e == m.next:
		m.next = 0
	case e == m.open:
		m.open, m.next = m.next, 0
	default:
		m.t.Fatalf("hangup of %d, open are %d and %d", e, m.open, m.next)
	}
}

func (m *model) connected(a *session.Attempt) {
	t := m.t
	switch {
	case !a.Beside && m.open != 0:
		t.Fatalf("attempt %d while connection %d is open", a.Epoch, m.open)
	case !a.Beside && m.now < m.floor:
		t.Fatalf("attempt at %v, the floor is %v", m.now, m.floor)
	case a.Beside && (m.open == 0 || m.next != 0):
		t.Fatalf("attempt %d beside %d and %d", a.Epoch, m.open, m.next)
	case a.Beside && !m.told:
		t.Fatalf("attempt %d beside a connection that is not about to close", a.Epoch)
	case a.Beside && m.tried[m.open]:
		t.Fatalf("connection %d is handed over a second time", m.open)
	case a.Beside && a.Resume.Seq == event.NoSeq:
		t.Fatal("a hand-over without a position")
	}
	if a.Epoch <= m.epoch {
		t.Fatalf("epoch %d after %d", a.Epoch, m.epoch)
	}
	if m.spent[a.Resume] {
		t.Fatalf("a position that a hand-over found dead is sent again: %+v", a.Resume)
	}
	if m.dead && a.Resume.Seq != event.NoSeq {
		t.Fatalf("the dead position is sent again: %+v", a.Resume)
	}
	if m.dead && m.saved && m.saves {
		t.Fatal("the dead position is still in the store when the snapshot is asked for")
	}
	m.epoch, m.from[a.Epoch] = a.Epoch, a.Resume
	if a.Beside {
		m.tried[m.open], m.next = true, a.Epoch
	} else {
		m.open = a.Epoch
	}
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
