package trace

// What Canonical leaves out, and why (D-65). Everything else is kept; a test changes each member of a record and holds the
// answer against these lists.

// drop is a member of a record that says nothing about the contract, in lanes of wall time only or in all.
type drop struct {
	member string // name of the member in Record
	exact  bool   // dropped in the virtual lane as well
	why    string
	clear  func(r *Record)
}

var drops = []drop{
	{"N", true, "the place among the records of other actors; renumbered within the stream", nil},
	{"T", false, "wall time differs from run to run", func(r *Record) { r.T = 0 }},
	{"Pending", false, "how many events wait depends on where the batches were cut", func(r *Record) { r.Pending = 0 }},
}

// dropKinds are records that come and go with the wall clock; dropped in lanes of wall time.
var dropKinds = []struct {
	actor  Actor
	kind   Kind
	status string
	why    string
}{
	{Session, SessionSignal, "heartbeat", "how many signs of life fit between two events depends on the machine"},
	{Server, ServerReceived, "ping", "how many signs of life a client gives depends on the machine"},
	{Server, ServerReceived, "pong", "as many as pings were sent, which depends on the machine"},
	{Stage, StageSlow, "", "a late timer is a fact about the machine"},
}

// hangUp is what stands for both ends of a connection that was not cut, in lanes of wall time: whether the server that is
// done or the client that wants no more hangs up first is a race, and so is the reason that the server gives.
const hangUp = "over"

// dropHangUp makes the two ends equal.
func dropHangUp(r *Record) {
	if r.Actor == Server && r.Kind == ServerClosed && (r.Detail == "eof" || r.Detail == "gone") {
		r.Detail, r.Args = hangUp, nil
	}
}

// dropStates keeps of each gate's state records only the last one, in lanes of wall time: the gate decides as much as is
// queued before it shows a state, so what it shows between depends on where the batches were cut. Deliveries carry each
// outcome and reason; the last state has the counts.
func dropStates(records []Record) []Record {
	out := make([]Record, 0, len(records))
	last := -1 // place in out of this gate's state
	for _, r := range records {
		switch {
		case r.Actor == Gate && r.Kind == GateStart:
			last = -1
		case r.Actor == Gate && r.Kind == GateState:
			if last >= 0 {
				out = append(out[:last], out[last+1:]...)
			}
			last = len(out)
		}
		out = append(out, r)
	}
	return out
}

// dropArgs are arguments that name the machine or the moment; dropped in all lanes.
var dropArgs = map[string]string{
	"pid":   "process number",
	"port":  "chosen by the kernel",
	"addr":  "holds a port",
	"wall":  "wall time",
	"rss":   "memory of a process",
	"chunk": "where the network cut the bytes",
	"batch": "where the plugin flushed",
}
