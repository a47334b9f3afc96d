package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/trace"
)

// Arguments of StageSetup records that the judge reads.
const (
	// argCapabilities lists what the transport declared, separated by commas. Where it is missing nothing is asked.
	argCapabilities = "capabilities"
	// argCanary, and any argument that begins with it, is a secret that was planted: it must be found nowhere else.
	argCanary = "canary"
)

// setupArgs are the arguments of all set-up records; a later one wins.
func setupArgs(records []trace.Record) map[string]string {
	out := map[string]string{}
	for i := range records {
		if records[i].Kind == trace.StageSetup {
			for k, v := range records[i].Args {
				out[k] = v
			}
		}
	}
	return out
}

// broken finds what makes a trace unfit for a verdict.
func broken(records []trace.Record, row *ledger.Row) []Finding {
	var out []Finding
	expects := 0
	gate := false
	for i := range records {
		r := &records[i]
		at := func(expected, seen string) {
			out = append(out, Finding{Check: Broken, Expected: expected, Seen: seen, Record: i + 1})
		}
		switch {
		case r.N != i+1:
			at(fmt.Sprintf("record %d", i+1), fmt.Sprintf("number %d", r.N))
		case !trace.Known(r.Actor, r.Kind):
			at("a known kind of record", fmt.Sprintf("%s %s", r.Actor, r.Kind))
		case r.Kind == trace.StageBroken:
			at("a harness that works", r.Detail)
		case r.Kind == trace.StageExpect:
			expects++
			if err := trace.CheckExpect(trace.Expectation(r.Status), r.Args); err != nil {
				at("an expectation in its form", err.Error())
			}
		case r.Kind == trace.GateStart && r.Actor == trace.Gate:
			gate = true
		case r.Actor == trace.Gate && !gate:
			at("the gate's start before its first record", r.String())
		}
	}
	if expects == 0 && len(out) == 0 {
		out = append(out, Finding{Check: Broken, Expected: "a scenario that expects something", Seen: "no expectation in the trace"})
	}
	for _, c := range conditions(row) {
		if !trace.Known(trace.Actor(c.Actor), trace.Kind(c.Kind)) {
			out = append(out, Finding{Check: Broken, Expected: "conditions of the row in words of the trace", Seen: c.Actor + " " + c.Kind})
		}
	}
	return out
}

func notApplicable(row *ledger.Row, setup map[string]string) (string, bool) {
	for _, n := range row.NotApplicable {
		if v, ok := setup[n.Arg]; ok && v == n.Is {
			return n.Why, true
		}
	}
	return "", false
}

// undeclared is the first capability that the row requires and the transport did not declare; empty if there is none.
func undeclared(row *ledger.Row, setup map[string]string) string {
	declared, ok := setup[argCapabilities]
	if !ok {
		return ""
	}
	list := strings.Split(declared, ",")
	for _, c := range row.Requires {
		if !slices.Contains(list, c) {
			return c
		}
	}
	return ""
}

func refusedCapability(records []trace.Record, capability string) bool {
	return slices.ContainsFunc(records, func(r trace.Record) bool {
		return r.Kind == trace.PluginRefused && slices.Contains(strings.Fields(r.Detail), capability)
	})
}
