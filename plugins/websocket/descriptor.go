package websocket

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// The options and their words (D-37, D-44). docs/wire.md explains them.
const (
	OptionMaxMessageBytes = "maxMessageBytes"
	OptionPayload         = "payload"
	OptionResumeBy        = "resumeBy"
	OptionParameterName   = "parameterName"
	OptionSubprotocol     = "subprotocol"
	OptionSubscribe       = "subscribe"
	OptionCompression     = "compression"
	OptionPingEveryMs     = "pingEveryMs"
	OptionCloseCodes      = "closeCodes"

	PayloadText   = "text"
	PayloadBinary = "binary"

	ByCursor   = transport.CursorParam
	BySequence = transport.SequenceParam

	CompressionOff     = "off"
	CompressionDeflate = "deflate"
)

// Version of this transport, for reports.
const Version = "0.1.0"

// Describe is the transport's descriptor (D-42). Each call makes a new one.
func Describe() transport.Descriptor {
	return transport.Descriptor{
		Name:       "websocket",
		Version:    Version,
		Wire:       "websocket",
		Freshness:  transport.Push,
		Order:      transport.ServerSequence,
		Baseline:   transport.BaselineSnapshot,
		Resume:     []transport.Mode{transport.ByCursor, transport.BySequence},
		Vouch:      transport.VouchFrame,
		Heartbeats: true,
		Watermarks: true,
		Takes:      []transport.Take{transport.TakesHeaders, transport.TakesTLS, transport.TakesProxy},
		Options: []transport.Option{
			{Name: OptionMaxMessageBytes, Doc: "most bytes of one message, on the wire and inflated", Default: strconv.Itoa(DefaultMaxMessageBytes), Ceiling: CeilingMaxMessageBytes},
			{Name: OptionPayload, Doc: "the kind of message that holds the JSON; one of the other kind is undecodable", Default: PayloadText, Values: []string{PayloadText, PayloadBinary}},
			{Name: OptionResumeBy, Doc: "which part of the position a reconnect names, as a query parameter", Default: ByCursor, Values: []string{ByCursor, BySequence}},
			{Name: OptionParameterName, Doc: "name of that parameter; empty: the same word"},
			{Name: OptionSubprotocol, Doc: "subprotocols to ask for, joined by commas; the server must agree to one"},
			{Name: OptionSubscribe, Doc: "JSON to send as one text message when the connection is open"},
			{Name: OptionCompression, Doc: "offer permessage-deflate, or not", Default: CompressionOff, Values: []string{CompressionOff, CompressionDeflate}},
			{Name: OptionPingEveryMs, Doc: "milliseconds between pings; two unanswered ones end the connection", Default: strconv.FormatInt(DefaultPingEvery.Milliseconds(), 10), Ceiling: CeilingPingEvery.Milliseconds()},
			{Name: OptionCloseCodes, Doc: "what the server's own close codes mean: CODE=" + strings.Join(actions, "|") + ", joined by commas; others refuse"},
		},
	}
}

// settings are the options of one attempt, checked.
type settings struct {
	maxMessageBytes int
	binary          bool
	resumeBy        string
	parameter       string
	subprotocols    []string
	subscribe       string
	deflate         bool
	pingEvery       time.Duration
	codes           closeTable
}

func parseSettings(options map[string]string) (s settings, err error) {
	d := Describe()
	if err := d.CheckOptions(options); err != nil {
		return s, err
	}
	value := func(name string) string { return d.Value(options, name) }
	no := func(name, want string) (settings, error) {
		return s, &transport.OptionError{Name: name, Value: value(name), Want: want}
	}
	s.maxMessageBytes, _ = strconv.Atoi(value(OptionMaxMessageBytes)) // an integer within the ceiling: checked above
	ms, _ := strconv.ParseInt(value(OptionPingEveryMs), 10, 64)
	s.pingEvery = time.Duration(ms) * time.Millisecond
	s.binary = value(OptionPayload) == PayloadBinary
	s.deflate = value(OptionCompression) == CompressionDeflate
	s.resumeBy = value(OptionResumeBy)
	if s.parameter = value(OptionParameterName); s.parameter == "" {
		s.parameter = s.resumeBy
	}
	if !web.IsParameterName(s.parameter) {
		return no(OptionParameterName, web.BadParameterName)
	}
	if text := value(OptionSubprotocol); text != "" {
		if s.subprotocols = tokens(text); s.subprotocols == nil {
			return no(OptionSubprotocol, fmt.Sprintf("must be 1 to %d different names of letters, digits and !#$%%&'*+-.^_`|~, joined by commas", MaxSubprotocols))
		}
	}
	s.subscribe = value(OptionSubscribe)
	switch {
	case s.subscribe == "":
	case len(s.subscribe) > MaxSubscribeBytes:
		return s, fmt.Errorf("option %q: has %d bytes, the limit is %d", OptionSubscribe, len(s.subscribe), MaxSubscribeBytes)
	case !json.Valid([]byte(s.subscribe)) || !utf8.ValidString(s.subscribe):
		return s, fmt.Errorf("option %q: is not JSON", OptionSubscribe) // it may hold a token: not repeated
	}
	var ok bool
	if s.codes, ok = parseCloseCodes(value(OptionCloseCodes)); !ok {
		return no(OptionCloseCodes, fmt.Sprintf("must be at most %d of CODE=ACTION joined by commas, CODE 3000 to 4999 and each once, ACTION one of %s", MaxCloseCodes, strings.Join(actions, ", ")))
	}
	return s, nil
}

// tokens reads names joined by commas, nil if one is none, is there twice, or there are too many.
func tokens(text string) []string {
	list := strings.Split(text, ",")
	seen := map[string]bool{}
	for i, name := range list {
		list[i] = strings.Trim(name, " ")
		if transport.CanonicalHeader(list[i]) == "" || seen[list[i]] { // a header's name is a token too (RFC 9110 5.6.2)
			return nil
		}
		seen[list[i]] = true
	}
	if len(list) > MaxSubprotocols {
		return nil
	}
	return list
}
