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
	{Stage, StageSlow, "", "a late timer is a fact about the machine"},
}

// dropClosed says whether r is the end of a connection that was answered without a stream, in lanes of wall time: who hangs
// up first, the server that is done or the client that was refused, is a race. refused holds the connections whose answer
// was not 200.
func dropClosed(r *Record, refused map[uint32]bool) bool {
	return r.Actor == Server && r.Kind == ServerClosed && refused[r.Epoch]
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
