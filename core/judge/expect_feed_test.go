package judge

import (
	"strconv"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/trace"
)

// feedTrace is a client that comes back behind change 1 with its id, and what a stream then carried.
func feedTrace(after, status, header, event string, carried ...int) []trace.Record {
	var out []trace.Record
	put := func(actor trace.Actor, kind trace.Kind, fill func(*trace.Record)) {
		r := trace.New(actor, kind)
		r.N, r.Epoch, r.Args = len(out)+1, 1, map[string]string{}
		fill(&r)
		out = append(out, r)
	}
	put(trace.Stage, trace.StageSetup, func(r *trace.Record) {
		r.Args["expired"] = "status:204 other-header:Last-Event-ID event:gone"
	})
	put(trace.Examiner, trace.ExaminerAsked, func(r *trace.Record) { r.Args["after"], r.ID = after, "id-1" })
	put(trace.Examiner, trace.ExaminerAnswered, func(r *trace.Record) {
		if r.Status = status; header != "" {
			r.Args["header-last-event-id"] = header
		}
	})
	if event != "" {
		put(trace.Examiner, trace.ExaminerHeard, func(r *trace.Record) { r.Type = event })
	}
	for _, k := range carried {
		put(trace.Examiner, trace.ExaminerHeard, func(r *trace.Record) {
			r.Type, r.ID, r.Args["change"] = "message", "id-"+strconv.Itoa(k), strconv.Itoa(k)
		})
	}
	return out
}

// TestHonest: who comes back gets everything or is told; going on silently from elsewhere is never right.
func TestHonest(t *testing.T) {
	for _, tc := range []struct {
		name    string
		records []trace.Record
		holds   bool
		got     string
	}{
		{"nothing lost", feedTrace("1", "200", "", "", 2, 3, 4), true, "nothing is lost"},
		{"a silent gap", feedTrace("1", "200", "", "", 3, 4), false, "went on with changes 3 to 4 behind change 1, and nothing said so"},
		{"silence", feedTrace("1", "200", "", ""), false, "went on with changes none behind change 1"},
		{"twice", feedTrace("1", "200", "", "", 2, 2, 3, 4), false, "changes 2, 2 to 4"},
		{"refused", feedTrace("1", "410", "", ""), true, "status 410"},
		{"told by a status", feedTrace("1", "204", "", ""), true, "status 204"},
		{"told by a header", feedTrace("1", "200", "id-3", "", 4), true, "is not the id that was asked with"},
		{"the header of a good resume", feedTrace("1", "200", "id-1", "", 4), false, "went on with changes 4"},
		{"told by an event", feedTrace("1", "200", "", "gone", 4), true, "event gone"},
		{"another event", feedTrace("1", "200", "", "hello", 4), false, "went on with changes 4"},
		{"an id of nobody's", feedTrace("0", "200", "", "", 1, 2, 3, 4), false, "for an id that nobody sent, and nothing said so"},
		{"an id of nobody's, refused", feedTrace("0", "400", "", ""), true, "status 400"},
		{"no answer", feedTrace("1", "200", "", "")[:2], false, "no answer"},
	} {
		s := honest(tc.records, map[string]string{"n": "1", "last": "4"})
		if s.holds != tc.holds || !strings.Contains(s.got, tc.got) {
			t.Errorf("%s: holds %v, saw %q", tc.name, s.holds, s.got)
		}
	}
}

func TestChanges(t *testing.T) {
	for _, tc := range []struct {
		carried []int
		holds   bool
		got     string
	}{
		{[]int{2, 3, 4}, true, "2 to 4"}, {[]int{2, 4}, false, "2, 4"}, {[]int{2, 3, 3, 4}, false, "2 to 3, 3 to 4"},
		{[]int{3, 2, 4}, false, "3, 2, 4"}, {[]int{2, 3, 4, 5}, false, "2 to 5"}, {nil, false, "none"},
	} {
		s := changes(feedTrace("1", "200", "", "", tc.carried...), map[string]string{"n": "1", "first": "2", "last": "4"})
		if s.holds != tc.holds || s.got != tc.got {
			t.Errorf("%v: holds %v, saw %q", tc.carried, s.holds, s.got)
		}
	}
}

func TestIDs(t *testing.T) {
	good := feedTrace("1", "200", "", "", 1, 2, 2)
	if s := ids(good, nil); !s.holds {
		t.Errorf("%+v", s)
	}
	same := feedTrace("1", "200", "", "", 1, 2)
	same[len(same)-1].ID = "id-1"
	none := feedTrace("1", "200", "", "", 1)
	none[len(none)-1].ID = ""
	for want, records := range map[string][]trace.Record{"changes 1 and 2 have the same": same, "change 1 has none": none, "no change was heard": feedTrace("1", "200", "", "")} {
		if s := ids(records, nil); s.holds || s.got != want {
			t.Errorf("%+v, want %s", s, want)
		}
	}
}
