package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/trace"
)

func conditions(row *ledger.Row) []ledger.Condition {
	out := slices.Clone(row.Exercised)
	for _, way := range row.OrExercised {
		out = append(out, way...)
	}
	return out
}

// exercised finds what is missing for the row's path to have happened: nothing if all conditions of Exercised are met, or all
// of one way of OrExercised.
func exercised(records []trace.Record, row *ledger.Row) []Finding {
	missing := unmet(records, row.Exercised)
	for _, way := range row.OrExercised {
		if len(missing) == 0 || len(unmet(records, way)) == 0 {
			return nil
		}
	}
	return missing
}

func unmet(records []trace.Record, all []ledger.Condition) []Finding {
	var out []Finding
	for _, c := range all {
		n := 0
		for i := range records {
			if meets(&records[i], c) {
				n++
			}
		}
		if n < c.Min {
			out = append(out, Finding{Check: Exercised, Expected: describe(c), Seen: fmt.Sprintf("%d of %d", n, c.Min)})
		}
	}
	return out
}

func meets(r *trace.Record, c ledger.Condition) bool {
	if string(r.Actor) != c.Actor || string(r.Kind) != c.Kind {
		return false
	}
	for _, m := range []struct {
		any ledger.Strings
		is  string
	}{{c.Status, r.Status}, {c.Reason, r.Reason}, {c.Detail, r.Detail}, {c.Type, r.Type}, {c.Phase, r.Phase}} {
		if len(m.any) > 0 && !slices.Contains(m.any, m.is) {
			return false
		}
	}
	switch c.Seq {
	case "some":
		return r.Seq != event.NoSeq
	case "none":
		return r.Seq == event.NoSeq
	}
	return true
}

// describe is a condition in words.
func describe(c ledger.Condition) string {
	out := c.Actor + " " + c.Kind
	for _, m := range []struct {
		name string
		any  ledger.Strings
	}{{"status", c.Status}, {"reason", c.Reason}, {"detail", c.Detail}, {"type", c.Type}, {"phase", c.Phase}} {
		if len(m.any) > 0 {
			out += " " + m.name + "=" + strings.Join(m.any, "|")
		}
	}
	if c.Seq != "" {
		out += " with seq=" + c.Seq
	}
	if c.Min > 1 {
		out += fmt.Sprintf(", %d times", c.Min)
	}
	return out
}
