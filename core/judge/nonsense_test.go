package judge

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// TestNonsenseIsJudged: records in any order, doubled, left out, with members of each other: the judge answers, twice the
// same, and never panics.
func TestNonsenseIsJudged(t *testing.T) {
	base := append(gapStory(t).log.Records(), long(t).log.Records()...)
	r := row(t, "GATE-001")
	seen := map[Verdict]int{}
	for range 5 {
		rapid.Check(t, func(t *rapid.T) {
			records := slices.Clone(base)
			for range rapid.IntRange(1, 12).Draw(t, "changes") {
				i, j := rapid.IntRange(0, len(records)-1).Draw(t, "i"), rapid.IntRange(0, len(records)-1).Draw(t, "j")
				switch rapid.IntRange(0, 7).Draw(t, "change") {
				case 0:
					records[i], records[j] = records[j], records[i]
				case 1:
					records = slices.Delete(records, i, i+1)
				case 2:
					records = slices.Insert(records, i, records[j])
				case 3:
					records[i].Kind, records[i].Actor = records[j].Kind, records[j].Actor
				case 4:
					records[i].Args = records[j].Args
				case 5:
					records[i].Seq = event.Seq(rapid.Int64().Draw(t, "seq"))
				case 6:
					records[i].Status, records[i].Type = records[j].Status, records[j].Type
				default:
					records[i].Ticket, records[i].Epoch = rapid.Uint64().Draw(t, "ticket"), rapid.Uint32().Draw(t, "epoch")
				}
			}
			renumber(records)
			out := Judge(records, r, trace.Process)
			if d := cmp.Diff(out, Judge(slices.Clone(records), r, trace.Process), cmp.AllowUnexported(Finding{})); d != "" {
				t.Fatal(d)
			}
			if out.Verdict != Passed && (out.Why == "" || len(out.Findings) == 0) {
				t.Fatalf("%+v says nothing", out)
			}
			seen[out.Verdict]++
		})
	}
	if seen[Failed] < 50 || seen[Error] < 50 {
		t.Errorf("verdicts %v", seen)
	}
	if out := Judge(nil, r, trace.Virtual); out.Verdict != Error {
		t.Errorf("an empty trace is %s", out.Verdict)
	}
}
