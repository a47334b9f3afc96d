package judge

import (
	"fmt"

	"github.com/conform-dev/conform/core/trace"
)

// seen is what an expectation found at its place.
type seen struct {
	holds bool
	want  string // in words
	got   string
	at    []int // records that count
	check Check // Expectation, or Exercised where not holding means that the path did not happen
	// excess is by how many milliseconds a time was passed, if that is all; 0 otherwise.
	excess int64
}

// evaluators answer each expectation from the records before it. They may count on arguments that trace.CheckExpect took.
var evaluators = map[trace.Expectation]func(p prefix, args map[string]string) seen{
	trace.ExpectConsumerSaw:    consumerSaw,
	trace.ExpectConsumerNotSaw: consumerNotSaw,
	trace.ExpectStateOf:        stateOf,
	trace.ExpectConverged:      converged,
	trace.ExpectDelivery:       delivery,
	trace.ExpectPhase:          phase,
	trace.ExpectCounts:         counts,
	trace.ExpectPersisted:      persisted,
	trace.ExpectRequests:       requests,
	trace.ExpectRequest:        request,
	trace.ExpectReceived:       received,
	trace.ExpectResumeTries:    resumeTries,
	trace.ExpectElapsed:        elapsed,
	trace.ExpectFaultStruck:    faultStruck,
	trace.ExpectWait:           wait,
	trace.ExpectObservation:    observation,
	trace.ExpectEnding:         ending,
	trace.ExpectRunning:        running,
	trace.ExpectStored:         stored,
	trace.ExpectPluginStarts:   pluginStarts,
	trace.ExpectPluginExit:     pluginExit,
	trace.ExpectMeasured:       measured,
	trace.ExpectLane:           lane,
	trace.ExpectPolls:          polls,
	trace.ExpectPoll:           poll,
	trace.ExpectBearers:        bearers,
	trace.ExpectAnswer:         answer,
	trace.ExpectHeard:          heard,
	trace.ExpectBegan:          began,
	trace.ExpectStream:         streamIs,
	trace.ExpectChanges:        changes,
	trace.ExpectHonest:         honest,
	trace.ExpectIDs:            ids,
}

// expectations evaluates every expectation at its place.
func expectations(records []trace.Record) []Finding {
	var out []Finding
	for i := range records {
		r := &records[i]
		if r.Kind != trace.StageExpect {
			continue
		}
		eval, ok := evaluators[trace.Expectation(r.Status)]
		if !ok {
			out = append(out, Finding{Check: Broken, Expected: "an expectation that the judge knows", Seen: r.Status, Record: i + 1})
			continue
		}
		s := eval(prefix(records[:i]), r.Args)
		if s.holds {
			continue
		}
		if s.check == "" {
			s.check = Expectation
		}
		out = append(out, Finding{Check: s.check, Expected: s.want, Seen: s.got, Record: i + 1, Related: s.at, excess: s.excess})
	}
	return out
}

// prefix is a trace up to an expectation.
type prefix []trace.Record

// all are the records of one kind, oldest first. Kinds of different actors share words, so both are asked for.
func (p prefix) all(actor trace.Actor, kind trace.Kind) []*trace.Record {
	var out []*trace.Record
	for i := range p {
		if p[i].Actor == actor && p[i].Kind == kind {
			out = append(out, &p[i])
		}
	}
	return out
}

// last is the newest record of one of the kinds, nil if there is none.
func (p prefix) last(actor trace.Actor, kinds ...trace.Kind) *trace.Record {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].Actor != actor {
			continue
		}
		for _, k := range kinds {
			if p[i].Kind == k {
				return &p[i]
			}
		}
	}
	return nil
}

// client are the records since the client's last start.
func (p prefix) client() prefix {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].Actor == trace.Gate && p[i].Kind == trace.GateStart {
			return p[i:]
		}
	}
	return p
}

// numbers are the places of records, at most as many as an excerpt shows.
func numbers(records []*trace.Record) []int {
	var out []int
	for _, r := range records {
		if len(out) == MaxExcerpt {
			break
		}
		out = append(out, r.N)
	}
	return out
}

func one(r *trace.Record) []int {
	if r == nil {
		return nil
	}
	return []int{r.N}
}

// bounds checks a number against count, ms, min and max arguments; want is in words.
func bounds(n int64, args map[string]string, unit string) (holds bool, want string, over int64) {
	holds = true
	for _, name := range []string{"count", "ms", "min", "max"} {
		text, ok := args[name]
		if !ok {
			continue
		}
		limit, _ := trace.ParseSeq(text)
		word, bad := "exactly", n != int64(limit)
		switch name {
		case "min":
			word, bad = "at least", n < int64(limit)
		case "max":
			word, bad = "at most", n > int64(limit)
			over = max(0, n-int64(limit))
		}
		holds = holds && !bad
		if want != "" {
			want += " and "
		}
		want += fmt.Sprintf("%s %s %s", word, text, unit)
	}
	return holds, want, over
}
