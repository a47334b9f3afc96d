package simulator

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// Spec describes one fault: what it does, when it may strike, what can be set. The table in docs/simulator.md and the help of
// `conform simulate` are made of these.
type Spec struct {
	Name   string
	Doc    string
	At     []string // triggers that it takes: connection, request, sequence, event, byte, ms; wire goes with connection
	Wires  []string // wires that know it; empty for all
	Params []Param
	build  func(args) any // makes an answerer, sender, idler or feeder, or several in one
}

// Param is one parameter of a fault.
type Param struct {
	Name    string
	Kind    string // integer, text, boolean, bytes (a text in which %0A is a line feed), escaped (one line in which %20 is a space), hex (bytes as hex digits)
	Doc     string
	Default string
	Min     int64 // of an integer
	Max     int64
	Values  []string // of a text; empty for any without line ends
}

// registry lists all faults, in the order of the documentation.
var registry = []*Spec{
	&gapFault, &duplicateFault, &lateFault, &staleSnapshotFault, &idReusedFault, &undecodableFault, &oversizeFault,
	&conflictFault, &otherCursorFault, &noPositionFault, &namedPositionFault, &mergeSnapshotFault,
	&gapNoticeFault, &authorizationEndedFault, &insertFault,
	&cursorExpiredFault, &resumeUnsupportedFault, &resumedFalseFault, &lyingResumeFault, &blindResumeFault, &headBehindFault, &noAnswerFault, &ignorePositionFault,
	&statusFault, &redirectFault, &mediaTypeFault, &credentialRequiredFault, &revokeFault, &unansweredFault,
	&silenceFault, &cutFault, &dripFault, &splitFault, &dialectFault,
	&closeFault, &closingSoonFault, &maskedFrameFault, &reservedBitFault, &badOpcodeFault, &binaryFault, &badUTF8Fault, &fragmentFault,
	&tornMessageFault, &strayContinuationFault, &bigPingFault, &noPongFault, &rawFault,
	&wrongAcceptFault, &wrongSubprotocolFault, &wrongExtensionFault, &wrongUpgradeFault,
	&bothLinksFault, &noLinksFault, &foreignLinkFault, &linkFormFault, &relationshipEntryFault, &anyOrderFault, &removedFormFault,
	&removedInSnapshotFault, &twiceInRoundFault, &backAndForthFault, &unknownTombstoneFault, &emptyPagesFault, &pagesDisagreeFault,
	&noSequenceFault, &freshTokenFault, &expiredInPagingFault, &locationFault, &expiredAsFault, &lostAfterRestartFault, &staleReplicaFault,
	&trimFault, &restartFault, &jumpFault,
}

// Faults lists every fault there is.
func Faults() []Spec {
	out := make([]Spec, len(registry))
	for i, s := range registry {
		out[i] = *s
	}
	return out
}

func specOf(name string) *Spec {
	for _, s := range registry {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// wires are the wires that the fault can strike; none for a fault of the feed.
func (s *Spec) wires() []string {
	switch {
	case !has(s.At, "connection"):
		return nil
	case s.Wires == nil:
		return WireNames()
	}
	return s.Wires
}

// triggers are all members that `at` may have.
func (s *Spec) triggers() []string {
	if has(s.At, "connection") {
		return append(slices.Clone(s.At), "wire")
	}
	return s.At
}

func (s *Spec) param(name string) *Param {
	for i := range s.Params {
		if s.Params[i].Name == name {
			return &s.Params[i]
		}
	}
	return nil
}

func unknownFault(name string) string {
	names := make([]string, len(registry))
	for i, s := range registry {
		names[i] = s.Name
	}
	return fmt.Sprintf("unknown fault %q; known are %s", name, strings.Join(names, ", "))
}

func (p *Param) check(text string) error {
	switch p.Kind {
	case "rows":
		if len(text) > MaxPosition {
			return fmt.Errorf("longer than %d bytes", MaxPosition)
		}
		_, err := parseRows(text)
		return err
	case "integer":
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v < p.Min || v > p.Max {
			return fmt.Errorf("%s is not a whole number in %d to %d", text, p.Min, p.Max)
		}
	case "boolean":
		if text != "true" && text != "false" {
			return fmt.Errorf("%s is not true or false", text)
		}
	case "bytes":
		if _, err := url.PathUnescape(text); err != nil || text == "" || len(text) > MaxPosition || strings.ContainsAny(text, "\r\n\x00") {
			return fmt.Errorf("one line of at most %d bytes, others as %%0A", MaxPosition)
		}
	case "escaped":
		if _, err := unescape(text); err != nil {
			return err
		}
	case "hex":
		if _, err := hex.DecodeString(text); err != nil || text == "" || len(text) > MaxPosition {
			return fmt.Errorf("pairs of hex digits, at most %d digits", MaxPosition)
		}
	case "text":
		if len(p.Values) > 0 && !has(p.Values, text) {
			return fmt.Errorf("%q is none of %s", text, strings.Join(p.Values, ", "))
		}
		if len(text) > MaxPosition || strings.ContainsAny(text, "\r\n\x00") {
			return fmt.Errorf("a text without line ends, at most %d bytes", MaxPosition)
		}
	}
	return nil
}

// check judges a fault that was made in Go as strictly as one that was read.
func (f *Fault) check() error {
	spec := specOf(f.Name)
	if spec == nil {
		return fmt.Errorf("fault: %s", unknownFault(f.Name))
	}
	if f.Times < Always || f.Times > MaxTimes {
		return fmt.Errorf("times: %d is not in -1 to %d", f.Times, MaxTimes)
	}
	for _, t := range []struct {
		name string
		set  bool
	}{{"connection", f.At.Connection != 0}, {"request", f.At.Request != ""}, {"sequence", f.At.Sequence != 0},
		{"event", f.At.Event != 0}, {"byte", f.At.Byte != 0}, {"ms", f.At.After != 0}, {"wire", f.At.Wire != ""}} {
		if t.set && !has(spec.triggers(), t.name) {
			return fmt.Errorf("at.%s: the fault %s does not take this trigger, only %s", t.name, f.Name, strings.Join(spec.triggers(), ", "))
		}
	}
	if f.At.Wire != "" && !has(spec.wires(), f.At.Wire) {
		if why := spec.whyNot(f.At.Wire); why != "" {
			return fmt.Errorf("at.wire: the fault %s does not go with %s: %s", f.Name, f.At.Wire, why)
		}
		return fmt.Errorf("at.wire: %q is none of the wires of the fault %s: %s", f.At.Wire, f.Name, strings.Join(spec.wires(), ", "))
	}
	if f.At.Connection < 0 || f.At.Sequence < 0 || f.At.Event < 0 || f.At.Byte < 0 || f.At.After < 0 || f.At.After > MaxStall {
		return fmt.Errorf("at: a trigger out of range")
	}
	if f.At.Byte != 0 && (f.At.Sequence != 0 || f.At.Event != 0 || f.At.After != 0) {
		return fmt.Errorf("at: byte stands alone, or with connection and request")
	}
	if f.At.Wire == OData && (f.At.After != 0 || f.At.Event > 1) {
		return fmt.Errorf("at: on odata each request has a connection of its own and carries one event at most; aim with connection, request or sequence")
	}
	if !has([]string{"", "resume", "snapshot"}, f.At.Request) {
		return fmt.Errorf("at.request: must be resume or snapshot")
	}
	for _, name := range slices.Sorted(maps.Keys(f.With)) {
		text, p := f.With[name], spec.param(name)
		if p == nil {
			return fmt.Errorf("with.%s: the fault %s has no such parameter", name, f.Name)
		}
		if err := p.check(text); err != nil {
			return fmt.Errorf("with.%s: %w", name, err)
		}
	}
	return nil
}

// args are the parameters of a checked fault with the defaults filled in.
type args struct {
	spec *Spec
	with map[string]string
	at   At
}

func (a args) text(name string) string {
	if v, ok := a.with[name]; ok {
		return v
	}
	return a.spec.param(name).Default
}

func (a args) int(name string) int64 {
	v, _ := strconv.ParseInt(a.text(name), 10, 64)
	return v
}

func (a args) flag(name string) bool          { return a.text(name) == "true" }
func (a args) ms(name string) time.Duration   { return time.Duration(a.int(name)) * time.Millisecond }
func (a args) given(name string) (given bool) { _, given = a.with[name]; return given }

// The four places where a fault can act. Each answers whether it struck; one that cannot act yet stays in the schedule.
type (
	// answerer changes the answer to a request.
	answerer interface{ answer(*answer) bool }
	// sender changes one event that is about to be sent, or what follows it.
	sender interface{ send(*dispatch) bool }
	// idler acts on a stream that has nothing left to send. It strikes once per connection at most.
	idler interface{ idle(*stream) bool }
	// feeder acts on the feed, after a publish or at once.
	feeder interface{ feed(*Simulator) bool }
)

// armed is a fault of the schedule that is not used up.
type armed struct {
	fault Fault
	wires []string
	logic any
	left  int
}

// plan is the schedule at work.
type plan struct {
	armed  []*armed
	struck map[string]int // strikes by name
}

func (p *plan) add(f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	if len(p.armed) >= MaxFaults {
		return fmt.Errorf("faults: at most %d at a time", MaxFaults)
	}
	a := &armed{fault: f, wires: specOf(f.Name).wires(), left: f.Times}
	if a.left == 0 {
		a.left = 1
	}
	spec := specOf(f.Name)
	a.logic = spec.build(args{spec, f.With, f.At})
	p.armed = append(p.armed, a)
	return nil
}

// each calls do for every armed fault. Faults that are used up go when all were called.
func (p *plan) each(do func(*armed)) {
	for _, a := range p.armed {
		if a.left != 0 {
			do(a)
		}
	}
	p.armed = slices.DeleteFunc(p.armed, func(a *armed) bool { return a.left == 0 })
}

// on says whether the connection's own triggers hold, and whether its wire knows the fault.
func (a *armed) on(st *stream) bool {
	at := &a.fault.At
	return (at.Connection == 0 || at.Connection == int(st.n)) &&
		(at.Request == "" || (at.Request == "resume") == st.resume) &&
		(at.Wire == "" || at.Wire == st.home.wire) && has(a.wires, st.home.wire) &&
		(at.After == 0 || !st.paged) // a page has no age
}

// event says whether the fault waits for an event, and not for an idle stream or an answer.
func (a *armed) event() bool { return a.fault.At.Sequence != 0 || a.fault.At.Event != 0 }

// strike counts and records that a struck at seq: st, or the feed.
func (s *Simulator) strike(a *armed, st *stream, seq event.Seq) {
	if a.left > 0 {
		a.left--
	}
	if s.plan.struck == nil {
		s.plan.struck = map[string]int{}
	}
	s.plan.struck[a.fault.Name]++
	r := trace.Record{Kind: trace.ServerFault, Seq: seq, Detail: a.fault.Name}
	if st == nil {
		s.record(r)
		return
	}
	r.Epoch = st.n
	st.home.record(r)
}
