package world

import (
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/trace"
)

// Elsewhere is an origin that is not the simulator's, for redirects. In the virtual lane nobody is there; the process lane
// puts a listener in its place. Either way every request that reaches it is measured.
const Elsewhere = "http://elsewhere.invalid"

// Crossed is the measurement: how many requests left the origin of the subscription.
const Crossed = "requests-elsewhere"

// ElsewhereHost is its host alone, for links that are made of one.
const ElsewhereHost = "elsewhere.invalid"

// LeadsAway says whether a redirect or a link of the set-up leads to an address of its own: then what crosses is measured from the start.
func (s *Setup) LeadsAway() bool {
	for _, f := range s.Faults {
		if strings.Contains(f.With["location"], "//") || f.With["host"] == ElsewhereHost {
			return true
		}
	}
	return false
}

// CrossedRecord is the record of n requests that left the origin.
func CrossedRecord(n int) trace.Record {
	r := trace.New(trace.Plugin, trace.PluginMeasured)
	r.Args = map[string]string{Crossed: strconv.Itoa(n)}
	return r
}

func (w *World) crossed() {
	w.away++
	w.record(CrossedRecord(w.away))
}

// nowhere is a connection to an address where nobody answers.
func (w *World) nowhere(c *line) *link {
	w.conns++
	l := &link{w: w, conn: w.conns, owner: c}
	w.in(micros(w.dials.take(0)), func() {
		if l.owner != nil {
			l.refuse()
		}
	})
	return l
}
