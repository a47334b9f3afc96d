package judge

import (
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// laneStory is a relay's trace: a request, a poll that named 5, a wake that named 7, and what the lane shows.
func laneStory(wakes, mark string) []trace.Record {
	var out []trace.Record
	put := func(actor trace.Actor, kind trace.Kind, fill func(*trace.Record)) {
		r := trace.New(actor, kind)
		r.N = len(out) + 1
		fill(&r)
		out = append(out, r)
	}
	put(trace.Server, trace.ServerRequest, func(r *trace.Record) {
		r.Epoch, r.Status, r.Args = 1, "200", map[string]string{"bearers": "1", "class": "1"}
	})
	put(trace.Server, trace.ServerRequest, func(r *trace.Record) {
		r.Epoch, r.Status, r.Args = 2, "200", map[string]string{"bearers": "1", "class": "3", "beside": "x-token"}
	})
	put(trace.Server, trace.ServerSent, func(r *trace.Record) {
		r.Type, r.Seq, r.ID, r.Args = pollDigest, 5, "WAKE_SUB:a", map[string]string{"since": "0"}
	})
	put(trace.Server, trace.ServerSent, func(r *trace.Record) { r.Type, r.Seq = "wake", 7 })
	put(trace.Session, trace.SessionLane, func(r *trace.Record) {
		r.Status, r.Detail = "alive", "connected"
		r.Args = map[string]string{"wakes": wakes, "mark": mark, "pending": "null", "catchUp": "done"}
	})
	return out
}

func TestLaneExpectations(t *testing.T) {
	for _, tc := range []struct {
		e    trace.Expectation
		args string
		got  string // empty: it holds
	}{
		{trace.ExpectLane, "status=alive;reason=connected;mark=7;wakes=1;pending=null", ""},
		{trace.ExpectLane, "status=unknown", `status "alive"`},
		{trace.ExpectLane, "pending=0", `pending "null"`},
		{trace.ExpectLane, "dropped=1", `dropped ""`},
		{trace.ExpectPolls, "count=1", ""},
		{trace.ExpectPolls, "min=2", "1 polls"},
		{trace.ExpectPoll, "n=1;since=0;id=WAKE_SUB:a", ""},
		{trace.ExpectPoll, "n=1;since=5", "since 0"},
		{trace.ExpectPoll, "n=1;id=WAKE_SUB:b", "id WAKE_SUB:a"},
		{trace.ExpectPoll, "n=2;since=0", "1 polls"},
		{trace.ExpectBearers, "n=1;class=1;count=1", ""},
		{trace.ExpectBearers, "n=1;class=3;count=1", "1 of class 1"},
		{trace.ExpectBearers, "n=2;class=3;count=1", `beside it "x-token"`},
		{trace.ExpectBearers, "n=3;class=1;count=1", "2 requests"},
	} {
		args := map[string]string{}
		for _, pair := range strings.Split(tc.args, ";") {
			name, value, _ := strings.Cut(pair, "=")
			args[name] = value
		}
		if err := trace.CheckExpect(tc.e, args); err != nil {
			t.Errorf("%s %s: %v", tc.e, tc.args, err)
			continue
		}
		s := evaluators[tc.e](prefix(laneStory("1", "7")), args)
		if s.holds != (tc.got == "") || !strings.Contains(s.got, tc.got) || s.want == "" {
			t.Errorf("%s %s: holds %v, saw %q; want %q", tc.e, tc.args, s.holds, s.got, tc.got)
		}
	}
	if s := lane(nil, map[string]string{"status": "alive"}); s.holds || s.got != "there is no lane" {
		t.Errorf("without a lane: %+v", s)
	}
}

// TestLaneWitness: what a lane counts must have been sent, and its mark must have been named.
func TestLaneWitness(t *testing.T) {
	for _, tc := range []struct {
		wakes, mark string
		raw         bool // bytes of a scenario's own went out as well
		found       int
	}{
		{"1", "7", false, 0},
		{"0", "5", false, 0},
		{"2", "7", false, 1},
		{"1", "8", false, 1},
		{"2", "8", false, 2},
		{"2", "8", true, 0},
		{"3", "8", true, 1},
	} {
		records := laneStory(tc.wakes, tc.mark)
		if tc.raw {
			r := trace.New(trace.Server, trace.ServerSent)
			r.Type, r.Seq = "raw", event.NoSeq
			records = append(records[:4:4], r, records[4])
			for i := range records {
				records[i].N = i + 1
			}
		}
		if got := laneWitness(records); len(got) != tc.found {
			t.Errorf("%s wakes, mark %s, raw %v: %+v", tc.wakes, tc.mark, tc.raw, got)
		}
	}
}
