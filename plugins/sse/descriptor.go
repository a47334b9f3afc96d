package sse

import (
	"strconv"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// The options and their words (D-32, D-43). docs/wire.md explains them.
const (
	OptionMaxEventBytes = "maxEventBytes"
	OptionResumeBy      = "resumeBy"
	OptionParameterName = "parameterName"
	OptionIDIs          = "idIs"

	ByLastEventID = "last-event-id"
	ByParameter   = "parameter"

	IDIsCursor  = "cursor"
	IDIsEventID = "eventId"
	IDIsNone    = "none"
)

// Version of this transport, for reports.
const Version = "0.1.0"

// Describe is the transport's descriptor (D-42). Each call makes a new one.
func Describe() transport.Descriptor {
	return transport.Descriptor{
		Name:       "sse",
		Version:    Version,
		Wire:       "sse",
		Freshness:  transport.Push,
		Order:      transport.ServerSequence,
		Baseline:   transport.BaselineSnapshot,
		Resume:     []transport.Mode{transport.ByCursor},
		Vouch:      transport.VouchFrame,
		Heartbeats: true,
		Watermarks: true,
		Takes:      []transport.Take{transport.TakesHeaders, transport.TakesTLS, transport.TakesProxy},
		Options: []transport.Option{
			{Name: OptionMaxEventBytes, Doc: "most bytes of one line or event", Default: strconv.Itoa(DefaultMaxEventBytes), Ceiling: CeilingMaxEventBytes},
			{Name: OptionResumeBy, Doc: "how a reconnect names its position: a Last-Event-ID header or a query parameter", Default: ByLastEventID, Values: []string{ByLastEventID, ByParameter}},
			{Name: OptionParameterName, Doc: "name of that parameter", Default: transport.CursorParam},
			{Name: OptionIDIs, Doc: "what an id line means: the event's cursor, its event id, or nothing", Default: IDIsCursor, Values: []string{IDIsCursor, IDIsEventID, IDIsNone}},
		},
	}
}

// settings are the options of one attempt, checked.
type settings struct {
	maxEventBytes int
	byHeader      bool
	parameter     string
	idIs          string
}

func parseSettings(options map[string]string) (s settings, err error) {
	d := Describe()
	if err := d.CheckOptions(options); err != nil {
		return s, err
	}
	value := func(name string) string { return d.Value(options, name) }
	s.maxEventBytes, err = strconv.Atoi(value(OptionMaxEventBytes)) // within the ceiling: checked above
	s.byHeader = value(OptionResumeBy) == ByLastEventID
	s.idIs = value(OptionIDIs)
	s.parameter = value(OptionParameterName)
	if !web.IsParameterName(s.parameter) {
		return s, &transport.OptionError{Name: OptionParameterName, Value: s.parameter, Want: web.BadParameterName}
	}
	return s, err
}
