package sse

import (
	"strconv"

	"github.com/conform-dev/conform/core/transport"
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

// maxParameterName is the longest name of a query parameter that is accepted: longer ones are slips, not names.
const maxParameterName = 128

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
	if !isParameterName(s.parameter) {
		return s, &transport.OptionError{Name: OptionParameterName, Value: s.parameter, Want: "must be 1 to 128 letters, digits or any of - _ . and no parameter of the query"}
	}
	return s, err
}

// isParameterName refuses names that would need escaping, and those that the query itself uses.
func isParameterName(name string) bool {
	switch name {
	case "", "sourceId", "layerId", "requestId", "mode", "where", "fields", "spatialFilter", "metadata":
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !(isLetter(c) || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return len(name) <= maxParameterName
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
