package trace

// The kinds, by actor. A judge reads nothing else.
const (
	// Gate inputs. The oracle replays them.
	GateStart   Kind = "start"              // Phase, Reason, Detail, Persisted, Seq and positions held; Args: maxPending, maxIDs, saves, saveEvery
	GateEnqueue Kind = "enqueue"            // Ticket, Type, Merge, Seq, ID, positions; Reason with type malformed
	GateApplied Kind = "applied"            // Reason consumer-failed if the consumer failed
	GateSaved   Kind = "saved"              // Reason checkpoint-save-failed if the save failed
	GateRequire Kind = "require-resnapshot" // Reason, Detail
	GateRefresh Kind = "refresh"            // Seq, positions: a newer form of the held one (D-28)
	GateFail    Kind = "fail"               // Reason
	GateClose   Kind = "close"              // Reason
	// Gate outputs. The oracle must agree with them.
	GateDelivery Kind = "delivery" // Ticket, Status, Reason, Seq
	GateApply    Kind = "apply"    // Ticket is 0; Type, Seq, ID: handed to the consumer
	GateSave     Kind = "save"     // Seq: handed to the store
	GateAbort    Kind = "abort"
	GateState    Kind = "state" // Phase and the counters, when they changed

	SessionConnect Kind = "connect" // Epoch; Seq and positions sent, NoSeq for a snapshot
	// SessionSignal: Epoch, Status = signal kind, Reason, Detail, Ms. Of refreshed: Seq, positions; of polled: Seq, Ms until the next one,
	// Args: changed, upserts, deletes. Of a lane: wake-stated, Args: armed, armedForViewer, identities, reason, subscription; woken, Seq: its
	// log id, ID, Reason: why it does not count, Args: subscription; caught-up, Seq: mark, Reason, Args: state, pending.
	SessionSignal   Kind = "signal"
	SessionVouched  Kind = "vouched"  // Epoch
	SessionWait     Kind = "wait"     // Ms: back-off until the next attempt
	SessionHangup   Kind = "hangup"   // Epoch, Detail
	SessionDropped  Kind = "dropped"  // Epoch: an older connection spoke
	SessionObserved Kind = "observed" // Status: fresh, unconfirmed, paused-by-consumer
	SessionEnd      Kind = "end"      // Status = ending, Reason, Detail
	// SessionLane: what a fleet-wake lane shows from here on. Status: alive, unknown; Detail: why; Args: mark, wakes, dropped, dropped-as,
	// drops, floor, subscription; catchUp, pending (null: not known), catchUp-reason; delivery, failure and their reasons.
	SessionLane Kind = "lane"

	ConsumerSaw    Kind = "saw"    // Type, Seq, ID; Args: rows (digest of the materialized state after it)
	ConsumerFailed Kind = "failed" // Seq

	StoreLoad   Kind = "load"  // Status: record, nothing, discarded; Reason, Seq
	StoreSave   Kind = "write" // Seq; Reason if it failed
	StoreForget Kind = "forget"
	StoreHeld   Kind = "held"   // Status: record, nothing, unread; Seq: what a second reader finds in the store itself, whatever the store said of its writes
	StoreReport Kind = "report" // Status: load, save; Reason: what the store could not do, in the words of its diagnostic

	// Records of one connection name its wire in Args: wire (websocket, odata); where it is not named it is sse.
	ServerPublish Kind = "publish" // Seq; Args: rows (digest of the feed's state at Seq)
	ServerTrim    Kind = "trim"    // Seq: oldest kept
	ServerRestart Kind = "restart" // Seq: new head; Detail: new epoch
	ServerRequest Kind = "request" // Epoch = n-th connection; Status = HTTP status answered; Seq resumed from, NoSeq for a snapshot request; Cursor digest
	ServerSent    Kind = "sent"    // Epoch = n-th connection; Type, Seq, ID: handed to the network in whole
	// ServerReceived: Epoch = n-th connection; Status: what the client said behind an upgrade: text, binary, ping, pong, close, or
	// violation; Detail: a length, the close code, or the violation's name. The bytes are not kept.
	ServerReceived Kind = "received"
	ServerFault    Kind = "fault"  // Detail: name of the fault that struck
	ServerArmed    Kind = "armed"  // Reason: how an attempt to arm wakes came out; Args: identity
	ServerClosed   Kind = "closed" // Epoch = n-th connection, Detail: eof, cut, reset, gone (the client left)

	PluginStarted  Kind = "started"
	PluginExited   Kind = "exited"   // Detail: exit status or signal
	PluginRefused  Kind = "refused"  // Detail
	PluginMeasured Kind = "measured" // Args: what was measured

	// What an examiner does to a server, and what comes back. Epoch = n-th request of the scenario, streams among them.
	ExaminerAsked    Kind = "asked"    // Args: who, method, path, and what is odd about it; never a credential
	ExaminerAnswered Kind = "answered" // Status: HTTP status, tool or tool-error for a tool's answer, none if the connection ended without one; Detail: its body, if it is no stream; Args: its headers
	ExaminerHeard    Kind = "heard"    // Type, ID, Seq: something whole on a stream; Detail: its data
	ExaminerEnded    Kind = "ended"    // Detail: eof or broken (the server's doing), left (the examiner's)
	ExaminerHook     Kind = "hook"     // Detail: what a hook of the subject was made to do; Args: for whom

	StageSetup  Kind = "setup"  // Args
	StageStep   Kind = "step"   // Detail: the step's text
	StageExpect Kind = "expect" // Status = name of the expectation (expect.go), Args; judged at this place of the trace
	StageLate   Kind = "late"   // a wait ran out: Detail says what for, Ms how long
	StageSlow   Kind = "slow"   // the runner's own timer was late by Ms: the witness without which nothing is inconclusive (D-60)
	StageBroken Kind = "broken" // the harness failed: Detail
)
