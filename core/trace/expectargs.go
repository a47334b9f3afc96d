package trace

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
)

// form is how the value of an argument is written.
type form uint8

const (
	words  form = iota // any text; may be empty
	number             // digits: a count, an ordinal or milliseconds, 0 to event.MaxSeq
	seq                // an exact sequence number
	seqOr              // an exact sequence number, or the word named in rule.word
	events             // `type seq` separated by `, `; empty for none at all
	one                // one `type seq`
	moment             // `request n` or `closed n`: a record of the server; `connect n`: the client's n-th attempt
	truth              // true or false
)

// rule is the argument list of an expectation.
type rule struct {
	must map[string]form
	may  map[string]form
	// atLeast is a set of which at least one must be given.
	atLeast []string
	word    string // the word of a seqOr argument
}

// expectations is every expectation with its arguments. An argument that is not here is a mistake of the harness.
var expectations = map[Expectation]rule{
	ExpectConsumerSaw:    {must: map[string]form{"events": events}},
	ExpectConsumerNotSaw: {may: map[string]form{"seq": seq, "id": words}, atLeast: []string{"seq", "id"}},
	ExpectDelivery: {must: map[string]form{"status": words}, may: map[string]form{"event": one, "id": words, "reason": words},
		atLeast: []string{"event", "id"}},
	ExpectPhase: {must: map[string]form{"phase": words}, may: map[string]form{"reason": words, "detail": words}},
	ExpectCounts: {may: map[string]form{"accepted": number, "duplicates": number, "gaps": number, "overflows": number},
		atLeast: []string{"accepted", "duplicates", "gaps", "overflows"}},
	ExpectRequests:     {may: map[string]form{"count": number, "min": number, "max": number}, atLeast: []string{"count", "min", "max"}},
	ExpectRequest:      {must: map[string]form{"n": number}, may: map[string]form{"from": seqOr, "status": words}, atLeast: []string{"from", "status"}, word: "snapshot"},
	ExpectReceived:     {must: map[string]form{"what": words}, may: map[string]form{"detail": words, "count": number}},
	ExpectResumeTries:  {must: map[string]form{"seq": seq, "count": number}},
	ExpectWait:         {must: map[string]form{"n": number}, may: map[string]form{"ms": number, "min": number, "max": number}, atLeast: []string{"ms", "min", "max"}},
	ExpectObservation:  {must: map[string]form{"status": words}},
	ExpectEnding:       {must: map[string]form{"status": words}, may: map[string]form{"reason": words, "detail": words}},
	ExpectRunning:      {},
	ExpectStored:       {must: map[string]form{"seq": seqOr}, word: "nothing"},
	ExpectPersisted:    {must: map[string]form{"value": truth}},
	ExpectStateOf:      {must: map[string]form{"seq": seq}},
	ExpectConverged:    {},
	ExpectPluginStarts: {must: map[string]form{"count": number}},
	ExpectPluginExit:   {must: map[string]form{"detail": words}},
	ExpectMeasured: {must: map[string]form{"name": words}, may: map[string]form{"max": number, "min": number, "equals": words},
		atLeast: []string{"max", "min", "equals"}},
	ExpectFaultStruck: {must: map[string]form{"name": words}, may: map[string]form{"count": number}},
	ExpectLane:        {may: laneArgs, atLeast: slices.Sorted(maps.Keys(laneArgs))},
	ExpectPolls:       {may: map[string]form{"count": number, "min": number, "max": number}, atLeast: []string{"count", "min", "max"}},
	ExpectPoll:        {must: map[string]form{"n": number}, may: map[string]form{"since": number, "id": words}, atLeast: []string{"since", "id"}},
	ExpectBearers:     {must: map[string]form{"n": number, "class": number, "count": number}},
	ExpectAnswer: {must: map[string]form{"n": number}, may: map[string]form{"status": words, "body": words, "member": words, "header": words, "value": words, "media": words, "with": words, "without": words},
		atLeast: []string{"status", "body", "member", "header", "media", "with", "without"}},
	ExpectHeard: {must: map[string]form{"n": number, "what": words}, may: map[string]form{"count": number, "min": number, "max": number, "member": words, "value": words},
		atLeast: []string{"count", "min", "max", "member"}},
	ExpectBegan:   {must: map[string]form{"n": number, "with": words}},
	ExpectChanges: {must: map[string]form{"n": number, "first": number, "last": number}, may: map[string]form{"order": words}},
	ExpectHonest:  {must: map[string]form{"n": number, "last": number}, may: map[string]form{"order": words}},
	ExpectIDs:     {},
	ExpectStream:  {must: map[string]form{"n": number, "is": words}},
	ExpectElapsed: {must: map[string]form{"from": moment, "to": moment}, may: map[string]form{"min": number, "max": number},
		atLeast: []string{"min", "max"}},
}

// laneArgs are what ExpectLane can ask about.
var laneArgs = map[string]form{"status": words, "reason": words, "mark": number, "wakes": number, "dropped": number, "dropped-as": words,
	"catchUp": words, "pending": words, "catchUp-reason": words, "delivery": words, "delivery-reason": words, "failure": words, "failure-reason": words}

// Expectations lists the vocabulary, sorted.
func Expectations() []Expectation { return slices.Sorted(maps.Keys(expectations)) }

// Arguments lists the argument names that e knows, sorted; nil for an unknown e.
func Arguments(e Expectation) []string {
	r, ok := expectations[e]
	if !ok {
		return nil
	}
	return slices.Sorted(maps.Keys(merge(r.must, r.may)))
}

// Expect is a record that states an expectation at its place of the trace. A wrong one is an error of the harness: an
// unknown expectation or argument, a missing argument, a value in the wrong form.
func Expect(e Expectation, args map[string]string) (Record, error) {
	if err := CheckExpect(e, args); err != nil {
		return Record{}, err
	}
	r := New(Stage, StageExpect)
	r.Status, r.Args = string(e), maps.Clone(args)
	return r, nil
}

// CheckExpect says what is wrong with the arguments of e, nil if nothing is.
func CheckExpect(e Expectation, args map[string]string) error {
	r, ok := expectations[e]
	if !ok {
		return fmt.Errorf("unknown expectation %q", e)
	}
	for _, name := range slices.Sorted(maps.Keys(r.must)) {
		if _, ok := args[name]; !ok {
			return fmt.Errorf("expectation %s needs the argument %s", e, name)
		}
	}
	known := merge(r.must, r.may)
	for _, name := range slices.Sorted(maps.Keys(args)) {
		f, ok := known[name]
		if !ok {
			return fmt.Errorf("expectation %s has no argument %q", e, name)
		}
		if err := f.check(args[name], r.word); err != nil {
			return fmt.Errorf("expectation %s, argument %s: %w", e, name, err)
		}
	}
	if len(r.atLeast) > 0 && !slices.ContainsFunc(r.atLeast, func(n string) bool { _, ok := args[n]; return ok }) {
		return fmt.Errorf("expectation %s needs one of the arguments %s", e, strings.Join(r.atLeast, ", "))
	}
	return nil
}

func merge(a, b map[string]form) map[string]form {
	out := make(map[string]form, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

func (f form) check(text, word string) error {
	var err error
	switch f {
	case number, seq:
		_, err = ParseSeq(text)
	case seqOr:
		if text != word {
			if _, err = ParseSeq(text); err != nil {
				err = fmt.Errorf("%q is neither %q nor a sequence number", text, word)
			}
		}
	case events:
		_, err = ParseEvents(text)
	case one:
		_, err = ParseEvent(text)
	case moment:
		_, err = ParseMoment(text)
	case truth:
		if text != "true" && text != "false" {
			err = fmt.Errorf("%q is neither true nor false", text)
		}
	}
	return err
}

// ParseSeq reads an exact number, 0 to event.MaxSeq, written in digits without sign or leading zero.
func ParseSeq(text string) (event.Seq, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !event.Seq(n).Valid() || strconv.FormatInt(n, 10) != text {
		return event.NoSeq, fmt.Errorf("%q is no number from 0 to %d", text, event.MaxSeq)
	}
	return event.Seq(n), nil
}

// EventRef names an event as people write it: `snapshot 5`.
type EventRef struct {
	Type string
	Seq  event.Seq
}

// String is the written form.
func (e EventRef) String() string {
	if e.Seq == event.NoSeq {
		return e.Type
	}
	return e.Type + " " + strconv.FormatInt(int64(e.Seq), 10)
}

// ParseEvent reads one `type seq`.
func ParseEvent(text string) (EventRef, error) {
	kind, num, ok := strings.Cut(text, " ")
	if !ok || event.ParseKind(kind) == event.Malformed {
		return EventRef{}, fmt.Errorf("%q is not written like %q", text, "snapshot 5")
	}
	n, err := ParseSeq(num)
	if err != nil {
		return EventRef{}, err
	}
	return EventRef{kind, n}, nil
}

// ParseEvents reads events separated by a comma and a space; nothing for an empty text.
func ParseEvents(text string) ([]EventRef, error) {
	if text == "" {
		return nil, nil
	}
	var out []EventRef
	for part := range strings.SplitSeq(text, ", ") {
		e, err := ParseEvent(part)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Moment is a record of the server, its n-th request or the end of its n-th connection, or the client's n-th attempt to
// connect. What a client counts from its own attempt is measured from there: its request may reach the server much later.
type Moment struct {
	Kind Kind // ServerRequest, ServerClosed or SessionConnect
	N    int
}

// ParseMoment reads `request n`, `closed n` or `connect n`, n from 1.
func ParseMoment(text string) (Moment, error) {
	kind, num, _ := strings.Cut(text, " ")
	n, err := ParseSeq(num)
	if err != nil || n < 1 || n > MaxRecords || !slices.Contains([]Kind{ServerRequest, ServerClosed, SessionConnect}, Kind(kind)) {
		return Moment{}, fmt.Errorf("%q is none of %q, %q, %q with n from 1", text, "request n", "closed n", "connect n")
	}
	return Moment{Kind(kind), int(n)}, nil
}
