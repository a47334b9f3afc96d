package trace

import "slices"

// byActor is which kinds an actor has. A test holds it against kinds.go.
var byActor = map[Actor][]Kind{
	Gate: {GateStart, GateEnqueue, GateApplied, GateSaved, GateRequire, GateRefresh, GateFail, GateClose,
		GateDelivery, GateApply, GateSave, GateAbort, GateState},
	Session: {SessionConnect, SessionSignal, SessionVouched, SessionWait, SessionHangup, SessionDropped, SessionObserved,
		SessionEnd, SessionLane},
	Consumer: {ConsumerSaw, ConsumerFailed},
	Store:    {StoreLoad, StoreSave, StoreForget, StoreHeld, StoreReport},
	Server:   {ServerPublish, ServerTrim, ServerRestart, ServerRequest, ServerSent, ServerReceived, ServerFault, ServerArmed, ServerClosed},
	Plugin:   {PluginStarted, PluginExited, PluginRefused, PluginMeasured},
	Examiner: {ExaminerAsked, ExaminerAnswered, ExaminerHeard, ExaminerEnded, ExaminerHook},
	Stage:    {StageSetup, StageStep, StageExpect, StageLate, StageSlow, StageBroken},
}

// Known says whether actor has records of kind.
func Known(actor Actor, kind Kind) bool { return slices.Contains(byActor[actor], kind) }

// GateInput says whether r is something that was done to the gate, as opposed to what the gate answered.
func (r *Record) GateInput() bool {
	if r.Actor != Gate {
		return false
	}
	switch r.Kind {
	case GateEnqueue, GateApplied, GateSaved, GateRequire, GateRefresh, GateFail, GateClose:
		return true
	}
	return false
}
