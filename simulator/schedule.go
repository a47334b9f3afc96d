package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/simulator/strict"
)

// Schedule is the faults of a run, as data (law 2). Its text is YAML or JSON:
//
//	faults:
//	  - fault: gap
//	    at: {connection: 1, sequence: 7}
//	    with: {skip: 2}
type Schedule struct {
	Faults []Fault `json:"faults"`
}

// Fault is one entry of a schedule. Faults lists the names, triggers and parameters there are.
type Fault struct {
	Name  string
	At    At
	Times int               // strikes before it is used up; 0 means once, Always for ever
	With  map[string]string // parameters, as text: 5, true, eof
}

// Always is the Times of a fault that is never used up.
const Always = -1

// At says when a fault strikes: at the first occasion for which everything that is set holds. A fault takes only the
// triggers that its Spec lists.
type At struct {
	Connection int           `json:"connection,omitempty"` // n-th request that the server saw, from 1
	Request    string        `json:"request,omitempty"`    // resume or snapshot: only requests that name a position, or that do not
	Sequence   event.Seq     `json:"sequence,omitempty"`   // the event with this sequence, or the feed's head; from 1
	Event      int           `json:"event,omitempty"`      // n-th event of the connection, from 1, snapshots included
	Byte       int64         `json:"byte,omitempty"`       // so many bytes of the connection's body, from 1
	Wire       string        `json:"wire,omitempty"`       // only connections of this wire: sse, websocket or odata
	After      time.Duration `json:"-"`                    // not before the connection is so old; `ms` in the text
}

// ParseSchedule reads a schedule strictly: an unknown member, fault, trigger or parameter is an error of type *strict.Error
// with its place. Text that begins with { is JSON, anything else YAML.
func ParseSchedule(text []byte) (Schedule, error) {
	var s Schedule
	n, err := parse(text)
	if err != nil {
		return s, err
	}
	if err := n.Only("faults"); err != nil {
		return s, err
	}
	items, err := n.Array("faults", MaxFaults)
	if err != nil {
		return s, err
	}
	for _, item := range items {
		f, err := FaultFrom(item)
		if err != nil {
			return s, err
		}
		s.Faults = append(s.Faults, f)
	}
	return s, nil
}

func parse(text []byte) (*strict.Node, error) {
	if t := bytes.TrimLeft(text, " \t\r\n"); len(t) > 0 && t[0] == '{' {
		return strict.ParseJSON(text, MaxScheduleBytes)
	}
	return strict.ParseYAML(text, MaxScheduleBytes)
}

// FaultFrom reads one entry of a schedule and checks it against the registry.
func FaultFrom(n *strict.Node) (Fault, error) {
	f := Fault{}
	if err := n.Only("fault", "at", "times", "with"); err != nil {
		return f, err
	}
	times := int64(0)
	if err := first(n.String("fault", &f.Name), n.Int("times", &times, Always, MaxTimes)); err != nil {
		return f, err
	}
	f.Times = int(times)
	spec := specOf(f.Name)
	if spec == nil {
		return f, orSelf(n.Get("fault"), n).Refuse("%s", unknownFault(f.Name))
	}
	if at := n.Get("at"); at != nil {
		if err := f.At.read(at, spec); err != nil {
			return f, err
		}
	}
	if with := n.Get("with"); with != nil {
		if err := f.readWith(with, spec); err != nil {
			return f, err
		}
	}
	if err := f.check(); err != nil {
		return f, n.Refuse("%s", err.Error())
	}
	return f, nil
}

func (a *At) read(n *strict.Node, spec *Spec) error {
	if err := n.Only(spec.triggers()...); err != nil {
		return err
	}
	var connection, sequence, nth, ms int64
	err := first(
		n.Int("connection", &connection, 1, 1<<31-1), n.Int("sequence", &sequence, 1, int64(event.MaxSeq)),
		n.Int("event", &nth, 1, 1<<31-1), n.Int("byte", &a.Byte, 1, 1<<40), n.Int("ms", &ms, 1, int64(MaxStall/time.Millisecond)),
		n.String("request", &a.Request), n.String("wire", &a.Wire))
	a.Connection, a.Sequence, a.Event, a.After = int(connection), event.Seq(sequence), int(nth), time.Duration(ms)*time.Millisecond
	if err == nil && a.Request != "" && a.Request != "resume" && a.Request != "snapshot" {
		err = n.Get("request").Refuse("must be resume or snapshot")
	}
	if err == nil && a.Wire != "" && !has(spec.wires(), a.Wire) {
		if why := spec.whyNot(a.Wire); why != "" {
			return n.Get("wire").Refuse("the fault %s does not go with %s: %s", spec.Name, a.Wire, why)
		}
		err = n.Get("wire").Refuse("must be %s", strings.Join(spec.wires(), ", "))
	}
	return err
}

func (f *Fault) readWith(n *strict.Node, spec *Spec) error {
	names := make([]string, len(spec.Params))
	for i, p := range spec.Params {
		names[i] = p.Name
	}
	if err := n.Only(names...); err != nil {
		return err
	}
	f.With = map[string]string{}
	for _, m := range n.Members {
		p := spec.param(m.Name)
		want := map[string]strict.Kind{"integer": strict.Number, "text": strict.Text, "bytes": strict.Text, "escaped": strict.Text, "hex": strict.Text, "boolean": strict.Bool}[p.Kind]
		if m.Value.Kind != want {
			return m.Value.Refuse("must be a %s", want)
		}
		if err := p.check(m.Value.Text); err != nil {
			return m.Value.Refuse("%s", err.Error())
		}
		f.With[m.Name] = m.Value.Text
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func orSelf(n, self *strict.Node) *strict.Node {
	if n == nil {
		return self
	}
	return n
}

func faultAt(i int, err error) error { return fmt.Errorf("faults[%d]: %w", i, err) }

// MarshalJSON writes f as a schedule has it.
func (f Fault) MarshalJSON() ([]byte, error) {
	type at struct {
		At
		Ms int64 `json:"ms,omitempty"`
	}
	out := struct {
		Fault string         `json:"fault"`
		At    *at            `json:"at,omitempty"`
		Times int            `json:"times,omitempty"`
		With  map[string]any `json:"with,omitempty"`
	}{Fault: f.Name, Times: f.Times}
	if f.At != (At{}) {
		out.At = &at{f.At, f.At.After.Milliseconds()}
	}
	spec := specOf(f.Name)
	for name, text := range f.With {
		if out.With == nil {
			out.With = map[string]any{}
		}
		out.With[name] = text
		if spec == nil || spec.param(name) == nil {
			continue
		}
		switch spec.param(name).Kind {
		case "integer":
			out.With[name] = json.Number(text)
		case "boolean":
			out.With[name], _ = strconv.ParseBool(text)
		}
	}
	return json.Marshal(out)
}
