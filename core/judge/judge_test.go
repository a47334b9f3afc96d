package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/trace"
)

func TestHonestTracePasses(t *testing.T) {
	records := gapStory(t).log.Records()
	out := Judge(records, row(t, "GATE-001"), trace.Virtual)
	if out.Verdict != Passed || out.Why != "" || out.Row != "GATE-001" || out.Lane != trace.Virtual {
		t.Fatalf("%+v", out)
	}
	if d := cmp.Diff(out, Judge(records, row(t, "GATE-001"), trace.Virtual), cmp.AllowUnexported(Finding{})); d != "" {
		t.Errorf("a second judgement differs: %s", d)
	}
}

// find is the place of the n-th record of a kind.
func find(t *testing.T, records []trace.Record, actor trace.Actor, kind trace.Kind, n int) int {
	t.Helper()
	for i := range records {
		if records[i].Actor == actor && records[i].Kind == kind {
			if n--; n == 0 {
				return i
			}
		}
	}
	t.Fatalf("no %s %s", actor, kind)
	return 0
}

func renumber(records []trace.Record) []trace.Record {
	for i := range records {
		records[i].N = i + 1
	}
	return records
}

func drop(records []trace.Record, i int) []trace.Record {
	return renumber(slices.Delete(records, i, i+1))
}

func insert(records []trace.Record, i int, r trace.Record) []trace.Record {
	return renumber(slices.Insert(records, i, r))
}

// TestDoctoredTrace changes one thing of an honest trace. Each change must lead to the verdict, and be named by the check
// that exists for it.
func TestDoctoredTrace(t *testing.T) {
	type rs = []trace.Record
	g, srv, con, st, ses := trace.Gate, trace.Server, trace.Consumer, trace.Stage, trace.Session
	for _, tc := range []struct {
		name    string
		change  func(r rs) rs
		verdict Verdict
		check   Check
		why     string // part of the first finding
	}{
		{"number out of order", func(r rs) rs { r[3].N = 9; return r }, Error, Broken, "number 9"},
		{"unknown kind", func(r rs) rs { r[3].Kind = "guess"; return r }, Error, Broken, "guess"},
		{"harness broke", func(r rs) rs {
			return insert(r, 5, trace.Record{Actor: st, Kind: trace.StageBroken, Detail: "no port"})
		}, Error, Broken, "no port"},
		{"unknown argument", func(r rs) rs {
			r[find(t, r, st, trace.StageExpect, 3)].Args = map[string]string{"gapps": "1"}
			return r
		}, Error, Broken, `has no argument "gapps"`},
		{"nothing expected", func(r rs) rs {
			return renumber(slices.DeleteFunc(r, func(x trace.Record) bool { return x.Kind == trace.StageExpect }))
		}, Error, Broken, "no expectation in the trace"},
		{"gate without a start", func(r rs) rs { return drop(r, find(t, r, g, trace.GateStart, 1)) }, Error, Broken, "gate enqueue"},

		{"canary in a detail", func(r rs) rs { r[4].Detail = "Bearer s3cr3t-token"; return r }, Failed, Canary, "member detail of record 5"},
		{"canary in base64", func(r rs) rs { r[4].Args = map[string]string{"x": "czNjcjN0LXRva2Vu"}; return r }, Failed, Canary, "argument x"},
		{"canary in hex", func(r rs) rs { r[4].ID = "73336372337" + "42d746f6b656e"; return r }, Failed, Canary, "member id"},

		{"another count expected", func(r rs) rs {
			r[find(t, r, st, trace.StageExpect, 3)].Args = map[string]string{"gaps": "2"}
			return r
		}, Failed, Expectation, "2 gaps; seen 1 gaps"},
		{"another order expected", func(r rs) rs {
			r[find(t, r, st, trace.StageExpect, 1)].Args = map[string]string{"events": "upsert 6, snapshot 5, snapshot 8"}
			return r
		}, Failed, Expectation, "seen snapshot 5, upsert 6, snapshot 8"},
		{"wait ran out", func(r rs) rs {
			return insert(r, 9, trace.Record{Actor: st, Kind: trace.StageLate, Detail: "everything published has arrived", Ms: 5000})
		}, Failed, Late, "everything published has arrived; seen nothing of it within 5000 ms"},

		{"the gate applied the gap", func(r rs) rs {
			i := slices.IndexFunc(r, func(x trace.Record) bool { return x.Kind == trace.GateDelivery && x.Reason == "sequence-gap" })
			r[i].Status, r[i].Reason = "applied", ""
			return r
		}, Failed, Model, `upsert 8 (id "e8") ends as resnapshot-required with sequence-gap`},
		{"a delivery is missing", func(r rs) rs { return drop(r, find(t, r, g, trace.GateDelivery, 1)) }, Failed, Model, `snapshot 5 (id "e5") ends as applied`},
		{"a delivery came twice", func(r rs) rs {
			i := find(t, r, g, trace.GateDelivery, 1)
			return insert(r, i, r[i])
		}, Failed, Model, "nothing more from the gate"},
		{"another counter", func(r rs) rs { r[find(t, r, g, trace.GateState, 2)].Duplicates++; return r }, Failed, Model, "duplicates 1"},
		{"a state was left out", func(r rs) rs { return drop(r, find(t, r, g, trace.GateState, 2)) }, Failed, Model, "the gate shows live"},
		{"another ticket", func(r rs) rs { r[find(t, r, g, trace.GateEnqueue, 2)].Ticket = 7; return r }, Failed, Model, "ticket 2 for"},
		{"another position saved", func(r rs) rs { r[find(t, r, g, trace.GateSave, 2)].Seq = 7; return r }, Failed, Model, "the position of 6 goes to the store"},
		{"nobody owed a result", func(r rs) rs {
			return insert(r, find(t, r, g, trace.GateClose, 1), trace.New(g, trace.GateApplied))
		}, Failed, Model, "nobody owed"},
		{"impossible start", func(r rs) rs { r[find(t, r, g, trace.GateStart, 1)].Phase = "live"; return r }, Failed, Model, "a start in awaiting-snapshot"},
		{"start in words", func(r rs) rs { r[find(t, r, g, trace.GateStart, 1)].Args["maxPending"] = "many"; return r }, Failed, Model, `"many" is no number`},

		{"the server did not send it", func(r rs) rs { return drop(r, find(t, r, srv, trace.ServerSent, 2)) }, Failed, Witness, `the server sent upsert 6 (id "e6") at least 1 times`},
		{"the server sent another id", func(r rs) rs { r[find(t, r, srv, trace.ServerSent, 2)].ID = "x"; return r }, Failed, Witness, "it sent it 0 times"},
		{"other rows", func(r rs) rs {
			r[find(t, r, con, trace.ConsumerSaw, 2)].Args = map[string]string{"rows": "rows-7"}
			return r
		}, Failed, Witness, "rows rows-6 after upsert 6"},
		{"the consumer saw nothing of it", func(r rs) rs { return drop(r, find(t, r, con, trace.ConsumerSaw, 2)) }, Failed, Witness, "the consumer has not seen it"},
		{"the consumer saw more", func(r rs) rs {
			i := find(t, r, con, trace.ConsumerSaw, 2)
			return insert(r, i, r[i])
		}, Failed, Witness, "only what the gate hands out"},
		{"the consumer saw something else", func(r rs) rs { r[find(t, r, con, trace.ConsumerSaw, 1)].ID = "e8"; return r }, Failed, Witness, "the consumer sees snapshot 5"},

		{"the fault never struck", func(r rs) rs { return drop(r, find(t, r, srv, trace.ServerFault, 1)) }, NotExercised, Exercised, "server fault detail=gap; seen 0 of 1"},
		{"the capability is not declared", func(r rs) rs { r[0].Args = map[string]string{"capabilities": "heartbeats"}; return r }, Passed, "", ""},
		{"an unrelated record", func(r rs) rs {
			return insert(r, 9, trace.Record{Actor: ses, Kind: trace.SessionObserved, Status: "fresh", Seq: event.NoSeq})
		}, Passed, "", ""},
	} {
		out := Judge(tc.change(gapStory(t).log.Records()), row(t, "GATE-001"), trace.Virtual)
		if out.Verdict != tc.verdict {
			t.Errorf("%s: %s, want %s (%s)", tc.name, out.Verdict, tc.verdict, out.Why)
			continue
		}
		if tc.check == "" {
			continue
		}
		i := slices.IndexFunc(out.Findings, func(f Finding) bool {
			return f.Check == tc.check && strings.Contains(f.Expected+"; seen "+f.Seen, tc.why)
		})
		if i < 0 {
			t.Errorf("%s: no finding of %s says %q: %+v", tc.name, tc.check, tc.why, out.Findings)
			continue
		}
		if f := out.Findings[i]; f.Record > 0 && i == 0 && !slices.ContainsFunc(out.Excerpt, func(s string) bool { return strings.HasPrefix(s, "#") }) {
			t.Errorf("%s: excerpt %q", tc.name, out.Excerpt)
		}
		if len(out.Excerpt) > MaxExcerpt {
			t.Errorf("%s: %d lines of excerpt", tc.name, len(out.Excerpt))
		}
	}
}

func TestCanaryIsNotQuoted(t *testing.T) {
	r := gapStory(t).log.Records()
	r[4].Detail = "Bearer s3cr3t-token"
	r[8].Kind, r[8].Actor, r[8].Detail = trace.StageBroken, trace.Stage, "could not send s3cr3t-token"
	out := Judge(r, row(t, "GATE-001"), trace.Virtual)
	if strings.Contains(out.Why, "s3cr3t") || !strings.Contains(out.Why, "could not send "+Masked) {
		t.Error(out.Why)
	}
	r[8] = gapStory(t).log.Records()[8]
	out = Judge(r, row(t, "GATE-001"), trace.Virtual)
	for _, line := range out.Excerpt {
		if strings.Contains(line, "s3cr3t") {
			t.Errorf("the excerpt shows the secret: %s", line)
		}
	}
	// A masked trace is judged like the one it was made of.
	for i := range r {
		r[i].Detail = strings.ReplaceAll(r[i].Detail, "s3cr3t-token", Masked)
	}
	r[0].Args["canary"] = Masked
	if again := Judge(r, row(t, "GATE-001"), trace.Virtual); again.Verdict != Failed || again.Findings[0].Check != Canary {
		t.Errorf("masked: %+v", again)
	}
}

func TestNotApplicableOnlyWhereTheRowSaysSo(t *testing.T) {
	r := *row(t, "GATE-001")
	records := drop(gapStory(t).log.Records(), 5)
	records[0].Args = map[string]string{"vouch": "none"}
	if out := Judge(records, &r, trace.Virtual); out.Verdict != Failed {
		t.Errorf("%s without a condition", out.Verdict)
	}
	r.NotApplicable = []ledger.Absence{{Arg: "vouch", Is: "none", Why: "nobody vouches"}}
	if out := Judge(records, &r, trace.Virtual); out.Verdict != NotApplicable || out.Why != "nobody vouches" {
		t.Errorf("%s %s", out.Verdict, out.Why)
	}
	records[0].Args = map[string]string{"vouch": "frame"}
	if out := Judge(records, &r, trace.Virtual); out.Verdict != Failed {
		t.Errorf("%s with another value", out.Verdict)
	}
}

// TestUndeclaredCapability: it is unsupported only if its refusal was seen (D-60, D-62).
func TestUndeclaredCapability(t *testing.T) {
	r := *row(t, "GATE-001")
	r.Requires = []string{"resume"}
	records := gapStory(t).log.Records()
	records[0].Args = map[string]string{"capabilities": "heartbeats,watermarks"}
	out := Judge(records, &r, trace.Virtual)
	if out.Verdict != Failed || out.Findings[0].Check != Refusal {
		t.Errorf("without a refusal: %+v", out)
	}
	refused := trace.New(trace.Plugin, trace.PluginRefused)
	refused.Detail = "resume is not declared"
	out = Judge(insert(records, 1, refused), &r, trace.Virtual)
	if out.Verdict != Unsupported || !strings.Contains(out.Why, "resume") {
		t.Errorf("with a refusal: %+v", out)
	}
}

// TestInconclusiveNeedsAWitness (D-60): lateness excuses only where the runner measured that it was late itself.
func TestInconclusiveNeedsAWitness(t *testing.T) {
	r := row(t, "GATE-001")
	late := trace.Record{Actor: trace.Stage, Kind: trace.StageLate, Detail: "x", Ms: 5000, Seq: event.NoSeq}
	slow := func(ms int64) trace.Record {
		return trace.Record{Actor: trace.Stage, Kind: trace.StageSlow, Ms: ms, Seq: event.NoSeq}
	}
	base := func() []trace.Record { return insert(gapStory(t).log.Records(), 9, late) }
	for _, tc := range []struct {
		name    string
		records []trace.Record
		lane    trace.Lane
		want    Verdict
	}{
		{"no witness", base(), trace.Process, Failed},
		{"late by the margin", insert(base(), 9, slow(r.MarginMs)), trace.Process, Failed},
		{"later than the margin", insert(base(), 9, slow(r.MarginMs+1)), trace.Process, Inconclusive},
		{"virtual time has no excuse", insert(base(), 9, slow(r.MarginMs+1)), trace.Virtual, Failed},
		{"something else is wrong too", drop(insert(base(), 9, slow(9999)), 6), trace.Process, Failed},
	} {
		if out := Judge(tc.records, r, tc.lane); out.Verdict != tc.want {
			t.Errorf("%s: %s (%s)", tc.name, out.Verdict, out.Why)
		}
	}
	wrong := base()
	wrong[find(t, wrong, trace.Stage, trace.StageExpect, 3)].Args = map[string]string{"gaps": "2"}
	if out := Judge(insert(wrong, 9, slow(9999)), r, trace.Process); out.Verdict != Inconclusive {
		t.Errorf("what follows from an excused wait: %s", out.Verdict)
	}
}

func TestElapsedExcess(t *testing.T) {
	s := newStory(t).publish(5).client(event.NoSeq, gate.Config{})
	s.request(1, event.NoSeq, "503")
	s.now = 1500
	s.request(2, event.NoSeq, "200").send(event.Snapshot, 5).fault("gap")
	s.expect(trace.ExpectElapsed, "from", "request 1", "to", "request 2", "min", "1000", "max", "1400")
	records := s.end().log.Records()
	r := row(t, "GATE-001")
	if out := Judge(records, r, trace.Process); out.Verdict != Failed || !strings.Contains(out.Why, "at least 1000 ms and at most 1400 ms from request 1 to request 2; seen 1500 ms") {
		t.Errorf("%+v", out)
	}
	slow := trace.Record{Actor: trace.Stage, Kind: trace.StageSlow, Ms: 700, Seq: event.NoSeq}
	if out := Judge(insert(records, 3, slow), r, trace.Process); out.Verdict != Inconclusive {
		t.Errorf("%+v", out)
	}
}

// TestOtherWayToExercise: a scenario that shows the other side of a row counts by its own conditions.
func TestOtherWayToExercise(t *testing.T) {
	records := gapStory(t).log.Records()
	r := *row(t, "GATE-001")
	r.Exercised = []ledger.Condition{{Actor: "server", Kind: "trim", Min: 1}}
	if out := Judge(records, &r, trace.Virtual); out.Verdict != NotExercised {
		t.Errorf("%s", out.Verdict)
	}
	r.OrExercised = [][]ledger.Condition{{{Actor: "server", Kind: "request", Seq: "some", Min: 1}}, {{Actor: "gate", Kind: "apply", Type: ledger.Strings{"snapshot"}, Min: 2}}}
	if out := Judge(records, &r, trace.Virtual); out.Verdict != Passed {
		t.Errorf("%s %s", out.Verdict, out.Why)
	}
	r.OrExercised[1][0].Min = 3
	if out := Judge(records, &r, trace.Virtual); out.Verdict != NotExercised {
		t.Errorf("%s", out.Verdict)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	records := gapStory(t).log.Records()
	for range MaxFindings + 5 {
		r, err := trace.Expect(trace.ExpectCounts, map[string]string{"gaps": "9"})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	out := Judge(renumber(records), row(t, "GATE-001"), trace.Virtual)
	if len(out.Findings) != MaxFindings || out.More != 5 {
		t.Errorf("%d findings, %d more", len(out.Findings), out.More)
	}
}

// TestLedgerSpeaksTheTrace: every condition of the shipped rows is in words of the trace.
func TestLedgerSpeaksTheTrace(t *testing.T) {
	l, err := ledger.Load()
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Rows {
		for _, c := range conditions(&l.Rows[i]) {
			if !trace.Known(trace.Actor(c.Actor), trace.Kind(c.Kind)) {
				t.Errorf("%s: %s %s", l.Rows[i].ID, c.Actor, c.Kind)
			}
		}
	}
	for i, lane := range trace.Lanes {
		if ledger.Lanes[i] != string(lane) {
			t.Errorf("lane %s is %s in the ledger", lane, ledger.Lanes[i])
		}
	}
}

func TestEveryExpectationHasAnEvaluator(t *testing.T) {
	for _, e := range trace.Expectations() {
		if evaluators[e] == nil {
			t.Errorf("nobody evaluates %s", e)
		}
	}
}
