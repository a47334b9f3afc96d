package event

import (
	"bytes"
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"
)

// slow is capture as facts 2.2 tell it, on encoding/json, big numbers and regular expressions: slow, and with nothing in
// common with Parse. It returns the kind of failure only, not its detail.
func slow(doc []byte) Event {
	failed := func(r Reason, hole bool) Event { return Event{Fault: r, Hole: hole, Pos: NoPosition, Payload: doc} }
	var top map[string]json.RawMessage
	if !utf8.Valid(doc) || json.Unmarshal(doc, &top) != nil || top == nil {
		return failed(InvalidEvent, true)
	}
	word, ok := slowString(top["type"])
	if !ok {
		return failed(InvalidEvent, true)
	}
	e := Event{Kind: ParseKind(word), Pos: NoPosition, Payload: doc}
	if e.Kind == Malformed {
		return failed(InvalidEvent, false)
	}
	var own [5]string
	for i, name := range []string{"eventId", "operationInstanceId", "correlationId", "auditId", "proposalId"} {
		if raw, present := top[name]; present {
			if own[i], ok = slowString(raw); !ok || torn(raw) {
				return failed(InvalidEvent, false)
			}
		}
	}
	e.ID = own[0]
	if len(e.ID) > MaxIDBytes {
		return failed(InvalidEvent, false)
	}
	if c := (Correlation{own[1], own[2], own[3], own[4]}); c != (Correlation{}) {
		e.Trace = &c
	}
	var nested map[string]json.RawMessage
	if raw, present := top["checkpoint"]; present {
		switch raw[0] {
		case '{':
			json.Unmarshal(raw, &nested)
		case '[':
		default:
			return failed(InvalidEvent, false)
		}
	}
	is := func(name, first string) bool {
		raw, present := top[name]
		return present && strings.Contains(first, string(raw[:1]))
	}
	absentOr := func(name, first string) bool {
		_, present := top[name]
		return !present || is(name, first)
	}
	const numeric = "-0123456789"
	shape := absentOr("receivedAt", numeric)
	switch e.Kind {
	case Snapshot:
		e.Merge = string(top["replace"]) == "false"
		shape = shape && absentOr("replace", "tf") && is("features", "[")
	case Upsert:
		shape = shape && is("feature", "{[")
	case Delete:
		shape = shape && is("id", numeric+`"`)
	case Delta:
		shape = shape && absentOr("upserts", "[") && absentOr("deletes", "[")
	}
	if !shape {
		return failed(InvalidEvent, false)
	}
	texts := []string{"cursor", "watermark", "timestamp", "deltaToken"}
	for _, name := range texts {
		if torn(top[name]) || torn(nested[name]) {
			return failed(InvalidEvent, false)
		}
	}
	for i, to := range []*string{&e.Pos.Cursor, &e.Pos.Watermark, &e.Pos.Timestamp, &e.Pos.DeltaToken} {
		for _, level := range []map[string]json.RawMessage{nested, top} {
			if raw, present := level[texts[i]]; present {
				v, ok := slowString(raw)
				if !ok || v != "" && *to != "" && v != *to {
					return failed(CheckpointConflict, false)
				}
				if v != "" {
					*to = v
				}
			}
		}
	}
	var seq *big.Rat
	for _, level := range []map[string]json.RawMessage{nested, top} {
		if raw, present := level["sequence"]; present {
			v, ok := new(big.Rat).SetString(string(raw))
			if !ok || !strings.Contains(numeric, string(raw[:1])) || seq != nil && seq.Cmp(v) != 0 {
				return failed(CheckpointConflict, false)
			}
			seq = v
		}
	}
	if seq != nil && seq.IsInt() && seq.Sign() >= 0 && seq.Cmp(big.NewRat(int64(MaxSeq), 1)) <= 0 {
		e.Pos.Seq = Seq(seq.Num().Int64())
	}
	return e
}

func slowString(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

var (
	pair         = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	surrogate    = regexp.MustCompile(`(?i)\\ud[89a-f][0-9a-f]{2}`)
	hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4}`)
)

// torn says whether a raw string holds a lone surrogate.
func torn(raw json.RawMessage) bool {
	raw = bytes.ReplaceAll(raw, []byte(`\\`), []byte("xx"))
	return surrogate.Match(pair.ReplaceAll(raw, []byte("xx")))
}
