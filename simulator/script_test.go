package simulator

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/simulator/strict"
)

// TestScripts plays the transcripts under testdata/scripts: what is done to a simulator, and every byte and record that comes
// out of it. They read like the fault table of the documentation; -rewrite writes them anew.
func TestScripts(t *testing.T) {
	struck := map[string]bool{}
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var r *rig
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				r = newRig(t, scriptOptions(t, d))
				return script(r)
			}
			runScript(t, r, d)
			out := script(r)
			for name := range r.sim.State().Struck {
				struck[name] = true
			}
			return out
		})
	})
	for _, f := range Faults() {
		if !struck[f.Name] {
			t.Errorf("fault %s strikes in no transcript", f.Name)
		}
	}
}

func script(r *rig) string {
	out := r.log.String()
	r.log.Reset()
	return out
}

func runScript(t *testing.T, r *rig, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "fault":
		n, err := strict.ParseYAML([]byte(d.Input), MaxScheduleBytes)
		if err != nil {
			t.Fatal(err)
		}
		f, err := FaultFrom(n)
		if err != nil {
			t.Fatal(err)
		}
		r.must(r.sim.Add(r.clock(), f))
	case "get":
		r.credential = text(d, "auth")
		r.get("/stream?sourceId=incidents"+text(d, "query"), text(d, "from"))
	case "ws":
		r.credential = text(d, "auth")
		headers := map[string]string{}
		for _, line := range strings.Split(d.Input, "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok {
				headers[name] = strings.TrimSpace(value)
			}
		}
		target := "/ws?sourceId=incidents" + text(d, "query")
		if from := text(d, "from"); from != "" {
			target += "&cursor=" + from
		}
		r.dial(target, headers)
	case "odata":
		odataCommand(t, r, d)
	case "say":
		for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			b, err := said(line)
			if err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			r.say(Conn(number1(t, d, "conn")), b)
		}
	case "publish":
		kind := text(d, "kind")
		if kind == "" {
			kind = AutoUpsert
		}
		r.publish(kind, max(number1(t, d, "n"), 1))
	case "trim":
		r.must(r.sim.Trim(r.clock(), number1(t, d, "keep")))
	case "retain":
		r.must(r.sim.Retain(r.clock(), number1(t, d, "k")))
	case "restart":
		head := event.NoSeq
		if d.HasArg("head") {
			head = event.Seq(number1(t, d, "head"))
		}
		err := r.sim.Restart(r.clock(), Restart{Head: head, Epoch: d.HasArg("epoch"), As: CloseKind(text(d, "as"))})
		if err != nil {
			r.log.WriteString("error: " + err.Error() + "\n")
		}
		r.drain()
	case "pause":
		r.sim.Pause(r.clock())
		r.drain()
	case "resume":
		r.sim.Resume(r.clock())
		r.drain()
	case "wait":
		r.advance(time.Duration(number1(t, d, "ms")) * time.Millisecond)
	case "gone":
		r.sim.Gone(r.clock(), Conn(number1(t, d, "conn")))
		r.drain()
	case "stop-reading":
		r.hold = true
	case "read":
		r.hold = false
		for c := Conn(1); c <= r.conns; c++ {
			r.written(c)
		}
	default:
		t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	}
}

func scriptOptions(t *testing.T, d *datadriven.TestData) Options {
	opt := Options{Head: event.Seq(number1(t, d, "head")), Rows: 1, Retention: number1(t, d, "retention"), QueueEvents: number1(t, d, "queue"),
		Expiry: text(d, "expiry"), Vouch: text(d, "vouch"), CursorIn: text(d, "cursor"), IDIs: text(d, "id"), Connections: number1(t, d, "connections"),
		Heartbeat: -1, HeartbeatAs: text(d, "heartbeatAs"), RetryHint: time.Duration(number1(t, d, "retryMs")) * time.Millisecond,
		Stall: time.Duration(number1(t, d, "stallMs")) * time.Millisecond}
	opt.ODataVersion, opt.ODataRemoved, opt.ODataRejected = text(d, "odataVersion"), text(d, "removed"), text(d, "rejected")
	opt.ODataLocation, opt.ODataAnnotations = text(d, "location"), text(d, "annotations")
	opt.ODataPageSize, opt.ODataCycles, opt.ODataPageBytes = number1(t, d, "pageSize"), number1(t, d, "cycles"), int64(number1(t, d, "pageBytes"))
	if d.HasArg("rows") {
		opt.Rows = number1(t, d, "rows")
	}
	opt.Watermark = text(d, "watermark")
	opt.Subscribe, opt.Deflate = text(d, "subscribe"), text(d, "deflate")
	opt.CloseWait = time.Duration(number1(t, d, "closeWaitMs")) * time.Millisecond
	if d.HasArg("subprotocols") {
		opt.Subprotocols = strings.Split(text(d, "subprotocols"), ",")
	}
	if d.HasArg("accepts") {
		opt.Accepts = strings.Split(text(d, "accepts"), ",")
	}
	if d.HasArg("heartbeatMs") {
		opt.Heartbeat = time.Duration(number1(t, d, "heartbeatMs")) * time.Millisecond
	}
	return opt
}

func text(d *datadriven.TestData, name string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			return strings.Join(a.Vals, ",")
		}
	}
	return ""
}

func number1(t *testing.T, d *datadriven.TestData, name string) int {
	s := text(d, name)
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %s=%s is no number", d.Pos, name, s)
	}
	return n
}
