package judge

import (
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/trace"
)

// examination is a trace of an examiner: a refusal, a stream that is open, one that is over.
func examination() []trace.Record {
	var out []trace.Record
	put := func(kind trace.Kind, n uint32, fill func(*trace.Record)) {
		r := trace.New(trace.Examiner, kind)
		r.N, r.Epoch = len(out)+1, n
		if fill != nil {
			fill(&r)
		}
		out = append(out, r)
	}
	put(trace.ExaminerAsked, 1, nil)
	put(trace.ExaminerAnswered, 1, func(r *trace.Record) {
		r.Status, r.Detail, r.Args = "401", `{"error":"no","n":{"a":1,"b":null},"t":"x"}`, map[string]string{"header-content-type": "application/json"}
	})
	for n := uint32(2); n <= 3; n++ {
		put(trace.ExaminerAsked, n, nil)
		put(trace.ExaminerAnswered, n, func(r *trace.Record) { r.Status = "200" })
		put(trace.ExaminerHeard, n, func(r *trace.Record) { r.Type, r.Detail = "retry", "5000" })
		put(trace.ExaminerHeard, n, func(r *trace.Record) { r.Type, r.Detail = "state", `{"armed":true}` })
	}
	put(trace.ExaminerHeard, 2, func(r *trace.Record) { r.Type, r.Detail = "wake", `{"id":1}` })
	put(trace.ExaminerHeard, 2, func(r *trace.Record) { r.Type, r.Detail = "wake", `{"id":2}` })
	put(trace.ExaminerEnded, 3, func(r *trace.Record) { r.Detail = "eof" })
	return out
}

// TestServerExpectations: each holds where it is true and, changed, does not and says what was there instead.
func TestServerExpectations(t *testing.T) {
	for _, tc := range []struct {
		e    trace.Expectation
		args string
		got  string // empty: it holds; else part of what was seen
	}{
		{trace.ExpectAnswer, "n=1;status=401", ""},
		{trace.ExpectAnswer, "n=1;status=400 or 401", ""},
		{trace.ExpectAnswer, "n=1;status=40", "status 401"},
		{trace.ExpectAnswer, "n=9;status=401", "3 requests, none of them with that answer"},
		{trace.ExpectAnswer, `n=1;status=401;body={"error":"no","n":{"a":1,"b":null},"t":"x"}`, ""},
		{trace.ExpectAnswer, `n=1;body={"error":"no"}`, `body "{\"error\"`},
		{trace.ExpectAnswer, `n=1;member=error;value="no"`, ""},
		{trace.ExpectAnswer, `n=1;member=error;value=no`, `error "no"`},
		{trace.ExpectAnswer, `n=1;member=n.a;value=1`, ""},
		{trace.ExpectAnswer, `n=1;member=n.a;value=a number`, ""},
		{trace.ExpectAnswer, `n=1;member=n.b;value=null`, ""},
		{trace.ExpectAnswer, `n=1;member=n.b;value=a number`, "n.b null"},
		{trace.ExpectAnswer, `n=1;member=n.b;value=absent`, "n.b null"},
		{trace.ExpectAnswer, `n=1;member=n.c;value=absent`, ""},
		{trace.ExpectAnswer, `n=1;member=t.x;value=absent`, ""},
		{trace.ExpectAnswer, `n=1;member=t;value=a text`, ""},
		{trace.ExpectAnswer, `n=1;member=n.a;value=a text`, "n.a 1"},
		{trace.ExpectAnswer, "n=1;header=Content-Type;value=application/json", ""},
		{trace.ExpectAnswer, "n=1;header=Content-Type;value=application", "header Content-Type application/json"},
		{trace.ExpectAnswer, "n=1;header=Retry-After;value=absent", ""},
		{trace.ExpectAnswer, "n=1;header=Content-Type;value=absent", "header Content-Type application/json"},
		{trace.ExpectAnswer, "n=1;media=application/json", ""},
		{trace.ExpectAnswer, "n=1;media=text/event-stream", `Content-Type "application/json"`},
		{trace.ExpectAnswer, "n=1;with=null", ""},
		{trace.ExpectAnswer, "n=1;with=nil", "body"},
		{trace.ExpectAnswer, "n=1;without=nil", ""},
		{trace.ExpectAnswer, "n=1;without=null", "body"},
		{trace.ExpectHeard, "n=2;what=wake;count=2", ""},
		{trace.ExpectHeard, "n=2;what=wake;max=1", "2"},
		{trace.ExpectHeard, "n=3;what=wake;count=0", ""},
		{trace.ExpectHeard, "n=2;what=state;min=2", "1"},
		{trace.ExpectHeard, "n=2;what=wake;member=id;value=2", ""},
		{trace.ExpectHeard, "n=2;what=wake;member=id;value=1", "the last with 2"},
		{trace.ExpectHeard, "n=3;what=wake;member=id;value=absent", "0 of them"},
		{trace.ExpectBegan, "n=2;with=retry 5000, state", ""},
		{trace.ExpectBegan, "n=2;with=retry 3000, state", "retry 5000, state"},
		{trace.ExpectBegan, "n=2;with=state", "retry"},
		{trace.ExpectBegan, "n=3;with=retry, state, wake", "retry, state"},
		{trace.ExpectBegan, "n=1;with=retry", "nothing"},
		{trace.ExpectStream, "n=2;is=open", ""},
		{trace.ExpectStream, "n=2;is=over", "open"},
		{trace.ExpectStream, "n=3;is=over", ""},
		{trace.ExpectStream, "n=1;is=open", "not there"},
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
		s := evaluators[tc.e](prefix(examination()), args)
		if s.holds != (tc.got == "") || !strings.Contains(s.got, tc.got) || s.want == "" {
			t.Errorf("%s %s: holds %v, wanted %q, saw %q; want %q", tc.e, tc.args, s.holds, s.want, s.got, tc.got)
		}
	}
}
