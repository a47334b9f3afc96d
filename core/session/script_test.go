package session_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// TestScripts runs the stories in testdata. A line of `run` is `<ms> <input>`; between two lines the session is woken at every
// deadline, and what falls due is printed with its exact time; an input at a deadline comes before it, except that a retry
// comes before the answer to it. Unless `new` says manual, consumer and store answer at once.
//
//	new | fleet [held=SEQ cursor=C] [refused=REASON] [resume=cursor,sequence vouch=frame|implicit|none] [source=V] [saves] [manual]
//	    [jitter=PERMILLE] [attempts=N] [pending=N] [bytes=N] [position] [arrival]
//	run
//	show
//	lane
//
// `fleet` is `new` with the policy of fleet wake, `lane` shows what its session knows and what that means.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new", "fleet":
				w = newWorld(t, d)
				return "ok\n"
			case "lane":
				return w.showLane()
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

// world drives one session in virtual time.
type world struct {
	s      *session.Session
	now    time.Duration
	epoch  session.Epoch // last attempt handed out
	manual bool
	owed   string // apply, save or withheld
	out    strings.Builder
}

func newWorld(t *testing.T, d *datadriven.TestData) *world {
	w := &world{}
	cfg, start := gate.Config{}, gate.Start{}
	p := session.Policy{}
	if d.Cmd == "fleet" {
		p = session.FleetPolicy()
	}
	p.Notes, p.Jitter = true, func(int) int { return 0 }
	held := event.NoPosition
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
		case "cursor":
			held.Cursor = v
		case "refused":
			start.Refused, _ = event.ParseReason(v)
		case "resume":
			for _, m := range strings.Split(v, "+") {
				p.Resume |= map[string]session.Modes{"cursor": session.ByCursor, "sequence": session.BySequence}[m]
			}
		case "vouch":
			p.Vouch = map[string]session.Vouch{"frame": session.VouchFrame, "implicit": session.VouchImplicit}[v]
		case "source":
			p.SourceVersion = v
		case "saves":
			cfg.Saves = true
		case "manual":
			w.manual = true
		case "jitter":
			permille := num()
			p.Jitter = func(int) int { return permille }
		case "attempts":
			p.Attempts = num()
		case "pending":
			cfg.MaxPending = num()
		case "bytes":
			p.PendingBytes = num()
		case "position":
			p.AtPosition = true
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
	if w.s, err = session.New(g, p); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) stamp() session.Now {
	return session.Now{Mono: w.now, Wall: w.now.Milliseconds()}
}

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
		due, ok := w.s.Deadline()
		early := words[1] != "wait" && w.s.Observe(w.stamp()).Link != session.LinkWaiting // an input at the deadline comes before it
		if !ok || due > at || due == at && early {
			break
		}
		w.now = max(w.now, due)
		w.s.Wake(w.stamp())
		w.drain()
		if again, ok := w.s.Deadline(); ok && again <= due && again <= w.now {
			t.Fatalf("%s: no progress: deadline %v before and %v after the wake at %v", line, due, again, w.now)
		}
	}
	w.now = at
	w.input(t, words[1], words[2:])
	w.drain()
}

func (w *world) input(t *testing.T, name string, words []string) {
	a := arguments(t, words)
	e := w.epoch
	if a["e"] != "" {
		e = session.Epoch(a.num(t, "e"))
	}
	now := w.stamp()
	switch name {
	case "open":
		w.s.Open(now)
	case "up":
		w.s.Up(e, now)
	case "beat":
		w.s.Beat(e, now)
	case "data":
		w.s.Data(e, now, a.event(t, words))
	case "answer":
		ans := session.Answer{StreamEpoch: a["epoch"], Head: event.NoSeq}
		if a["head"] != "" {
			ans.Head = event.Seq(a.num(t, "head"))
		}
		ans.Resumed = map[string]session.Tristate{"yes": session.Yes, "no": session.No}[a["resumed"]]
		ans.Rejected, _ = event.ParseReason(a["rejected"])
		ans.ClosingSoon = a["closing"] != ""
		w.s.Answer(e, now, ans)
	case "retry":
		w.s.Retry(e, now, a.ms(t, "ms"))
	case "mark":
		w.s.Mark(e, now, a["cursor"])
	case "down":
		w.s.Down(e, now, a.down(t, words))
	case "applied", "saved":
		w.answer(t, name, a["fail"] != "")
	case "scope":
		w.s.ScopeChanged(e, now)
	case "require":
		r, _ := event.ParseReason(words[0])
		w.s.Require(now, r, "")
	case "fail":
		r, _ := event.ParseReason(words[0])
		w.s.Fail(now, r)
	case "close":
		w.s.Close(now, event.Closed)
	case "wait":
		w.s.Wake(now)
	default:
		if !w.lane(t, name, a, now, e) {
			t.Fatalf("unknown input %q", name)
		}
	}
}

func (w *world) answer(t *testing.T, name string, fail bool) {
	var err error
	if fail {
		err = fmt.Errorf("no")
	}
	if w.owed != name {
		t.Fatalf("%s, but owed is %q", name, w.owed)
	}
	w.owed = ""
	if name == "applied" {
		w.s.Applied(w.stamp(), err)
	} else {
		w.s.Saved(w.stamp(), err)
	}
}

// drain prints what is due and, unless manual, answers for consumer and store.
func (w *world) drain() {
	for {
		d := w.s.Take()
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
		case d.Save != nil && d.Withhold:
			w.printf("withhold %d", d.Save.Pos.Seq)
			w.owed = "saved"
		case d.Save != nil:
			w.printf("save %s source=%s", position(d.Save.Pos), w.s.SourceVersion())
			w.owed = "saved"
		}
		if d.Hangup != 0 {
			w.printf("hangup %d", d.Hangup)
		}
		if d.HangupBeside != 0 {
			w.printf("hangup beside %d", d.HangupBeside)
		}
		if d.Forget {
			w.printf("forget")
		}
		if d.Connect != nil {
			w.epoch = d.Connect.Epoch
			renew := ""
			if d.Connect.Renew {
				renew = " renew"
			}
			if d.Connect.Beside {
				renew += " beside"
			}
			w.printf("connect %d from %s by %d%s", d.Connect.Epoch, position(d.Connect.Resume), d.Connect.By.Milliseconds(), renew)
		}
		if d.End != nil {
			w.printf("end %s", strings.Join(strings.Fields(fmt.Sprint(d.End.Cause, " ", status(d.End.Status), " ", d.End.Reason, " ", d.End.Detail)), " "))
		}
		if w.owed == "" || w.manual && !d.Withhold {
			return
		}
		owed := w.owed
		w.owed = ""
		if owed == "applied" {
			w.s.Applied(w.stamp(), nil)
		} else {
			w.s.Saved(w.stamp(), nil)
		}
	}
}

func status(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func position(p event.Position) string {
	switch {
	case p == event.NoPosition:
		return "snapshot"
	case p.Seq == event.NoSeq:
		return "mark " + p.Watermark
	}
	return strings.TrimSuffix(fmt.Sprintf("%d/%s", p.Seq, p.Cursor), "/")
}

// note prints what no effect shows.
func (w *world) note(n *session.Note) {
	switch n.Kind {
	case session.Resnapshotted:
		w.printf("require %s %s", n.Reason, n.Detail)
	case session.Waiting:
		w.printf("wait %d%s", n.Delay.Milliseconds(), strings.TrimRight(" "+n.Detail, " "))
	case session.Vouched:
		w.printf("vouched %d", n.Epoch)
	case session.Dropped:
		w.printf("dropped %d", n.Epoch)
	case session.HungUp:
		w.printf("give up %d: %s", n.Epoch, n.Detail)
	case session.Observed:
		w.printf("observed %s", n.Detail)
	}
}

func (w *world) show() string {
	st, ob := w.s.State(), w.s.Observe(w.stamp())
	h, ok := w.s.Held()
	held := "nothing"
	if ok {
		held = position(h.Pos)
	}
	text := fmt.Sprintf("phase=%s reason=%s detail=%s held=%s persisted=%v pending=%d accepted=%d duplicates=%d gaps=%d overflows=%d\n",
		st.Phase, st.Reason, st.Detail, held, st.Persisted, st.Pending, st.Accepted, st.Duplicates, st.Gaps, st.Overflows)
	text += fmt.Sprintf("link=%s status=%s attempt=%d source=%s room=%d", ob.Link, ob.Status, ob.ReconnectAttempt, ob.SourceVersion, w.s.Room())
	if ob.Beside != 0 {
		text += fmt.Sprintf(" epoch=%d beside=%d", ob.Epoch, ob.Beside)
	}
	return text + "\n"
}
