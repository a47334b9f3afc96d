package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/gate"
)

const context = `{"sourceId":"s","queryFingerprint":"q","sourceVersion":"v","schemaVersion":"1","authorizationScopeFingerprint":"a"}`

const newLine = `{"op":"new","context":` + context + `}` + "\n"

func withOptions(options string) string {
	return `{"op":"new","context":` + context + `,"options":` + options + "}\n"
}

// reply is an answer as somebody reads it who knows only the manual.
type reply struct {
	Line       int
	Op         string
	Ticket     uint64
	Refreshed  *bool
	Deliveries []struct {
		Ticket   uint64
		Status   string
		Reason   string
		Sequence *int64
	}
	State struct {
		Phase, Reason, Detail string
		Checkpoint            *struct {
			Resume struct {
				Sequence   int64
				Cursor     string
				DeltaToken string
			}
			RecentEventIDs []string
			SavedAt        string
		}
		CheckpointError     string
		CheckpointPersisted bool
		PendingEvents       int
		AcceptedEventCount  int
		OverflowCount       int
	}
	Due struct {
		Abort bool
		Apply *struct {
			Ticket   uint64
			Type     string
			Replace  *bool
			Sequence int64
			EventID  string
		}
		Save *struct{ Sequence int64 }
	}
}

func replies(t interface {
	Helper()
	Fatalf(string, ...any)
}, out string) (list []reply) {
	t.Helper()
	for line := range strings.Lines(out) {
		var r reply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		list = append(list, r)
	}
	return list
}

func run(t *testing.T, auto bool, in string) []reply {
	t.Helper()
	var out bytes.Buffer
	if err := Gate(strings.NewReader(in), &out, auto); err != nil {
		t.Fatal(err)
	}
	return replies(t, out.String())
}

func TestTurnByHand(t *testing.T) {
	r := run(t, false, withOptions(`{"store":true,"now":0}`)+`
{"op":"enqueue","event":{"type":"snapshot","sequence":10,"features":[],"eventId":"s10","cursor":"c10"}}
{"op":"enqueue","event":{"type":"delta","sequence":1.1e1,"eventId":"e11"}}
{"op":"applied","now":1000}
{"op":"saved"}
{"op":"applied"}
{"op":"saved","error":"disk full"}
`)
	if a := r[1].Due.Apply; r[1].Line != 3 || a == nil || a.Ticket != 1 || a.Type != "snapshot" || a.EventID != "s10" || a.Replace != nil {
		t.Errorf("the consumer is not due: %+v", r[1])
	}
	if a := r[2].Due.Apply; r[2].Ticket != 2 || a == nil || a.Ticket != 1 || r[2].State.PendingEvents != 2 {
		t.Errorf("what is due is shown until it came back: %+v", r[2])
	}
	if c := r[3].State.Checkpoint; len(r[3].Deliveries) != 0 || r[3].Due.Save == nil || c.SavedAt != "1970-01-01T00:00:01.000Z" || c.Resume.Cursor != "c10" {
		t.Errorf("the save is not due: %+v", r[3])
	}
	if d := r[4].Deliveries; len(d) != 1 || d[0].Status != "applied" || *d[0].Sequence != 10 || !r[4].State.CheckpointPersisted || r[4].Due.Apply.Sequence != 11 {
		t.Errorf("the delivery is not told: %+v", r[4])
	}
	if r[5].State.CheckpointPersisted {
		t.Error("persisted before the save")
	}
	if d := r[6].Deliveries; len(d) != 1 || d[0].Reason != "checkpoint-save-failed" || r[6].State.Phase != "error" || r[6].State.Checkpoint.Resume.Sequence != 11 {
		t.Errorf("P-GATE-17: %+v", r[6])
	}
}

// D-28: what a refresh changes, and where it changes nothing.
func TestRefresh(t *testing.T) {
	r := run(t, false, withOptions(`{"store":true,"now":0}`)+`
{"op":"refresh","position":{"sequence":10}}
{"op":"enqueue","event":{"type":"snapshot","sequence":10,"features":[],"eventId":"s10","cursor":"c10","deltaToken":"d10"}}
{"op":"applied"}
{"op":"refresh","position":{"sequence":10,"deltaToken":"d11"}}
{"op":"saved"}
{"op":"refresh","position":{"sequence":11,"deltaToken":"d11"}}
{"op":"refresh","position":{"deltaToken":"d11"}}
{"op":"refresh","position":{"sequence":10,"deltaToken":"d11"},"now":1000}
{"op":"saved"}
`)
	for i, counted := range map[int]bool{1: false, 4: false, 6: false, 7: false, 8: true} {
		if got := r[i].Refreshed; got == nil || *got != counted {
			t.Errorf("line %d: refreshed %v, want %v", r[i].Line, got, counted)
		}
	}
	if r[9].Refreshed != nil {
		t.Error("what is no refresh answers for one")
	}
	taken, c := r[8], r[8].State.Checkpoint
	if c.Resume.DeltaToken != "d11" || c.Resume.Cursor != "c10" || c.SavedAt != "1970-01-01T00:00:01.000Z" || len(c.RecentEventIDs) != 1 {
		t.Errorf("held %+v", c)
	}
	if taken.Due.Save == nil || taken.Due.Apply != nil || taken.State.AcceptedEventCount != 1 || taken.State.CheckpointPersisted || len(taken.Deliveries) != 0 {
		t.Errorf("what follows: %+v", taken)
	}
	if !r[9].State.CheckpointPersisted {
		t.Error("not persisted after the save")
	}
}

// P-GATE-12: what runs is superseded, and its result is owed until it came.
func TestAbortIsShownUntilTheResult(t *testing.T) {
	r := run(t, false, withOptions(`{"maxPendingEvents":2}`)+`{"op":"enqueue","event":{"type":"snapshot","sequence":0,"features":[]}}
{"op":"applied"}
{"op":"enqueue","event":{"type":"snapshot","replace":false,"sequence":1,"features":[]}}
{"op":"enqueue","event":{"type":"delta","sequence":2}}
{"op":"enqueue","event":{"type":"delta","sequence":3}}
{"op":"enqueue","event":{"type":"snapshot","sequence":70,"features":[]}}
{"op":"applied"}
{"op":"applied"}
`)
	if a := r[3].Due.Apply; a.Replace == nil || *a.Replace {
		t.Errorf("a merging snapshot does not look like one: %+v", a)
	}
	over := r[5]
	if !over.Due.Abort || over.Due.Apply.Ticket != 2 || over.State.OverflowCount != 1 || len(over.Deliveries) != 2 || over.Deliveries[0].Reason != "buffer-overflow" {
		t.Errorf("overflow: %+v", over)
	}
	if !r[6].Due.Abort || r[6].Due.Apply.Ticket != 2 {
		t.Errorf("no longer aborted: %+v", r[6])
	}
	if d := r[7].Deliveries; d[0].Status != "cancelled" || r[7].Due.Abort || r[7].Due.Apply.Ticket != 5 {
		t.Errorf("the late result: %+v", r[7])
	}
	if r[8].State.Checkpoint.Resume.Sequence != 70 || r[8].State.AcceptedEventCount != 2 {
		t.Errorf("the recovery: %+v", r[8])
	}
}

// A checkpoint that was shown can be handed in again, and is judged against the new context.
func TestInitialCheckpoint(t *testing.T) {
	var out bytes.Buffer
	if err := Gate(strings.NewReader(newLine+`{"op":"enqueue","event":{"type":"snapshot","sequence":9007199254740990,"features":[],"eventId":"s"}}`), &out, true); err != nil {
		t.Fatal(err)
	}
	var shown struct {
		State struct{ Checkpoint json.RawMessage }
	}
	if err := json.Unmarshal([]byte(strings.Split(out.String(), "\n")[1]), &shown); err != nil {
		t.Fatal(err)
	}
	again := run(t, true, withOptions(`{"initialCheckpoint":`+string(shown.State.Checkpoint)+`}`)+
		`{"op":"enqueue","event":{"type":"delta","sequence":9007199254740991}}
{"op":"enqueue","event":{"type":"delta","sequence":9007199254740992}}`)
	if s := again[0].State; s.Phase != "resuming" || s.CheckpointPersisted || s.Checkpoint.RecentEventIDs[0] != "s" {
		t.Errorf("start: %+v", s)
	}
	if again[1].Deliveries[0].Status != "applied" || again[2].Deliveries[0].Reason != "sequence-missing" {
		t.Errorf("numbers are not exact: %+v", again[1:])
	}
	for doc, want := range map[string]string{
		strings.Replace(string(shown.State.Checkpoint), `"sourceVersion":"v"`, `"sourceVersion":"w"`, 1): "source-version-changed ",
		`{}`: "invalid-checkpoint kind is not honua.realtime-checkpoint",
	} {
		r := run(t, true, withOptions(`{"initialCheckpoint":`+doc+`}`))
		if s := r[0].State; s.Phase != "resnapshot-required" || s.Reason+" "+s.Detail != want {
			t.Errorf("%s: %+v", doc, s)
		}
	}
}

// A second new begins again: nothing of the first gate is owed or remembered.
func TestNewAgain(t *testing.T) {
	r := run(t, false, newLine+`{"op":"enqueue","event":{"type":"snapshot","sequence":0,"features":[]},"now":5}
`+newLine+`{"op":"enqueue","event":{"type":"snapshot","sequence":1,"features":[]}}
{"op":"applied"}`)
	if r[2].Due.Apply != nil || r[2].State.PendingEvents != 0 || r[3].Ticket != 1 || r[4].State.Checkpoint.SavedAt != "1970-01-01T00:00:00.000Z" {
		t.Errorf("%+v", r[2:])
	}
}

// A position that no checkpoint may hold is said to be one, not left out.
func TestCheckpointThatCannotBeWritten(t *testing.T) {
	r := run(t, true, newLine+`{"op":"enqueue","event":{"type":"snapshot","sequence":0,"features":[],"cursor":"`+strings.Repeat("c", 65537)+`"}}`)
	if s := r[1].State; s.Phase != "live" || s.Checkpoint != nil || s.CheckpointError != "resume.cursor is longer than 65536 bytes" {
		t.Errorf("%.300v", s)
	}
}

// Whatever comes in whatever order: the ticket that an apply is shown under is the event's own, every ticket is answered
// once, and the lines are those of a gate that was driven without the reader.
func TestTicketsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		auto := rapid.Bool().Draw(t, "auto")
		b := bench{auto: auto}
		do := func(format string, args ...any) reply {
			line := fmt.Sprintf(format, args...)
			a, f := b.line([]byte(line))
			if f != nil {
				t.Fatalf("%s: %v", line, f)
			}
			doc, err := json.Marshal(a)
			if err != nil {
				t.Fatalf("%v", err)
			}
			return replies(t, string(doc))[0]
		}
		do(`{"op":"new","context":%s,"options":{"maxPendingEvents":%d,"store":%v}}`, context, rapid.IntRange(1, 4).Draw(t, "pending"), rapid.Bool().Draw(t, "store"))
		open := map[uint64]bool{}
		last := uint64(0)
		for range rapid.IntRange(1, 40).Draw(t, "inputs") {
			var r reply
			switch op := rapid.SampledFrom([]string{"delta", "delta", "delta", "snapshot", "result", "result", "result", "fails", "require", "refresh"}).Draw(t, "op"); op {
			case "delta", "snapshot":
				last++
				open[last] = true
				r = do(`{"op":"enqueue","event":{"type":%q,"features":[],"sequence":%d,"eventId":"t%d"}}`, op, rapid.IntRange(0, 8).Draw(t, "seq"), last)
				if r.Ticket != last {
					t.Fatalf("ticket %d, want %d", r.Ticket, last)
				}
			case "refresh":
				r = do(`{"op":"refresh","position":{"sequence":%d,"deltaToken":"d"}}`, rapid.IntRange(0, 8).Draw(t, "seq"))
			case "require":
				r = do(`{"op":"requireResnapshot","reason":"transport-gap"}`)
			default:
				word := map[owed]string{owesApply: opApplied, owesSave: opSaved}[b.owed]
				if word == "" || op == "fails" && rapid.IntRange(0, 9).Draw(t, "really") > 0 {
					continue
				}
				r = do(`{"op":%q%s}`, word, map[bool]string{true: `,"error":"x"`}[op == "fails"])
			}
			for _, d := range r.Deliveries {
				if !open[d.Ticket] {
					t.Fatalf("ticket %d is answered, but not open", d.Ticket)
				}
				delete(open, d.Ticket)
			}
			if a := r.Due.Apply; a != nil && a.EventID != fmt.Sprintf("t%d", a.Ticket) {
				t.Fatalf("event %s is applied as ticket %d", a.EventID, a.Ticket)
			}
			if r.State.PendingEvents != len(open) || len(b.open) != len(open) {
				t.Fatalf("%d pending, %d open, %d remembered", r.State.PendingEvents, len(open), len(b.open))
			}
			if auto && (len(open) > 0 || b.owed != owesNothing) {
				t.Fatalf("--auto left something: %+v", r)
			}
		}
	})
}

func TestBrokenInput(t *testing.T) {
	broken := errors.New("broken")
	var out bytes.Buffer
	err := Gate(io.MultiReader(strings.NewReader(newLine), iotest.ErrReader(broken)), &out, true)
	if !errors.Is(err, broken) || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// Every ticket that a gate can hold at once is drained in one line.
func TestLargestQueue(t *testing.T) {
	in := withOptions(fmt.Sprintf(`{"maxPendingEvents":%d}`, gate.CeilingPending)) +
		strings.Repeat(`{"op":"enqueue","event":{"type":"snapshot","features":[],"sequence":0}}`+"\n", gate.CeilingPending+1)
	var out bytes.Buffer
	if err := Gate(strings.NewReader(in), &out, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	r := replies(t, lines[len(lines)-1])[0]
	if len(r.Deliveries) != gate.CeilingPending || r.State.OverflowCount != 1 || !r.Due.Abort || r.Due.Apply.Ticket != 1 {
		t.Errorf("%d deliveries, %+v, %+v", len(r.Deliveries), r.State, r.Due)
	}
}
