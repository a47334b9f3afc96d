package polling_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/polling"
	"github.com/conform-dev/conform/core/session"
)

// TestScripts runs the stories in testdata. A line of `run` is `<ms> <input>`; between two lines the loop is woken at every deadline,
// and what falls due is printed with its exact time; an input at a deadline comes before it. Unless `new` says manual, consumer and
// store answer at once.
//
//	new [held=SEQ token=T] [refused=REASON] [resume=token|cursor|sequence|none] [vouch=frame|implicit|none] [source=V] [saves] [every=N]
//	    [manual] [pending=N] [bytes=N] [resnapshots=N] [arrival]
//	run
//	show
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				w = newWorld(t, d)
				return "ok\n"
			case "run":
				for line := range strings.Lines(d.Input) {
					if line = strings.TrimSpace(line); line != "" {
						w.line(t, line)
					}
				}
				return w.flush()
			case "show":
				return w.show()
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

// world drives one loop in virtual time.
type world struct {
	l      *polling.Loop
	now    time.Duration
	epoch  session.Epoch // last attempt handed out
	manual bool
	owed   string // applied or saved
	out    strings.Builder
}

func newWorld(t *testing.T, d *datadriven.TestData) *world {
	w := &world{}
	cfg, start, held := gate.Config{}, gate.Start{}, event.NoPosition
	p := session.Policy{Notes: true, Jitter: func(int) int { return 0 }, Resume: session.ByDeltaToken, Vouch: session.VouchImplicit}
	for _, a := range d.CmdArgs {
		v := strings.Join(a.Vals, ",")
		num := func() int {
			n, err := strconv.Atoi(v)
			if err != nil {
				t.Fatalf("%s: %v", a.Key, err)
			}
			return n
		}
		switch a.Key {
		case "held":
			held.Seq = event.Seq(num())
		case "token":
			held.DeltaToken = v
		case "refused":
			start.Refused, _ = event.ParseReason(v)
		case "resume":
			p.Resume = map[string]session.Modes{"token": session.ByDeltaToken, "cursor": session.ByCursor, "sequence": session.BySequence}[v]
		case "vouch":
			p.Vouch = map[string]session.Vouch{"frame": session.VouchFrame, "implicit": session.VouchImplicit}[v]
		case "source":
			p.SourceVersion = v
		case "saves":
			cfg.Saves = true
		case "every":
			cfg.SaveEvery = num()
		case "manual":
			w.manual = true
		case "pending":
			cfg.MaxPending = num()
		case "bytes":
			p.PendingBytes = num()
		case "resnapshots":
			p.Resnapshots = num()
		case "arrival":
			p.Arrival = true
		default:
			t.Fatalf("unknown argument %q", a.Key)
		}
	}
	if held.Seq.Valid() {
		start.Held, start.Persisted = &gate.Held{Pos: held}, cfg.Saves
	}
	g, err := gate.New(cfg, start)
	if err != nil {
		t.Fatal(err)
	}
	if w.l, err = polling.New(g, p); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) stamp() session.Now { return session.Now{Mono: w.now, Wall: w.now.Milliseconds()} }

func (w *world) printf(format string, args ...any) {
	fmt.Fprintf(&w.out, "%d ", w.now.Milliseconds())
	fmt.Fprintf(&w.out, format+"\n", args...)
}

func (w *world) flush() string {
	text := w.out.String()
	w.out.Reset()
	if text == "" {
		return "nothing\n"
	}
	return text
}

// line runs one `<ms> <input>`.
func (w *world) line(t *testing.T, line string) {
	words := strings.Fields(line)
	ms, err := strconv.Atoi(words[0])
	if err != nil || len(words) < 2 {
		t.Fatalf("bad line %q", line)
	}
	at := time.Duration(ms) * time.Millisecond
	for {
		due, ok := w.l.Deadline()
		if !ok || due > at || due == at && words[1] != "wait" {
			break
		}
		w.now = max(w.now, due)
		w.l.Wake(w.stamp())
		w.drain()
		if again, ok := w.l.Deadline(); ok && again <= due && again <= w.now {
			t.Fatalf("%s: no progress: deadline %v before and %v after the wake at %v", line, due, again, w.now)
		}
	}
	w.now = at
	w.input(t, words[1], words[2:])
	w.drain()
}

func (w *world) input(t *testing.T, name string, words []string) {
	a := arguments(words)
	e, now := w.epoch, w.stamp()
	if a["e"] != "" {
		e = session.Epoch(a.num(t, "e"))
	}
	switch name {
	case "open":
		w.l.Open(now)
	case "up":
		w.l.Up(e, now)
	case "beat":
		w.l.Beat(e, now)
	case "mark":
		w.l.Mark(e, now, "m")
	case "retry":
		w.l.Retry(e, now, time.Hour)
	case "data":
		w.l.Data(e, now, a.event(t, words))
	case "polled":
		w.l.Polled(e, now, a.seq(t, words), a["changed"] != "")
	case "refresh":
		w.l.Refresh(e, now, event.Position{Seq: a.seq(t, words), DeltaToken: a["token"]})
	case "recovering":
		r, _ := event.ParseReason(words[0])
		w.l.Recover(e, now, r, a["detail"])
	case "answer":
		ans := session.Answer{StreamEpoch: a["epoch"], Head: event.NoSeq}
		if a["head"] != "" {
			ans.Head = event.Seq(a.num(t, "head"))
		}
		ans.Resumed = map[string]session.Tristate{"yes": session.Yes, "no": session.No}[a["resumed"]]
		ans.Rejected, _ = event.ParseReason(a["rejected"])
		w.l.Answer(e, now, ans)
	case "down":
		w.l.Down(e, now, a.down(t, words))
	case "applied", "saved":
		w.answer(t, name, a["fail"] != "")
	case "scope":
		w.l.ScopeChanged(e, now)
	case "require":
		r, _ := event.ParseReason(words[0])
		w.l.Require(now, r, "")
	case "fail":
		r, _ := event.ParseReason(words[0])
		w.l.Fail(now, r)
	case "close":
		w.l.Close(now, event.Closed)
	case "wait":
		w.l.Wake(now)
	default:
		t.Fatalf("unknown input %q", name)
	}
}

func (w *world) answer(t *testing.T, name string, fail bool) {
	var err error
	if fail {
		err = errors.New("no")
	}
	if w.owed != name {
		t.Fatalf("%s, but owed is %q", name, w.owed)
	}
	w.owed = ""
	if name == "applied" {
		w.l.Applied(w.stamp(), err)
	} else {
		w.l.Saved(w.stamp(), err)
	}
}

// drain prints what is due and, unless manual, answers for consumer and store.
func (w *world) drain() {
	for {
		d := w.l.Take()
		w.due(&d)
		if w.owed == "" || w.manual {
			return
		}
		owed := w.owed
		w.owed = ""
		if owed == "applied" {
			w.l.Applied(w.stamp(), nil)
		} else {
			w.l.Saved(w.stamp(), nil)
		}
	}
}

func (w *world) due(d *session.Due) {
	for i := range d.Notes {
		w.note(&d.Notes[i])
	}
	if d.Abort {
		w.printf("abort")
	}
	for _, r := range d.Resolved {
		w.printf("ticket %d %s", r.Ticket, strings.TrimSpace(r.Status.String()+" "+r.Reason.String()))
	}
	switch {
	case d.Apply != nil:
		w.printf("apply %s %d", d.Apply.Kind, d.Apply.Pos.Seq)
		w.owed = "applied"
	case d.Save != nil:
		w.printf("save %s at %d source=%s", position(d.Save.Pos), d.Save.SavedAt, w.l.SourceVersion())
		w.owed = "saved"
	}
	if d.Hangup != 0 {
		w.printf("hangup %d", d.Hangup)
	}
	if d.Forget {
		w.printf("forget")
	}
	if d.Connect != nil {
		w.epoch = d.Connect.Epoch
		renew := map[bool]string{true: " renew"}[d.Connect.Renew]
		w.printf("open %d from %s%s", d.Connect.Epoch, position(d.Connect.Resume), renew)
	}
	if d.End != nil {
		status := ""
		if d.End.Status != 0 {
			status = strconv.Itoa(d.End.Status)
		}
		w.printf("end %s", strings.Join(strings.Fields(fmt.Sprint(d.End.Cause, " ", status, " ", d.End.Reason, " ", d.End.Detail)), " "))
	}
}

// note prints what no effect shows.
func (w *world) note(n *session.Note) {
	switch n.Kind {
	case session.Resnapshotted:
		w.printf("require %s %s", n.Reason, n.Detail)
	case session.Vouched:
		w.printf("vouched %d", n.Epoch)
	case session.Dropped:
		w.printf("dropped %d", n.Epoch)
	case session.HungUp:
		w.printf("give up %d: %s", n.Epoch, n.Detail)
	case session.Observed:
		w.printf("observed %s", n.Detail)
	case session.Refreshed:
		w.printf("refresh %s", position(n.Pos))
	}
}

func position(p event.Position) string {
	if p == event.NoPosition {
		return "snapshot"
	}
	text := strconv.FormatInt(int64(p.Seq), 10)
	for _, part := range []string{p.Cursor, p.DeltaToken} {
		if part != "" {
			text += "/" + part
		}
	}
	return text
}

func (w *world) show() string {
	st, ob := w.l.State(), w.l.Observe(w.stamp())
	held := "nothing"
	if h, ok := w.l.Held(); ok {
		held = position(h.Pos)
	}
	return fmt.Sprintf("phase=%s reason=%s detail=%s held=%s persisted=%v pending=%d accepted=%d duplicates=%d gaps=%d overflows=%d\n",
		st.Phase, st.Reason, st.Detail, held, st.Persisted, st.Pending, st.Accepted, st.Duplicates, st.Gaps, st.Overflows) +
		fmt.Sprintf("link=%s status=%s recoveries=%d source=%s room=%d\n", ob.Link, ob.Status, ob.ReconnectAttempt, ob.SourceVersion, w.l.Room())
}
