package world

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// random is a whole run made of a seed: publishes, breaks, trims and restarts at any time, with every fault of content.
func random(seed uint64) Schedule {
	r := rand.New(rand.NewPCG(seed, 99))
	s := Schedule{Version: ScheduleVersion, Seed: seed, Setup: DefaultSetup(), Draws: Draw(seed)}
	s.Setup.Changes = simulator.AutoMixed
	s.Setup.Retention = 4 + r.IntN(40)
	for i, name := range []string{"gap", "duplicate", "late", "id-reused", "undecodable", "stale-snapshot", "lying-resume", "resumed-false", "no-answer"} {
		f := simulator.Fault{Name: name, Times: 1 + r.IntN(3)}
		if i < 6 {
			f.At.Event = 2 + r.IntN(12)
		}
		s.Setup.Faults = append(s.Setup.Faults, f)
	}
	s.Actions = []Action{{Verb: Follow}}
	at := int64(0)
	for range 60 {
		at += r.Int64N(3_000_000)
		a := Action{Micros: at, Verb: Publish, N: 1 + r.Int64N(12)}
		switch r.IntN(8) {
		case 0:
			a = Action{Micros: at, Verb: Strike, Faults: FaultList{{Name: "cut"}}}
		case 1:
			a = Action{Micros: at, Verb: Trim, N: r.Int64N(4)}
		case 2:
			a = Action{Micros: at, Verb: RestartNew, N: r.Int64N(50)}
		}
		s.Actions = append(s.Actions, a)
	}
	s.Micros = at + int64(20*time.Minute/time.Microsecond)
	return s
}

// TestSameScheduleSameTrace: no matter what happens in a run, it happens again in the same order at the same times.
func TestSameScheduleSameTrace(t *testing.T) {
	records := 0
	for seed := range uint64(20) {
		first, err := Run(random(seed))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		threads := runtime.GOMAXPROCS(1)
		second, err := Run(random(seed))
		runtime.GOMAXPROCS(threads)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		a, _ := trace.Hash(first)
		b, _ := trace.Hash(second)
		if a != b {
			t.Errorf("seed %d: %s and %s", seed, a, b)
		}
		records += len(first)
	}
	t.Logf("%d records, twice", records)
}

// TestEveryRunEndsRight: whatever was lost, cut, forged or restarted, in the end the consumer holds the feed's rows, and it
// never held any others on the way (law 4).
func TestEveryRunEndsRight(t *testing.T) {
	restarts, snapshots := 0, 0
	for seed := range uint64(200) {
		records, err := Run(random(seed))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		feed, mine := "", ""
		had := map[string]bool{} // what the feed's rows were, with their sequence
		for _, r := range records {
			switch {
			case r.Actor == trace.Server && (r.Kind == trace.ServerPublish || r.Kind == trace.ServerRestart):
				feed = r.Args["rows"]
				had[fmt.Sprint(r.Seq, feed)] = true
				if r.Kind == trace.ServerRestart {
					restarts++
				}
			case r.Actor == trace.Consumer && r.Kind == trace.ConsumerSaw:
				mine = r.Args["rows"]
				if !had[fmt.Sprint(r.Seq, mine)] {
					t.Errorf("seed %d: after %s %d the consumer held rows that the feed never had there", seed, r.Type, r.Seq)
				}
				if r.Type == "snapshot" {
					snapshots++
				}
			case r.Kind == trace.SessionEnd && r.Actor == trace.Session:
				t.Errorf("seed %d: the session ended: %v", seed, r)
			}
		}
		if feed != mine {
			t.Errorf("seed %d: the consumer's rows are %s, the feed's %s", seed, mine, feed)
		}
	}
	if restarts < 100 || snapshots < 400 {
		t.Errorf("%d restarts and %d snapshots: the runs are too tame", restarts, snapshots)
	}
	t.Logf("%d restarts, %d snapshots", restarts, snapshots)
}

// TestStreamsOfDraws: one list does not shift another, and a seed always draws the same.
func TestStreamsOfDraws(t *testing.T) {
	a, b, other := Draw(5), Draw(5), Draw(6)
	if a.Dials[10] != b.Dials[10] || a.Saves[200] != b.Saves[200] || a.Jitter[3] != b.Jitter[3] {
		t.Error("one seed drew two things")
	}
	same := 0
	for i := range a.Links {
		if a.Links[i] == other.Links[i] {
			same++
		}
	}
	if same > len(a.Links)/4 {
		t.Errorf("two seeds agree in %d of %d draws", same, len(a.Links))
	}
	if err := a.check(); err != nil {
		t.Error(err)
	}
}

// TestLoopDrawsNothing: chance is drawn in one file, before the loop begins (law 2).
func TestLoopDrawsNothing(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || name == "draws.go" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, im := range f.Imports {
			if strings.Contains(im.Path.Value, "rand") || strings.Contains(im.Path.Value, "maphash") {
				t.Errorf("%s imports %s", name, im.Path.Value)
			}
		}
	}
}

// TestBackPressure: a consumer that stands still stops the server; what is between them is bounded, and nothing is lost.
func TestBackPressure(t *testing.T) {
	setup := DefaultSetup()
	setup.Heartbeat = -1
	setup.Retention = 5000
	w, err := New(setup, Draw(2), nil)
	if err != nil {
		t.Fatal(err)
	}
	do(t, w, Action{Verb: Follow})
	advance(t, w, time.Second)
	do(t, w, Action{Verb: Block, N: 6})
	do(t, w, Action{Verb: Publish, N: 4000})
	advance(t, w, time.Minute)
	if !w.Blocked() || len(w.links) != 1 {
		t.Fatalf("blocked %v, %d links", w.Blocked(), len(w.links))
	}
	l := w.links[0]
	if n := l.flying + len(l.inbox); n < LinkBytes || n > LinkBytes+4096 {
		t.Errorf("the network holds %d bytes, want about %d", n, LinkBytes)
	}
	if st := w.client.s.State(); st.Pending != 64 || st.Overflows != 0 {
		t.Errorf("%d pending, %d overflows", st.Pending, st.Overflows)
	}
	do(t, w, Action{Verb: Unblock})
	advance(t, w, 2*time.Minute)
	if h, _ := w.client.s.Held(); h.Pos.Seq != 4005 {
		t.Errorf("held %d, want 4005", h.Pos.Seq)
	}
	if w.client.s.State().Gaps != 0 || len(w.links) != 1 || w.conns != 1 {
		t.Errorf("%d gaps, %d connections", w.client.s.State().Gaps, w.conns)
	}
}

// TestStoredCursor: the cursor that a stored record is made of is the one that the simulator gives out.
func TestStoredCursor(t *testing.T) {
	s := DefaultSetup()
	sim, err := simulator.New(s.Simulator())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := simulator.Position(simulator.SSE, Version, 5), sim.Cursor(5); got != want {
		t.Errorf("cursor %q, the simulator's is %q", got, want)
	}
	if got, want := StreamEpoch(Version), sim.State().Epoch; got != want {
		t.Errorf("epoch %q, the simulator's is %q", got, want)
	}
	s.Stored = &Stored{Seq: 4}
	if _, err := s.Rows(); !errors.Is(err, errBaseline) {
		t.Errorf("rows of a position that nobody has: %v", err)
	}
}

// TestScheduleFile: a schedule survives its file; what is no schedule is refused with the place of its fault.
func TestScheduleFile(t *testing.T) {
	var file bytes.Buffer
	s := random(4)
	if err := s.Write(&file); err != nil {
		t.Fatal(err)
	}
	good := file.String()
	read, err := ReadSchedule(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Run(s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Run(read)
	if err != nil {
		t.Fatal(err)
	}
	ha, _ := trace.Hash(a)
	if hb, _ := trace.Hash(b); ha != hb {
		t.Error("the file is another run")
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"version", `"version":1`, `"version":2`, "version 2 is not 1"},
		{"member", `"setup":{`, `"setup":{"mood":1,`, "mood"},
		{"fault", `"fault":"gap"`, `"fault":"rain"`, "rain"},
		{"draw", `"dials":[`, `"dials":[-1,`, "draws.dials[0]: -1"},
		{"order", `"micros":0`, `"micros":99999999999`, "out of order"},
		{"verb", `"do":"follow"`, `"do":"fly"`, `unknown verb "fly"`},
		{"behind", "}\n", "} x", "stands behind it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.from, c.to, 1)
			if text == good {
				t.Fatal("nothing was changed")
			}
			s, err := ReadSchedule(strings.NewReader(text))
			if err == nil {
				_, err = Run(s)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := ReadSchedule(strings.NewReader(`{"version":1,"setup":"` + strings.Repeat("x", MaxScheduleBytes) + `"}`)); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a file above the limit: %v", err)
	}
	long := Schedule{Version: ScheduleVersion, Actions: make([]Action, MaxActions+1)}
	if _, err := Run(long); err == nil || !strings.Contains(err.Error(), "limit 10000") {
		t.Errorf("too many actions: %v", err)
	}
	if _, err := New(DefaultSetup(), Draws{Links: make([]int, MaxDraws+1)}, nil); err == nil || !strings.Contains(err.Error(), "limit 4096") {
		t.Errorf("too many draws: %v", err)
	}
}

// TestStepsAreBounded: a world that does not come to rest is stopped.
func TestStepsAreBounded(t *testing.T) {
	w, err := New(DefaultSetup(), Draws{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.steps = MaxSteps
	w.in(0, func() {})
	if err := w.Advance(time.Second); err == nil || !strings.Contains(err.Error(), "does not come to rest") {
		t.Errorf("error %v", err)
	}
}

// TestActionsInPlace: an action that cannot be done where it stands says so and changes nothing.
func TestActionsInPlace(t *testing.T) {
	w, err := New(DefaultSetup(), Draw(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	do(t, w, Action{Verb: Follow})
	for _, a := range []Action{{Verb: Follow}, {Verb: Unblock}, {Verb: Restart, N: 77}, {Verb: Publish, N: 0}, {Verb: "jump"}} {
		n := len(w.Records())
		if err := w.Do(a); !errors.Is(err, ErrPlace) {
			t.Errorf("%s: %v", a.Verb, err)
		}
		if len(w.Records()) != n || len(w.done) != 1 {
			t.Errorf("%s left something behind", a.Verb)
		}
	}
}

func do(t *testing.T, w *World, a Action) {
	t.Helper()
	if err := w.Do(a); err != nil {
		t.Fatal(err)
	}
}

func advance(t *testing.T, w *World, d time.Duration) {
	t.Helper()
	if err := w.Advance(w.Now() + d); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkSteps is the speed of the loop, in jobs; events/s counts what reached the consumer.
func BenchmarkSteps(b *testing.B) {
	setup := DefaultSetup()
	setup.Retention = 65536
	w, err := New(setup, Draw(1), nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := w.Do(Action{Verb: Follow}); err != nil {
		b.Fatal(err)
	}
	begin := w.steps
	for b.Loop() {
		if err := w.Do(Action{Verb: Publish, N: 1}); err != nil {
			b.Fatal(err)
		}
		if err := w.Advance(w.Now() + 10*time.Millisecond); err != nil {
			b.Fatal(err)
		}
	}
	h, _ := w.client.s.Held()
	b.ReportMetric(float64(w.steps-begin)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(h.Pos.Seq-event.Seq(setup.Records))/b.Elapsed().Seconds(), "events/s")
}

// TestSettingsThatDoNothing: a setting that this wire or store does not have is refused, not passed over.
func TestSettingsThatDoNothing(t *testing.T) {
	for _, tc := range []struct {
		want   string
		change func(*Setup)
	}{
		{"compression: only websocket has that, and this is sse", func(s *Setup) { s.Deflate = "each" }},
		{"page size: only odata has that", func(s *Setup) { s.PageSize = 2 }},
		{"odata version: only odata has that, and this is websocket", func(s *Setup) { s.Wire, s.Dialect = "websocket", "4.0" }},
		{"annotations: only odata has that", func(s *Setup) { s.Annotates = "none" }},
		{"need the setting store file", func(s *Setup) { s.Limit = 2 }},
		{"need the setting store file", func(s *Setup) { s.Others = 2 }},
		{"need the setting store file", func(s *Setup) { s.Stored = &Stored{Seq: 5, Damage: Damages[0]} }},
		{`nothing is known of "rust"`, func(s *Setup) { s.File, s.Stored = true, &Stored{Seq: 5, Damage: "rust"} }},
		{"has its own", func(s *Setup) { s.Cross, s.Changes = true, "delete" }},
		{`wire: "telegraph" is none of sse, websocket, odata, fleetwake`, func(s *Setup) { s.Wire = "telegraph" }},
	} {
		s := DefaultSetup()
		tc.change(&s)
		if _, err := New(s, Draws{}, nil); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}
