package polling_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/polling"
	"github.com/conform-dev/conform/core/session"
)

// TestMain tries more orders than rapid does by itself: 3,000 take about 0.3 s.
func TestMain(m *testing.M) {
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() == f.DefValue {
		if err := f.Value.Set("3000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestAnyInputs feeds a loop whatever a transport, a consumer, a store and a clock can do, in any order, and holds it to what must be
// true of every order: no panic, one connection at a time, nothing of an older one counts, no dead position sent again or left in the
// store, no more recoveries in a row than the policy says, each ticket answered once, no save behind the store's back, a refresh that
// changes the held sequence or a count never, and a deadline that leads somewhere.
func TestAnyInputs(t *testing.T) {
	reached := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t, reached)
		m.l.Open(m.stamp())
		m.take()
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			m.step()
		}
		m.settle()
	})
	for _, what := range []string{"refreshed", "recovering", "recovered by us", "too often", "crashed", "drained", "renewed", "unconfirmed poll", "end"} {
		if reached[what] == 0 {
			t.Errorf("never reached: %s (%v)", what, reached)
		}
	}
	t.Log(reached)
}

// model drives a loop and checks it from outside.
type model struct {
	t       *rapid.T
	l       *polling.Loop
	reached map[string]int
	now     time.Duration
	open    session.Epoch // the connection that counts; 0 if there is none
	epoch   session.Epoch // last attempt
	most    int           // recoveries in a row
	streak  int
	quiet   bool // the next attempt is no recovery that counts
	dead    bool // the position expired; only an accepted snapshot ends that
	gone    bool // the transport is done; what is left is being delivered
	owes    string
	saved   bool // a record may be in the store
	saves   bool
	asked   map[gate.Ticket]bool
	over    bool
}

func newModel(t *rapid.T, reached map[string]int) *model {
	m := &model{t: t, reached: reached, asked: map[gate.Ticket]bool{}, most: rapid.IntRange(1, 3).Draw(t, "most")}
	start := gate.Start{}
	switch rapid.IntRange(0, 2).Draw(t, "start") {
	case 0:
		start.Held = &gate.Held{Pos: event.Position{Seq: 5, DeltaToken: "t5"}}
		m.saved = true
	case 1:
		start.Refused = event.CursorExpired
	}
	m.saves = rapid.Bool().Draw(t, "saves")
	g, err := gate.New(gate.Config{MaxPending: rapid.IntRange(1, 3).Draw(t, "pending"), Saves: m.saves, SaveEvery: rapid.IntRange(1, 3).Draw(t, "every")}, start)
	if err != nil {
		t.Fatal(err)
	}
	m.l, err = polling.New(g, session.Policy{
		Jitter:        func(int) int { return 0 },
		Resume:        rapid.SampledFrom([]session.Modes{0, session.ByDeltaToken, session.ByDeltaToken, session.BySequence}).Draw(t, "modes"),
		Vouch:         session.Vouch(rapid.IntRange(0, 2).Draw(t, "vouch")),
		Arrival:       rapid.Bool().Draw(t, "arrival"),
		SourceVersion: rapid.SampledFrom([]string{"", "v1"}).Draw(t, "source"),
		PendingBytes:  rapid.SampledFrom([]int{0, 10}).Draw(t, "bytes"),
		Resnapshots:   m.most,
		Notes:         true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *model) stamp() session.Now { return session.Now{Mono: m.now, Wall: m.now.Milliseconds()} }

func (m *model) step() {
	t := m.t
	m.now += time.Duration(rapid.SampledFrom([]int{0, 0, 1, 1, 100, 100, 1000, 1000, 9000, 16000, 91000}).Draw(t, "ms")) * time.Millisecond
	if at, ok := m.l.Deadline(); ok && at < m.now && rapid.Bool().Draw(t, "in time") {
		m.now = at
	}
	e := m.epoch
	if rapid.IntRange(0, 9).Draw(t, "stale") == 0 && e > 1 {
		e--
	}
	now := m.stamp()
	if rapid.IntRange(0, 2).Draw(t, "works") > 0 { // mostly all goes well between two inputs
		m.healthy()
		now = m.stamp()
	}
	switch n := rapid.IntRange(0, 18).Draw(t, "input"); n {
	case 0:
		m.l.Up(e, now)
	case 1, 2, 3, 4, 5:
		if m.l.Room() > 0 {
			m.data(e, now)
		}
	case 6:
		m.l.Answer(e, now, session.Answer{
			StreamEpoch: rapid.SampledFrom([]string{"", "v1", "v1", "v2"}).Draw(t, "epoch"),
			Head:        event.Seq(rapid.IntRange(-1, 12).Draw(t, "head")),
			Resumed:     session.Tristate(rapid.IntRange(0, 2).Draw(t, "resumed")),
			Rejected:    rapid.SampledFrom([]event.Reason{event.None, event.CursorExpired}).Draw(t, "rejected"),
		})
	case 7:
		m.polled(e, now)
	case 8, 9:
		m.refresh(e, now)
	case 10:
		r := rapid.SampledFrom([]event.Reason{event.CursorExpired, event.TransportGap, event.SequenceGap, event.None}).Draw(t, "why")
		m.l.Recover(e, now, r, "")
		if e == m.open && e != 0 {
			m.reached["recovering"]++
			m.dead = m.dead || r == event.CursorExpired
		}
	case 11, 12:
		m.down(e, now)
	case 13, 14, 15:
		m.answer(now)
	case 16:
		m.rare(e, now)
	default:
		if at, ok := m.l.Deadline(); ok {
			m.now = max(m.now, at)
		}
		m.l.Wake(m.stamp())
	}
	m.take()
}

// healthy brings the gate on: a snapshot where it needs one, and every result that is owed.
func (m *model) healthy() {
	for m.owes != "" {
		m.result(m.stamp(), nil)
		m.take()
	}
	if m.open != 0 && !m.gone && m.l.State().Phase != gate.Live && m.l.Room() > 0 {
		ev := &event.Event{Kind: event.Snapshot, Pos: event.Position{Seq: 6, DeltaToken: "t"}}
		if ticket := m.l.Data(m.open, m.stamp(), ev); ticket != 0 {
			m.asked[ticket] = true
		}
		m.take()
		for m.owes != "" {
			m.result(m.stamp(), nil)
			m.take()
		}
	}
}

// polled reports a poll; one without a change at the held place of a live gate is progress.
func (m *model) polled(e session.Epoch, now session.Now) {
	seq, changed := event.Seq(rapid.IntRange(-1, 12).Draw(m.t, "at")), rapid.Bool().Draw(m.t, "changed")
	h, ok := m.l.Held()
	if ok && rapid.Bool().Draw(m.t, "here") {
		seq = h.Pos.Seq
	}
	if st := m.l.State(); e == m.open && e != 0 && ok && !changed && seq == h.Pos.Seq && st.Phase == gate.Live && st.Pending == 0 {
		m.streak = 0
		m.reached["unconfirmed poll"]++
	}
	m.l.Polled(e, now, seq, changed)
}

// refresh names the held place anew, or another one, and checks what D-28 says must stay.
func (m *model) refresh(e session.Epoch, now session.Now) {
	pos := event.Position{Seq: event.Seq(rapid.IntRange(-1, 12).Draw(m.t, "at")), DeltaToken: rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(m.t, "token")}
	before, ok := m.l.Held()
	if ok && rapid.IntRange(0, 3).Draw(m.t, "here") > 0 {
		pos.Seq = before.Pos.Seq
	}
	was, ids := m.l.State(), m.l.RecentIDCount()
	m.l.Refresh(e, now, pos)
	after, _ := m.l.Held()
	st := m.l.State()
	counts := e == m.open && e != 0 && ok && was.Phase == gate.Live && was.Pending == 0 && m.owes == "" && pos.Seq == before.Pos.Seq
	if !counts && after != before {
		m.t.Fatalf("a refresh that does not count changed %+v to %+v", before, after)
	}
	if counts {
		m.reached["refreshed"]++
		if after.SavedAt != now.Wall || pos.DeltaToken != "" && after.Pos.DeltaToken != pos.DeltaToken {
			m.t.Fatalf("refreshed by %+v at %d, held %+v", pos, now.Wall, after)
		}
	}
	if e == m.open && e != 0 && ok && was.Phase == gate.Live && was.Pending == 0 && pos.Seq == before.Pos.Seq {
		m.streak = 0
	}
	if st.Accepted != was.Accepted || st.Duplicates != was.Duplicates || st.Gaps != was.Gaps || m.l.RecentIDCount() != ids || after.Pos.Seq != before.Pos.Seq {
		m.t.Fatalf("a refresh changed %+v to %+v", was, st)
	}
}

func (m *model) rare(e session.Epoch, now session.Now) {
	switch rapid.IntRange(0, 40).Draw(m.t, "rare") {
	case 0:
		m.l.Close(now, event.Closed)
	case 1:
		m.l.Fail(now, event.DeliveryFailed)
	case 2, 3, 4:
		m.quiet = true
		m.l.Require(now, event.TransportGap, "")
	case 5, 6, 7:
		m.quiet = true
		m.l.ScopeChanged(e, now)
	}
}

func (m *model) data(e session.Epoch, now session.Now) {
	t := m.t
	ev := &event.Event{
		Kind:    rapid.SampledFrom([]event.Kind{event.Malformed, event.Snapshot, event.Snapshot, event.Delta, event.Delta, event.Delta, event.Upsert}).Draw(t, "kind"),
		Merge:   rapid.IntRange(0, 5).Draw(t, "merge") == 0,
		Pos:     event.Position{Seq: event.Seq(rapid.IntRange(-1, 12).Draw(t, "seq"))},
		ID:      rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "id"),
		Payload: make([]byte, rapid.IntRange(0, 12).Draw(t, "size")),
	}
	if h, ok := m.l.Held(); ok && rapid.IntRange(0, 3).Draw(t, "next") > 0 {
		ev.Pos.Seq = h.Pos.Seq + 1
	}
	if rapid.Bool().Draw(t, "named") {
		ev.Pos.DeltaToken = "t"
	}
	if ev.Kind == event.Malformed {
		ev.Fault, ev.Hole = event.InvalidEvent, rapid.Bool().Draw(t, "hole")
	}
	if ticket := m.l.Data(e, now, ev); ticket != 0 {
		if e != m.open {
			t.Fatalf("an event of epoch %d reached the gate, the connection is %d", e, m.open)
		}
		m.asked[ticket] = true
	}
}

func (m *model) down(e session.Epoch, now session.Now) {
	t := m.t
	d := session.Down{Kind: rapid.SampledFrom([]session.DownKind{
		session.Crashed, session.Crashed, session.Denied, session.Expired, session.Gapped, session.Oversized,
	}).Draw(t, "down")}
	if rapid.IntRange(0, 9).Draw(t, "final") == 0 {
		d.Kind = rapid.SampledFrom([]session.DownKind{session.Lost, session.Flawed, session.Stopped}).Draw(t, "kind")
		d.Ends = rapid.SampledFrom([]session.Cause{session.Refused, session.ServerStop}).Draw(t, "ends")
	}
	if d.Kind == session.Gapped {
		d.Reason, d.Hole = rapid.SampledFrom([]event.Reason{event.TransportGap, event.None}).Draw(t, "reason"), rapid.Bool().Draw(t, "hole")
	}
	if e != m.open || e == 0 {
		m.l.Down(e, now, d)
		return
	}
	m.open = 0
	m.dead = m.dead || d.Kind == session.Expired
	if d.Kind == session.Crashed || d.Kind == session.Denied {
		m.quiet = true
		m.reached["crashed"]++
	}
	m.l.Down(e, now, d)
	m.gone = m.l.Observe(m.stamp()).Link == session.LinkDraining
	if m.gone {
		m.reached["drained"]++
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
	owed, before := m.owes, m.l.State().Accepted
	m.owes = ""
	switch owed {
	case "apply snapshot", "apply":
		m.l.Applied(now, err)
		if m.l.State().Accepted > before {
			if owed == "apply" {
				m.streak = 0
			} else {
				m.dead = false // there is a live position again
			}
		}
	case "save":
		m.l.Saved(now, err)
	}
}

// take checks what is due.
func (m *model) take() {
	t := m.t
	d := m.l.Take()
	for _, r := range d.Resolved {
		if !m.asked[r.Ticket] {
			t.Fatalf("ticket %d is answered, but not open", r.Ticket)
		}
		delete(m.asked, r.Ticket)
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
		m.reached["end"]++
		if strings.Contains(d.End.Detail, "in a row did not help") {
			m.reached["too often"]++
			if m.streak < m.most {
				t.Fatalf("given up after %d recoveries, %d are allowed", m.streak, m.most)
			}
		}
	}
	if m.over && (m.open != 0 || d.Connect != nil || d.Apply != nil || d.Save != nil) {
		t.Fatal("something goes on after the end")
	}
	if m.dead && !m.over && m.saved && m.saves && m.owes != "save" && !m.l.Forgetting() {
		t.Fatal("a dead position stays in the store")
	}
	m.quiet = m.quiet && m.l.Forgetting() // the attempt that it is about has come, or comes behind the Forget
}

func (m *model) connected(a *session.Attempt) {
	t := m.t
	if m.open != 0 || m.gone {
		t.Fatalf("attempt %d while connection %d is open, or the transport is done", a.Epoch, m.open)
	}
	if a.Beside || a.Epoch <= m.epoch {
		t.Fatalf("attempt %+v after %d", a, m.epoch)
	}
	if m.dead && a.Resume.Seq.Valid() {
		t.Fatalf("the dead position is sent again: %+v", a.Resume)
	}
	if m.dead && m.saved && m.saves {
		t.Fatal("the dead position is still in the store when the snapshot is asked for")
	}
	if a.Renew {
		m.reached["renewed"]++
	}
	if !m.quiet && a.Epoch > 1 {
		m.reached["recovered by us"]++
		if m.streak++; m.streak > m.most {
			t.Fatalf("recovery %d in a row, %d are allowed", m.streak, m.most)
		}
		if a.Resume.Seq.Valid() || m.l.State().Phase != gate.ResnapshotRequired {
			t.Fatalf("a recovery from %+v in %v", a.Resume, m.l.State().Phase)
		}
	}
	m.epoch, m.open, m.quiet = a.Epoch, a.Epoch, false
}

// settle answers what is owed and follows the deadlines: within a bounded number of wakes each leads on, and nothing is left
// unanswered.
func (m *model) settle() {
	t := m.t
	for range 400 {
		if m.owes != "" {
			m.result(m.stamp(), nil)
			m.take()
			continue
		}
		at, ok := m.l.Deadline()
		if !ok {
			break
		}
		m.now = max(m.now, at)
		m.l.Wake(m.stamp())
		m.take()
		if again, ok := m.l.Deadline(); ok && again <= at && again <= m.now {
			t.Fatalf("no progress: deadline %v stays after a wake at %v", at, m.now)
		}
	}
	if m.owes != "" || len(m.asked) != 0 {
		t.Fatalf("left over: owes %q, unanswered %v", m.owes, m.asked)
	}
	if m.gone && !m.over {
		t.Fatal("the transport is done, everything is delivered, and it is not over")
	}
}

// TestPolicy: what New cannot use is refused by name, value and ceiling (D-13).
func TestPolicy(t *testing.T) {
	for want, p := range map[string]session.Policy{
		"session: Resnapshots is 1001, above its ceiling of 1000": {Resnapshots: session.CeilingResnapshots + 1},
		"session: Horizon is 1h0m0.001s, above its ceiling of 1h": {Horizon: session.CeilingHorizon + time.Millisecond},
		"session: PendingBytes is -1, but must not be negative":   {PendingBytes: -1},
	} {
		g, err := gate.New(gate.Config{}, gate.Start{})
		if err != nil {
			t.Fatal(err)
		}
		p.Jitter = func(int) int { return 0 }
		if _, err := polling.New(g, p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
