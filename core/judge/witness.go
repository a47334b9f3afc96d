package judge

import (
	"fmt"
	"slices"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// sentKey names an event on the wire.
type sentKey struct {
	typ string
	seq event.Seq
	id  string
}

func keyOf(r *trace.Record) sentKey { return sentKey{r.Type, r.Seq, r.ID} }

// witnesses holds the server's account against the consumer's, and the gate's against both (law 4). Without a server in
// the trace only the second is possible.
func witnesses(records []trace.Record) []Finding {
	return slices.Concat(wire(records), calls(records), laneWitness(records))
}

// feed is the server's account.
type feed struct {
	known bool                   // the trace has requests: the server is a witness
	sent  map[sentKey][]int      // by event: the life of the server in which it was sent, once per time
	rows  []map[event.Seq]string // by life, then sequence: digest of the rows
	from  []event.Seq            // by life: the head at its start
}

func account(records []trace.Record) feed {
	f := feed{sent: map[sentKey][]int{}, rows: []map[event.Seq]string{{}}, from: []event.Seq{event.MaxSeq}}
	for i := range records {
		r := &records[i]
		if r.Actor != trace.Server {
			continue
		}
		switch r.Kind {
		case trace.ServerRequest:
			f.known = true
		case trace.ServerRestart:
			f.rows = append(f.rows, map[event.Seq]string{})
			f.from = append(f.from, r.Seq)
			f.publish(r)
		case trace.ServerPublish:
			f.publish(r)
		case trace.ServerSent:
			k := keyOf(r)
			f.sent[k] = append(f.sent[k], len(f.rows)-1)
		}
	}
	return f
}

func (f *feed) publish(r *trace.Record) {
	if rows := r.Args["rows"]; rows != "" {
		f.rows[len(f.rows)-1][r.Seq] = rows
	}
}

// rowsAt is the digest of the feed at seq in one life of the server: what came before a restart is what it was.
func (f *feed) rowsAt(life int, seq event.Seq) (string, bool) {
	for ; life >= 0; life-- {
		if rows, ok := f.rows[life][seq]; ok {
			return rows, true
		}
		if seq > f.from[life] {
			return "", false
		}
	}
	return "", false
}

// wire finds events that the consumer saw and the server never sent, or not that often, and rows that differ from the feed's
// at that place.
func wire(records []trace.Record) []Finding {
	f := account(records)
	if !f.known {
		return nil
	}
	var out []Finding
	seenTimes := map[sentKey]int{}
	for i := range records {
		r := &records[i]
		if r.Actor != trace.Consumer || r.Kind != trace.ConsumerSaw {
			continue
		}
		k := keyOf(r)
		seenTimes[k]++
		lives := f.sent[k]
		if seenTimes[k] > len(lives) {
			out = append(out, Finding{Check: Witness, Expected: fmt.Sprintf("the server sent %s at least %d times", name(r), seenTimes[k]),
				Seen: fmt.Sprintf("it sent it %d times", len(lives)), Record: r.N})
			continue
		}
		if rows := r.Args["rows"]; rows != "" {
			if want, ok := f.agrees(lives, r.Seq, rows); !ok {
				out = append(out, Finding{Check: Witness, Expected: fmt.Sprintf("rows %s after %s, as the feed had them", want, name(r)),
					Seen: "rows " + rows, Record: r.N})
			}
		}
	}
	return out
}

// agrees says whether rows are what the feed had at seq in a life that sent the event. Where the trace does not hold the
// feed's rows there is nothing to compare.
func (f *feed) agrees(lives []int, seq event.Seq, rows string) (want string, ok bool) {
	ok = true
	for _, life := range lives {
		w, known := f.rowsAt(life, seq)
		if !known {
			return "", true
		}
		if w == rows {
			return w, true
		}
		want, ok = w, false
	}
	return want, ok
}

// calls finds consumer records without a gate that asked for them, and gate records that count a consumer's success that the
// consumer did not report.
func calls(records []trace.Record) []Finding {
	var out []Finding
	var asked *trace.Record // handed to the consumer and not answered
	reported := false
	at := func(r *trace.Record, expected, seen string) {
		f := Finding{Check: Witness, Expected: expected, Seen: seen, Record: r.N}
		if asked != nil {
			f.Related = []int{asked.N}
		}
		out = append(out, f)
	}
	for i := range records {
		r := &records[i]
		switch {
		case r.Actor == trace.Gate && r.Kind == trace.GateStart:
			asked, reported = nil, false
		case r.Actor == trace.Gate && r.Kind == trace.GateApply:
			asked, reported = r, false
		case r.Actor == trace.Gate && r.Kind == trace.GateApplied:
			if asked != nil && r.Reason == "" && !reported {
				at(r, "the consumer reports "+name(asked), "the gate counts it as applied, the consumer has not seen it")
			}
			asked, reported = nil, false
		case r.Actor == trace.Consumer && r.Kind == trace.ConsumerSaw:
			switch {
			case asked == nil || reported:
				at(r, "the consumer sees only what the gate hands out", name(r))
			case keyOf(asked) != keyOf(r):
				at(r, "the consumer sees "+name(asked), name(r))
			}
			reported = true
		}
	}
	return out
}
