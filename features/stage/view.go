package stage

import (
	"strconv"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// View is what a wait may look at: a running fold over the trace. It only grows by records, so a condition is a question
// about the trace and not about the parts that wrote it.
type View struct {
	Head     event.Seq // of the feed
	Applied  event.Seq // last position that the gate accepted
	Phase    string
	Pending  int
	Applying bool // the consumer holds an event
	Saving   bool // the store holds a position
	Requests int
	Resolved int // deliveries
	Offered  int // events offered to the gate
	Required int // times that the gate was told that only a snapshot counts
	Waits    int
	Ended    bool
	Starts   int // of the plugin's process
	Exits    int
	Stopped  map[string]int // deliveries by reason
	Cuts     int            // connections that the server ended
	Closed   int            // connections that ended, whoever did it
	Heard    int            // what clients said behind an upgrade

	// Of a wake lane: what it shows, and polls that the server answered.
	Lane   string // alive, unknown
	Caught string // what became of this connection's catch-up
	Wakes  int    // that counted
	Unused int    // that did not
	Stated int    // state frames whose outcome the lane shows
	stated int    // state frames
	Polls  int

	// Up: a connection stands that goes on from a position the server vouched for, or that has brought its snapshot.
	Up    bool
	fresh bool   // the last attempt asked for a snapshot
	epoch uint32 // of the last attempt
}

// NewView is the view of an empty trace.
func NewView() *View {
	return &View{Head: event.NoSeq, Applied: event.NoSeq, Stopped: map[string]int{}}
}

// Add folds in one record.
func (v *View) Add(r *trace.Record) {
	switch r.Actor {
	case trace.Gate:
		v.gate(r)
	case trace.Session:
		v.session(r)
	case trace.Server:
		switch r.Kind {
		case trace.ServerPublish, trace.ServerRestart:
			v.Head = r.Seq
		case trace.ServerRequest:
			v.Requests++
		case trace.ServerSent:
			if r.Type == "poll-digest" {
				v.Polls++
			}
		case trace.ServerReceived:
			v.Heard++
		case trace.ServerClosed:
			v.Closed++
			if r.Detail != "gone" && r.Args["why"] != "client closed" { // of one that the client left it may be told late
				v.Cuts++
				v.Up = v.Up && r.Args["wire"] == simulator.OData // there an answer that ended is no connection that was lost
			}
		}
	case trace.Plugin:
		switch r.Kind {
		case trace.PluginStarted:
			v.Starts++
		case trace.PluginExited:
			v.Exits++
		}
	}
}

func (v *View) gate(r *trace.Record) {
	switch r.Kind {
	case trace.GateStart:
		*v = View{Head: v.Head, Requests: v.Requests, Starts: v.Starts, Exits: v.Exits, Cuts: v.Cuts, Closed: v.Closed, Heard: v.Heard, Polls: v.Polls,
			Applied: r.Seq, Stopped: map[string]int{}, Phase: r.Phase}
	case trace.GateEnqueue:
		v.Offered++
	case trace.GateRequire:
		v.Required++
	case trace.GateApply:
		v.Applying = true
	case trace.GateApplied:
		v.Applying = false
	case trace.GateSave:
		v.Saving = true
	case trace.GateSaved:
		v.Saving = false
	case trace.GateDelivery:
		v.Resolved++
		v.Stopped[r.Reason]++
		if r.Status == "applied" {
			v.Applied = r.Seq
			v.Up = v.Up || v.fresh
		}
	case trace.GateState:
		v.Phase, v.Pending = r.Phase, r.Pending
	}
}

func (v *View) session(r *trace.Record) {
	switch r.Kind {
	case trace.SessionConnect:
		v.Up, v.fresh, v.epoch = false, r.Seq == event.NoSeq, r.Epoch
	case trace.SessionVouched:
		v.Up = true
	case trace.SessionSignal:
		if r.Status == "wake-stated" {
			v.stated++ // counts when the lane shows what came of it
		}
		if r.Status == "recovering" { // a transport that polls asks for a snapshot by itself
			v.Up, v.fresh = false, true
		}
	case trace.SessionHangup:
		if r.Epoch == v.epoch { // of a hand-over the old connection goes, and the new one stays
			v.Up, v.fresh = false, false
		}
	case trace.SessionWait:
		v.Waits++
		v.Up, v.fresh = false, false
	case trace.SessionLane:
		v.Lane, v.Caught, v.Stated = r.Status, r.Args["catchUp"], v.stated
		v.Wakes, _ = strconv.Atoi(r.Args["wakes"])
		v.Unused, _ = strconv.Atoi(r.Args["dropped"])
	case trace.SessionEnd:
		v.Ended, v.Up = true, false
	}
}

// Settled says that the client is connected, at the feed's head, and owes nothing.
func (v *View) Settled() bool {
	return v.Up && (v.Phase == "live" || v.Phase == "resuming") && v.Applied == v.Head && v.Idle()
}

// Idle says that the gate has nothing pending.
func (v *View) Idle() bool {
	return v.Pending == 0 && !v.Applying && !v.Saving && v.Resolved == v.Offered
}
