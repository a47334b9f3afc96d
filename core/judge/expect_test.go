package judge

import (
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/trace"
)

// long is a story with a record of every kind that an expectation reads.
func long(t *testing.T) *story {
	t.Helper()
	s := newStory(t).publish(5).client(event.NoSeq, gate.Config{Saves: true})
	put := func(actor trace.Actor, kind trace.Kind, fill func(*trace.Record)) {
		s.put(trace.New(actor, kind), fill)
	}
	put(trace.Plugin, trace.PluginStarted, nil)
	put(trace.Store, trace.StoreLoad, func(r *trace.Record) { r.Status = "nothing" })
	put(trace.Session, trace.SessionConnect, func(r *trace.Record) { r.Epoch = 1 })
	s.request(1, event.NoSeq, "200").send(event.Snapshot, 5)
	put(trace.Session, trace.SessionObserved, func(r *trace.Record) { r.Status = "fresh" })
	s.publish(6).send(event.Upsert, 6).send(event.Upsert, 6)
	put(trace.Server, trace.ServerClosed, func(r *trace.Record) { r.Epoch, r.Detail = 1, "cut" })
	put(trace.Session, trace.SessionWait, func(r *trace.Record) { r.Ms = 300 })
	s.now = 1000
	s.request(2, 6, "503").fault("status").fault("status")
	put(trace.Server, trace.ServerReceived, func(r *trace.Record) { r.Epoch, r.Status = 2, "pong" })
	put(trace.Server, trace.ServerReceived, func(r *trace.Record) { r.Epoch, r.Status, r.Detail = 2, "close", "1002" })
	put(trace.Session, trace.SessionWait, func(r *trace.Record) { r.Ms = 700 })
	put(trace.Session, trace.SessionObserved, func(r *trace.Record) { r.Status = "unconfirmed" })
	put(trace.Plugin, trace.PluginMeasured, func(r *trace.Record) { r.Args = map[string]string{"rss": "1200", "env HOME": ""} })
	put(trace.Plugin, trace.PluginExited, func(r *trace.Record) { r.Detail = "signal: killed" })
	put(trace.Session, trace.SessionEnd, func(r *trace.Record) { r.Status, r.Reason, r.Detail = "refused", "closed", "status 403" })
	return s
}

// TestExpectations: each expectation holds where it is true and, changed, does not and says what was there instead.
func TestExpectations(t *testing.T) {
	for _, tc := range []struct {
		e    trace.Expectation
		args string
		got  string // empty: it holds; else part of what was seen
	}{
		{trace.ExpectConsumerSaw, "events=snapshot 5, upsert 6", ""},
		{trace.ExpectConsumerSaw, "events=snapshot 5", "snapshot 5, upsert 6"},
		{trace.ExpectConsumerSaw, "events=", "snapshot 5, upsert 6"},
		{trace.ExpectConsumerSaw, "events=snapshot 5, delta 6", "snapshot 5, upsert 6"},
		{trace.ExpectConsumerNotSaw, "seq=7", ""},
		{trace.ExpectConsumerNotSaw, "seq=6", "consumer saw upsert seq=6"},
		{trace.ExpectConsumerNotSaw, "id=e7", ""},
		{trace.ExpectConsumerNotSaw, "id=e6", "consumer saw upsert seq=6"},
		{trace.ExpectDelivery, "event=upsert 6;status=applied", ""},
		{trace.ExpectDelivery, "event=upsert 6;status=duplicate;reason=", ""},
		{trace.ExpectDelivery, "id=e6;status=duplicate", ""},
		{trace.ExpectDelivery, "event=upsert 6;status=error", "applied, duplicate"},
		{trace.ExpectDelivery, "event=upsert 6;status=duplicate;reason=closed", "applied, duplicate"},
		{trace.ExpectDelivery, "event=upsert 7;status=applied", "never answered"},
		{trace.ExpectPhase, "phase=live", ""},
		{trace.ExpectPhase, "phase=live;reason=", ""},
		{trace.ExpectPhase, "phase=live;reason=closed", "phase live"},
		{trace.ExpectPhase, "phase=closed", "phase live"},
		{trace.ExpectPhase, "phase=live;detail=x", "phase live"},
		{trace.ExpectCounts, "accepted=2;duplicates=1;gaps=0;overflows=0", ""},
		{trace.ExpectCounts, "accepted=2;duplicates=2", "1 duplicates"},
		{trace.ExpectPersisted, "value=true", ""},
		{trace.ExpectPersisted, "value=false", "persisted true"},
		{trace.ExpectRequests, "count=2", ""},
		{trace.ExpectRequests, "count=1", "2 requests"},
		{trace.ExpectRequests, "min=2;max=2", ""},
		{trace.ExpectRequests, "max=1", "2 requests"},
		{trace.ExpectRequests, "min=3", "2 requests"},
		{trace.ExpectRequest, "n=1;from=snapshot;status=200", ""},
		{trace.ExpectRequest, "n=2;from=6", ""},
		{trace.ExpectRequest, "n=2;from=5", "from 6 answered with 503"},
		{trace.ExpectRequest, "n=2;from=snapshot", "from 6"},
		{trace.ExpectRequest, "n=2;status=200", "answered with 503"},
		{trace.ExpectRequest, "n=3;status=200", "2 requests"},
		{trace.ExpectRequest, "n=0;status=200", "2 requests"},
		{trace.ExpectRequest, "n=1;status=accepted", ""},
		{trace.ExpectRequest, "n=2;status=accepted", "answered with 503"},
		{trace.ExpectReceived, "what=pong", ""},
		{trace.ExpectReceived, "what=close;detail=1002;count=1", ""},
		{trace.ExpectReceived, "what=close;detail=1001", "close 1002"},
		{trace.ExpectReceived, "what=close;count=0", "close 1002"},
		{trace.ExpectReceived, "what=ping;count=0", ""},
		{trace.ExpectReceived, "what=ping", "0: "},
		{trace.ExpectResumeTries, "seq=6;count=1", ""},
		{trace.ExpectResumeTries, "seq=6;count=2", "1"},
		{trace.ExpectElapsed, "from=request 1;to=request 2;min=1000;max=1000", ""},
		{trace.ExpectElapsed, "from=closed 1;to=request 2;min=1001", "1000 ms"},
		{trace.ExpectElapsed, "from=request 1;to=request 2;max=999", "1000 ms"},
		{trace.ExpectElapsed, "from=request 1;to=request 3;max=999", "request 3 has not happened"},
		{trace.ExpectElapsed, "from=connect 1;to=request 2;min=1000;max=1000", ""},
		{trace.ExpectElapsed, "from=connect 1;to=request 2;min=1001", "1000 ms"},
		{trace.ExpectElapsed, "from=connect 2;to=request 2;max=999", "connect 2 has not happened"},
		{trace.ExpectElapsed, "from=closed 2;to=request 2;max=999", "closed 2 has not happened"},
		{trace.ExpectFaultStruck, "name=status", ""},
		{trace.ExpectFaultStruck, "name=status;count=2", ""},
		{trace.ExpectFaultStruck, "name=status;count=1", "2 times"},
		{trace.ExpectWait, "n=1;ms=300", ""},
		{trace.ExpectWait, "n=2;min=700;max=700", ""},
		{trace.ExpectWait, "n=2;ms=300", "700 ms"},
		{trace.ExpectWait, "n=2;min=701", "700 ms"},
		{trace.ExpectWait, "n=3;ms=1", "2 waits"},
		{trace.ExpectObservation, "status=unconfirmed", ""},
		{trace.ExpectObservation, "status=fresh", "unconfirmed"},
		{trace.ExpectEnding, "status=refused", ""},
		{trace.ExpectEnding, "status=refused;reason=closed;detail=403", ""},
		{trace.ExpectEnding, "status=refused;detail=401", "status 403"},
		{trace.ExpectEnding, "status=refused;reason=x", "refused closed"},
		{trace.ExpectEnding, "status=server-stop", "refused"},
		{trace.ExpectEnding, "status=an error", ""},
		{trace.ExpectEnding, "status=an error;detail=401", "status 403"},
		{trace.ExpectRunning, "", "it ended as refused"},
		{trace.ExpectStored, "seq=6", ""},
		{trace.ExpectStored, "seq=5", "6"},
		{trace.ExpectStored, "seq=nothing", "6"},
		{trace.ExpectStateOf, "seq=6", ""},
		{trace.ExpectStateOf, "seq=5", "rows-6 after upsert 6"},
		{trace.ExpectStateOf, "seq=9", "the feed's rows are not in the trace"},
		{trace.ExpectConverged, "", ""},
		{trace.ExpectPluginStarts, "count=1", ""},
		{trace.ExpectPluginStarts, "count=2", "1"},
		{trace.ExpectPluginExit, "detail=killed", ""},
		{trace.ExpectPluginExit, "detail=status 1", "signal: killed"},
		{trace.ExpectMeasured, "name=rss;max=1200;min=1200", ""},
		{trace.ExpectMeasured, "name=rss;max=1199", "1200"},
		{trace.ExpectMeasured, "name=rss;min=1201", "1200"},
		{trace.ExpectMeasured, "name=rss;equals=1200", ""},
		{trace.ExpectMeasured, "name=env HOME;equals=", ""},
		{trace.ExpectMeasured, "name=env HOME;equals=x", `""`},
		{trace.ExpectMeasured, "name=env HOME;max=5", `""`},
	} {
		args := map[string]string{}
		for part := range strings.SplitSeq(tc.args, ";") {
			if name, value, ok := strings.Cut(part, "="); ok {
				args[name] = value
			}
		}
		if err := trace.CheckExpect(tc.e, args); err != nil {
			t.Fatal(err)
		}
		s := evaluators[tc.e](prefix(long(t).log.Records()), args)
		switch {
		case s.holds != (tc.got == ""):
			t.Errorf("%s %s: holds %v, seen %q", tc.e, tc.args, s.holds, s.got)
		case !s.holds && (!strings.Contains(s.got, tc.got) || s.want == ""):
			t.Errorf("%s %s: expected %q, seen %q, want %q", tc.e, tc.args, s.want, s.got, tc.got)
		}
	}
}

// TestExpectationsOfNothing: on an empty trace nothing holds but what speaks of absence, and nothing panics.
func TestExpectationsOfNothing(t *testing.T) {
	for e, eval := range evaluators {
		args := map[string]string{}
		for _, name := range trace.Arguments(e) {
			args[name] = "1"
		}
		for name, value := range map[string]string{"events": "snapshot 1", "event": "snapshot 1", "from": "request 1", "to": "closed 1", "value": "true"} {
			if _, ok := args[name]; ok {
				args[name] = value
			}
		}
		s := eval(nil, args)
		absent := e == trace.ExpectRunning || e == trace.ExpectConsumerNotSaw
		if s.holds != absent {
			t.Errorf("%s holds: %v", e, s.holds)
		}
	}
}

// TestMissingIsNotExercised: a fault that did not strike and a thing that nobody measured mean that the path did not happen.
func TestMissingIsNotExercised(t *testing.T) {
	p := prefix(long(t).log.Records())
	for _, s := range []seen{
		faultStruck(p, map[string]string{"name": "gap"}),
		faultStruck(p, map[string]string{"name": "status", "count": "3"}),
		measured(p, map[string]string{"name": "cpu", "max": "1"}),
	} {
		if s.holds || s.check != Exercised {
			t.Errorf("%+v", s)
		}
	}
	if s := faultStruck(p, map[string]string{"name": "status", "count": "1"}); s.check == Exercised {
		t.Error("more often than said is a failure")
	}
}

// TestExpectationIsJudgedAtItsPlace: what happens later changes nothing.
func TestExpectationIsJudgedAtItsPlace(t *testing.T) {
	s := newStory(t).publish(5).client(event.NoSeq, gate.Config{})
	s.expect(trace.ExpectConsumerSaw, "events", "")
	s.request(1, event.NoSeq, "200").send(event.Snapshot, 5)
	s.expect(trace.ExpectConsumerSaw, "events", "snapshot 5")
	s.publish(6).send(event.Upsert, 6)
	if f := expectations(s.log.Records()); len(f) > 0 {
		t.Errorf("%+v", f)
	}
}

// TestAcceptedByWire: what a request that got what it asked for is answered with depends on its wire, and an ending that somebody asked
// for is no error.
func TestAcceptedByWire(t *testing.T) {
	for _, tc := range []struct {
		wire, status string
		holds        bool
	}{{"", "200", true}, {"", "101", false}, {"websocket", "101", true}, {"websocket", "200", false}, {"odata", "200", true}, {"odata", "503", false}} {
		r := trace.New(trace.Server, trace.ServerRequest)
		r.Epoch, r.Status, r.Args = 1, tc.status, map[string]string{"wire": tc.wire}
		if s := evaluators[trace.ExpectRequest](prefix{r}, map[string]string{"n": "1", "status": "accepted"}); s.holds != tc.holds {
			t.Errorf("%+v: %+v", tc, s)
		}
	}
	for _, status := range []string{"by-caller", "server-stop"} {
		r := trace.New(trace.Session, trace.SessionEnd)
		r.Status = status
		if s := evaluators[trace.ExpectEnding](prefix{r}, map[string]string{"status": "an error"}); s.holds {
			t.Errorf("%s counts as an error", status)
		}
	}
}

// TestStoredNeedsTwo: what the client was told of its writes is not enough where somebody looked into the store itself; a look before
// the last write says nothing about it.
func TestStoredNeedsTwo(t *testing.T) {
	put := func(status string, seq event.Seq) trace.Record {
		r := trace.New(trace.Store, trace.StoreHeld)
		r.Status, r.Seq = status, seq
		return r
	}
	write := trace.New(trace.Store, trace.StoreSave)
	write.Seq = 6
	for name, tc := range map[string]struct {
		records []trace.Record
		seq     string
		got     string // empty: it holds
	}{
		"nobody looked":     {[]trace.Record{write}, "6", ""},
		"both agree":        {[]trace.Record{write, put("record", 6)}, "6", ""},
		"told only":         {[]trace.Record{write, put("record", 5)}, "6", "6 as the client was told, 5 in the store itself"},
		"held only":         {[]trace.Record{write, put("record", 5)}, "5", "6 as the client was told, 5 in the store itself"},
		"nothing there":     {[]trace.Record{write, put("nothing", event.NoSeq)}, "6", "6 as the client was told, nothing in the store itself"},
		"nobody could look": {[]trace.Record{write, put("unread", event.NoSeq)}, "6", "6 as the client was told, unread in the store itself"},
		"looked too early":  {[]trace.Record{put("record", 5), write}, "6", ""},
		"only a look":       {[]trace.Record{put("record", 6)}, "6", "no record of the store"},
	} {
		for i := range tc.records {
			tc.records[i].N = i + 1
		}
		s := stored(tc.records, map[string]string{"seq": tc.seq})
		if s.holds != (tc.got == "") || !s.holds && s.got != tc.got {
			t.Errorf("%s: holds %v, got %q, want %q", name, s.holds, s.got, tc.got)
		}
	}
}
