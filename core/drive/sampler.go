package drive

import (
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
)

// After says what a sample of telemetry follows.
type After string

// What samples follow (facts 5.6).
const (
	AfterSubscribe After = "subscribe" // an attempt to connect began
	AfterResult    After = "result"    // at least one event was decided
	AfterSave      After = "save"      // the store answered for a position whose event was answered before, or given up
	AfterHeartbeat After = "heartbeat"
	AfterReconnect After = "reconnect" // the next attempt was scheduled
	AfterStop      After = "stop"      // the end, on the caller's or the server's wish: the last sample
	AfterFailure   After = "failure"   // any other end: the last sample
)

// Input tells a Sampler what its session cannot be asked.
type Input uint8

// The inputs that a Sampler has to be told.
const (
	AnyInput       Input = iota
	HeartbeatInput       // a transport.Heartbeat of the connection that counts
	SavedInput           // session.Saved
)

// Sampler decides after which inputs of a session a sample is due. Both drivers use it, so that they give the same. Its
// zero value is ready.
type Sampler struct {
	bound    *checkpoint.Context // what the held position belongs to; never changed in place
	accepted uint64
	waited   session.Epoch // whose end was sampled
	over     bool
	out      []Moment
}

// After looks at s after one input, which must be every input of s, in order; due is what Take said. ctx is the resume
// context now in force. The moments are valid until the next call; nothing follows a stop or a failure.
func (m *Sampler) After(s Loop, ctx *checkpoint.Context, now session.Now, due *session.Due, in Input) []Moment {
	if m.over {
		return nil
	}
	m.out = m.out[:0]
	st := s.State()
	if m.bound == nil || st.Accepted != m.accepted {
		m.bind(ctx, s.SourceVersion())
		m.accepted = st.Accepted
	}
	ob := s.Observe(now)
	if due.End != nil {
		m.over = true
		why := AfterFailure
		if due.End.Cause == session.ByCaller || due.End.Cause == session.ServerStop && due.End.Reason == event.None {
			why = AfterStop
		}
		m.add(why, s, now, &st, &ob)
		return m.out
	}
	if decided(due.Resolved) {
		m.add(AfterResult, s, now, &st, &ob)
	} else if in == SavedInput {
		m.add(AfterSave, s, now, &st, &ob)
	}
	if in == HeartbeatInput {
		m.add(AfterHeartbeat, s, now, &st, &ob)
	}
	if ob.Link == session.LinkWaiting && ob.Epoch != m.waited {
		m.waited = ob.Epoch
		m.add(AfterReconnect, s, now, &st, &ob)
	}
	if due.Connect != nil {
		m.add(AfterSubscribe, s, now, &st, &ob)
	}
	return m.out
}

// bind takes over what a position accepted now belongs to. A version or scope that the server or the credential source
// names later does not: what is held stays bound to the old one, as its record does (D-33, D-41).
func (m *Sampler) bind(ctx *checkpoint.Context, version string) {
	in := *ctx
	in.SourceVersion = version
	if m.bound == nil || *m.bound != in {
		m.bound = &in
	}
}

func (m *Sampler) add(why After, s Loop, now session.Now, st *gate.State, ob *session.Observation) {
	held, has := s.Held()
	a := Moment{
		After: why, Mono: now.Mono, state: *st, held: held, has: has, context: m.bound, ids: s.RecentIDCount(),
		status: ob.Status, retries: ob.ReconnectAttempt,
	}
	if ob.Ending != nil {
		a.ending = ob.Ending.Cause
	}
	m.out = append(m.out, a)
}

// decided says whether one of the events was answered by the gate's rules and not given up.
func decided(all []gate.Delivery) bool {
	for _, d := range all {
		if d.Status != gate.Dropped {
			return true
		}
	}
	return false
}

// Moment is what a session showed after one input: quick to take, to be made into a Sample where nobody waits for it.
type Moment struct {
	After After
	Mono  time.Duration // Now of the input

	state   gate.State
	held    gate.Held
	has     bool
	context *checkpoint.Context
	ids     int
	status  session.Status
	retries int
	ending  session.Cause
}

// Sample redacts m and judges it by the clock of the same moment.
func (m *Moment) Sample(at checkpoint.Clock) Sample {
	out := Sample{
		After: m.After, Phase: m.state.Phase, Reason: m.state.Reason, Observation: m.status, Ending: m.ending,
		ReconnectAttempt: m.retries, Accepted: m.state.Accepted, Duplicates: m.state.Duplicates, Gaps: m.state.Gaps,
		Overflows: m.state.Overflows, Persisted: m.state.Persisted,
	}
	if !m.has {
		out.Authority = checkpoint.Derive(m.state.Phase.String(), nil, at)
		return out
	}
	held := Checkpoint(*m.context, m.held, nil)
	out.Authority = checkpoint.Derive(m.state.Phase.String(), &held, at)
	if shown, err := held.Redact(); err == nil {
		shown.IDs = m.ids
		out.Checkpoint = &shown
	}
	return out
}
